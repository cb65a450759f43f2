"""Who may do what in Airflow: `[airflow]` of the settings."""

from typing import Annotated, Self

from pydantic import BaseModel, Field, model_validator

from retable.formats.options import NonEmptyStr

_ID = Annotated[str, Field(pattern=r"^[^\s:][^:]*(:[^:]+)?$")]


class AirflowSettings(BaseModel, frozen=True, extra="forbid"):
    """Roles are those of Airflow's auth manager; without any, its own rights are all that counts."""

    may_read: tuple[NonEmptyStr, ...] = ()
    """The roles that see the DAGs, their runs and logs."""
    may_run: tuple[NonEmptyStr, ...] = ()
    """The roles that also trigger, clear and pause them, and answer their questions."""
    may_decide: tuple[_ID, ...] = ()
    """The users who answer the questions of `decide_hold` and `replay_window`, by the ID that Airflow knows them by,
    with a name where the ID is a number, as `7:ada`; none: whoever may edit the DAG."""
    second_person: bool = False
    """Whether what one person asked for or answered needs another person's word before a shadow is promoted, or a held
    change is approved or left out."""

    @model_validator(mode="after")
    def _check_enough(self) -> Self:
        if self.second_person and len(self.may_decide) == 1:
            raise ValueError("second_person needs at least two users in may_decide, or none, which is everybody")
        return self
