"""Who may do what in Airflow: `[airflow]` of the settings."""

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from retable.formats.options import NonEmptyStr

UserID = Annotated[str, Field(pattern=r"^[^\s:][^:]*(:[^:]+)?$")]
"""an ID of a user, `ID` or `ID:name`"""


class AirflowSettings(BaseModel, frozen=True, extra="forbid"):
    """Who may do what in Airflow. Roles are those of the auth manager. Without roles, Airflow's own rights decide."""

    may_read: tuple[NonEmptyStr, ...] = ()
    """The roles that see the DAGs, their runs and their logs."""
    may_run: tuple[NonEmptyStr, ...] = ()
    """The roles that may also trigger, clear and pause the DAGs, and answer their questions."""
    may_decide: tuple[UserID, ...] = ()
    """The users who answer the questions of `decide_hold` and `replay_window`, by their ID in Airflow. If the ID is
    a number, a name may follow, as `7:ada`. Not set: everybody who may edit the DAG."""
    second_person: bool = False
    """Whether a second person must agree before a shadow is promoted, or before a held change is approved or left
    out."""

    @model_validator(mode="after")
    def _check_enough(self) -> Self:
        if self.second_person and len(self.may_decide) == 1:
            raise ValueError("second_person needs at least two users in may_decide, or none (everybody may decide)")
        return self
