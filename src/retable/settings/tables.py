"""What a user says of a table: `[tables."<glob>"]` of the settings."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from retable.formats.options import NonEmptyStr
from retable.model.partitioning import PartitionField
from retable.model.policies import Destructive, OnColumns, OnFarDate, Policies
from retable.settings.types import ChangeRules, ColumnType, Notify, PartitionSetting, Span, TargetTable


class TableRules(BaseModel, frozen=True, extra="forbid"):
    """What the settings say of a source table: `[tables."<glob>"]`."""

    to: TargetTable | None = None
    """The table as which these go to gold, as `shop.orders`: all of them into one (docs/shards.md)."""
    shard_in_key: bool = False
    """With `to`: readers see of which table a row is, in the column `source_table`; else `_retable_source_table` tells
    it. It is part of the key either way."""
    keys: tuple[str, ...] = ()
    """The columns of the primary key, as the source spells them; empty: what the messages say."""
    types: dict[str, ColumnType] = Field(default_factory=dict)
    """The gold type of a column, as `price = "decimal(18,4)"`; it wins over every other origin of a type. Where
    messages have no types, `time(6)`, `bit(8)` and `point` say what the source has, so that values are read as such."""
    zero_date: Literal["hold", "null", "string"] = "hold"
    """What a date such as 0000-00-00 does: hold its table, become null (counted), or make its column a string."""
    far_date: OnFarDate = "reject"
    """What a date or timestamp before the year 1, or an infinite one of PostgreSQL, does: reject its row, become null,
    or make its column a string."""
    on: ChangeRules = ChangeRules()
    """What changes of the source do, as `{ type_change = "string", drop_table = "keep" }`: see docs/statements.md."""
    columns: Annotated[OnColumns, Field(alias="schema")] = "follow"
    """`schema`: follow the source's columns; `additive`, which takes none away; or `frozen`, where a change holds."""
    approve: tuple[Destructive, ...] = ()
    """Changes that hold the table until a person approves them: `drop_table`, `truncate`, `drop_column`."""
    format_version: Literal[2, 3] = 3
    """The version of Iceberg's format in which the gold table is made; 2 for engines that cannot read 3."""
    partition: tuple[PartitionSetting, ...] | None = None
    """By what the gold table's files are parted, as `["days(created_at)", "bucket(16, id)"]`: see docs/reading.md."""
    sla: Span | None = None
    """How long after a window's end the table must be complete, as `20m`; else its source's."""
    owner: NonEmptyStr | None = None
    """Whom an alert about the table names; else its source's owner."""
    severity: Literal["info", "warning", "error", "critical"] | None = None
    """What an alert about the table says of its weight; else its source's."""
    notify: tuple[Notify, ...] = ()
    """Airflow notifiers that alerts about the table go to; none: its source's."""

    @field_validator("partition")
    @classmethod
    def _parted_once(cls, fields: tuple[PartitionField, ...] | None) -> tuple[PartitionField, ...] | None:
        for at, field in enumerate(fields or ()):
            for other in (fields or ())[:at]:
                if field.repeats(other):
                    raise ValueError(f"{other} and {field} part by the same; say one of them")
        return fields

    @model_validator(mode="after")
    def _shards_go_somewhere(self) -> Self:
        if self.shard_in_key and self.to is None:
            raise ValueError("shard_in_key says how tables go into one; name that one with `to`")
        return self

    @property
    def policies(self) -> Policies:
        """What all of these say of the changes of this table."""
        return Policies(**self.on.model_dump(exclude={"cascade"}), columns=self.columns, approve=self.approve)
