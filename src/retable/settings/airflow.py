"""The section `[airflow]` of the settings: which users and roles may see, run and decide in Airflow."""

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from retable.formats.options import NonEmptyStr

UserID = Annotated[str, Field(pattern=r"^[^\s:][^:]*(:[^:]+)?$")]
"""an ID of a user, `ID` or `ID:name`"""


class AirflowSettings(BaseModel, frozen=True, extra="forbid"):
    """Which roles may see and run the DAGs, and which users may decide. Roles are roles of Airflow's auth manager.

    To decide is to answer a question that a DAG asks a person, for example whether to approve a held change. If no
    roles are set, only the permissions of Airflow say who may see and run the DAGs.
    """

    may_read: tuple[NonEmptyStr, ...] = ()
    """The roles that see the DAGs, their runs and their logs."""
    may_run: tuple[NonEmptyStr, ...] = ()
    """The roles that may also trigger, clear and pause the DAGs, and answer their questions."""
    may_decide: tuple[UserID, ...] = ()
    """The users who may answer the questions of `decide_hold` and `replay_window`, by their ID in Airflow. A name may
    follow the ID, as `7:ada`. Not set: everybody who may edit the DAG."""
    second_person: bool = False
    """Whether a second person must agree before Retable promotes a shadow, or approves or skips a held change."""

    @model_validator(mode="after")
    def _check_enough(self) -> Self:
        if self.second_person and len(self.may_decide) == 1:
            raise ValueError(
                "second_person needs another person, but may_decide has only one user; name at least two users in "
                "may_decide, or none (then everybody may decide)"
            )
        return self
