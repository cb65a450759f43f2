"""A user's settings of a table: `[tables."<glob>"]`."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from retable.formats.options import NonEmptyStr
from retable.model.partitioning import PartitionField
from retable.model.policies import Destructive, OnColumns, OnFarDate, Policies
from retable.settings.types import ChangeRules, ColumnType, Notify, PartitionSetting, Span, TargetTable


class TableRules(BaseModel, frozen=True, extra="forbid"):
    """Settings of the source tables whose names match the glob. If several globs match, the most specific one holds."""

    to: TargetTable | None = None
    """The gold table for these tables, as `shop.orders`: all of them go into one (docs/how-to/shards.md)."""
    shard_in_key: bool = False
    """With `to`: whether the column `source_table` shows readers from which table a row comes. If not,
    `_retable_source_table` does. It is part of the key in both cases."""
    keys: tuple[str, ...] = ()
    """The columns of the primary key, as the source spells them. Not set: what the messages say."""
    types: dict[str, ColumnType] = Field(default_factory=dict)
    """The gold type of a column, as `price = "decimal(18,4)"`. It takes precedence over every other source of a
    type. If messages have no types, `time(6)`, `bit(8)` and `point` name the type of the source."""
    zero_date: Literal["hold", "null", "string"] = "hold"
    """What a date such as 0000-00-00 does: `hold` its table, become `null` (and be counted), or make its column a
    `string`."""
    far_date: OnFarDate = "reject"
    """What a date before the year 1, or an infinite date of PostgreSQL, does: `reject` its row, become `null`, or
    make its column a `string`."""
    on: ChangeRules = ChangeRules()
    """What changes of the source do, as `{ type_change = "string", drop_table = "keep" }`: docs/statements.md."""
    columns: Annotated[OnColumns, Field(alias="schema")] = "follow"
    """`follow`: gold has the columns of the source. `additive`: no column is dropped. `frozen`: a change of the
    columns holds the table."""
    approve: tuple[Destructive, ...] = ()
    """Changes that hold the table until a person approves them: `drop_table`, `truncate`, `drop_column`."""
    format_version: Literal[2, 3] = 3
    """The version of the Iceberg format of the gold table. Use 2 for engines that cannot read 3."""
    partition: tuple[PartitionSetting, ...] | None = None
    """How the files of the gold table are partitioned, as `["days(created_at)", "bucket(16, id)"]`:
    docs/how-to/reading.md."""
    sla: Span | None = None
    """How long after the end of a window the table must be complete, as `20m`. Not set: `sla` of the source."""
    owner: NonEmptyStr | None = None
    """Whom alerts about the table name. Not set: `owner` of the source."""
    severity: Literal["info", "warning", "error", "critical"] | None = None
    """The severity that alerts about the table name. Not set: `severity` of the source."""
    notify: tuple[Notify, ...] = ()
    """The Airflow notifiers that send alerts about the table. Not set: `notify` of the source."""

    @field_validator("partition")
    @classmethod
    def _parted_once(cls, fields: tuple[PartitionField, ...] | None) -> tuple[PartitionField, ...] | None:
        for at, field in enumerate(fields or ()):
            for other in (fields or ())[:at]:
                if field.repeats(other):
                    raise ValueError(f"{other} and {field} partition by the same value; keep one of them")
        return fields

    @model_validator(mode="after")
    def _shards_go_somewhere(self) -> Self:
        if self.shard_in_key and self.to is None:
            raise ValueError("shard_in_key is for tables that go into one gold table; name that table with `to`")
        return self

    @property
    def policies(self) -> Policies:
        """The choices of these settings about schema changes of the table."""
        return Policies(**self.on.model_dump(exclude={"cascade"}), columns=self.columns, approve=self.approve)
