"""Translates the section `[airflow]` of the settings for Airflow: who may see and run DAGs, and answer questions."""

from typing import TYPE_CHECKING, Any, NamedTuple

from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.execution_time.hitl import HITLUser

from retable.printable import printable

if TYPE_CHECKING:
    from retable.settings.load import Settings

_READ = {"DAGs": {"can_read"}}
_RUN = {"DAGs": {"can_read", "can_edit"}, "DAG Runs": {"can_read", "can_create"}}


class Person(NamedTuple):
    """A user of Airflow. `name` is the name that Airflow shows, or None if Airflow gives no name."""

    name: str | None

    def __str__(self) -> str:
        return printable(self.name) if self.name else "a person"


def access_control(settings: "Settings") -> dict[str, dict[str, set[str]]] | None:
    """Return the argument `access_control` for a DAG: permissions by role. None if the settings name no role."""
    said = settings.airflow
    return {**dict.fromkeys(said.may_read, _READ), **dict.fromkeys(said.may_run, _RUN)} or None


def deciders(settings: "Settings") -> list[HITLUser] | None:
    """Return the users who may answer the questions of DAGs; None if everybody who may edit the DAG may answer."""
    named = [each.partition(":") for each in settings.airflow.may_decide]
    return [HITLUser(id=user, name=name or user) for user, _, name in named] or None


def who_asked(context: Any) -> Person:
    """Return the person who triggered the run of this task context. The name is None if Airflow names no person."""
    return Person(context["dag_run"].triggering_user_name)


def who_answered(answer: dict[str, Any] | None) -> Person:
    """Return the person who answered a question. `answer` is the result of the task that asked.

    The name is None if no person answered in time.
    """
    return Person(((answer or {}).get("responded_by_user") or {}).get("name"))


def check_two(settings: "Settings", first: Person, second: Person, task: str) -> None:
    """Raise AirflowFailException if a second person must agree, and `first` and `second` are not two known persons.

    A second person must agree if the setting `second_person` is true. `task` is the ID of the task that asked the
    second person. If both are the same person, the error says to clear this task, so that it asks again.
    """
    if not settings.airflow.second_person:
        return
    if first.name is None or second.name is None:
        raise AirflowFailException(
            f"the settings require a second person (second_person), but Airflow does not name both persons: "
            f"{first} and {second}; trigger the run, and answer, as a user of Airflow"
        )
    if first.name == second.name:
        raise AirflowFailException(
            f"{first} requested this and also approved it, but the settings require a second person (second_person): "
            f"clear the task {task!r}, and let another person answer"
        )
