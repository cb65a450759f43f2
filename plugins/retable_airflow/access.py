"""Who may see, run and answer: the settings in the terms of Airflow's auth manager."""

from typing import TYPE_CHECKING, Any, NamedTuple

from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.execution_time.hitl import HITLUser

from retable.printable import printable

if TYPE_CHECKING:
    from retable.settings.load import Settings

_READ = {"DAGs": {"can_read"}}
_RUN = {"DAGs": {"can_read", "can_edit"}, "DAG Runs": {"can_read", "can_create"}}


class Person(NamedTuple):
    """A person whom Airflow let in, by the name that it shows; `name` is None if Airflow gave none."""

    name: str | None

    def __str__(self) -> str:
        return printable(self.name) if self.name else "a person"


def access_control(settings: "Settings") -> dict[str, dict[str, set[str]]] | None:
    """Give the `access_control` of a DAG; None if the settings name no role."""
    said = settings.airflow
    return {**dict.fromkeys(said.may_read, _READ), **dict.fromkeys(said.may_run, _RUN)} or None


def deciders(settings: "Settings") -> list[HITLUser] | None:
    """Give the users who may answer a question; None if everybody who can edit the DAG may."""
    named = [each.partition(":") for each in settings.airflow.may_decide]
    return [HITLUser(id=user, name=name or user) for user, _, name in named] or None


def who_asked(context: Any) -> Person:
    """Give who triggered the run; Airflow itself if no person is known."""
    return Person(context["dag_run"].triggering_user_name)


def who_answered(answer: dict[str, Any] | None) -> Person:
    """Give who answered a question; no person if its time ran out."""
    return Person(((answer or {}).get("responded_by_user") or {}).get("name"))


def check_two(settings: "Settings", first: Person, second: Person, task: str) -> None:
    """Refuse the wish of one person alone, if the settings require a second one; `task` asks again when cleared."""
    if not settings.airflow.second_person:
        return
    if first.name is None or second.name is None:
        raise AirflowFailException(
            f"the settings require a second person (second_person), but Airflow does not know both persons: "
            f"{first} and {second}; trigger the run as a user of Airflow"
        )
    if first.name == second.name:
        raise AirflowFailException(
            f"{first} requested this and approved it; the settings require a second person (second_person): "
            f"clear the task {task!r} to ask again"
        )
