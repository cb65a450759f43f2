"""The sections `[tables."<glob>"]` of the settings: rules for the source tables whose names match a glob."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, field_validator, model_validator

from retable.formats.options import NonEmptyStr
from retable.model.partitioning import PartitionField
from retable.model.policies import Destructive, OnColumns, OnFarDate, Policies
from retable.settings.types import ChangeRules, ColumnType, Notify, PartitionSetting, Span, TargetTable


class TableRules(BaseModel, frozen=True, extra="forbid"):
    """Settings of the source tables whose names match the glob.

    If several globs match a table, only the settings of the most specific glob apply to it.
    """

    to: TargetTable | None = None
    """The name of one gold table for all source tables that match, as `shop.orders` (docs/how-to/shards.md)."""
    shard_in_key: bool = False
    """With `to`: the name of the key column that says from which source table a row comes. If true, it is
    `source_table`. If false, it is `_retable_source_table`, which is a technical column."""
    keys: tuple[str, ...] = ()
    """The columns of the primary key, as the source spells them. Not set: the key that messages or statements
    declare."""
    types: dict[str, ColumnType] = Field(default_factory=dict)
    """The gold type of a column, as `price = "decimal(18,4)"`. It takes precedence over all other declarations of
    the type. If messages have no types, it may be a type of the source: `time(6)`, `bit(8)` or `point`."""
    zero_date: Literal["hold", "null", "string"] = "hold"
    """The effect of a date such as 0000-00-00. `hold`: the table is held (it gets no more changes until a person
    decides). `null`: the value becomes null, and is counted. `string`: the column becomes text."""
    far_date: OnFarDate = "reject"
    """The effect of a date before the year 1, or of an infinite date of PostgreSQL. `reject`: the row goes to
    quarantine. `null`: the value becomes null. `string`: the column becomes text."""
    on: ChangeRules = ChangeRules()
    """The effects of schema changes of the source on gold, as `{ type_change = "string", drop_table = "keep" }`:
    docs/statements.md."""
    columns: Annotated[OnColumns, Field(alias="schema")] = "follow"
    """Whether gold's columns change with the source's columns. `follow`: always. `additive`: gold drops no column.
    `frozen`: a change of the columns holds the table."""
    approve: tuple[Destructive, ...] = ()
    """The changes before which the table is held until a person approves the change: `drop_table`, `truncate`,
    `drop_column`."""
    format_version: Literal[2, 3] = 3
    """The version of the Iceberg format of the gold table. Use 2 for engines that cannot read 3."""
    partition: tuple[PartitionSetting, ...] | None = None
    """How the files of the gold table are partitioned, as `["days(created_at)", "bucket(16, id)"]`:
    docs/how-to/reading.md."""
    sla: Span | None = None
    """The time after the end of a window within which the table must be complete, as `20m`. Not set: `sla` of the
    source."""
    owner: NonEmptyStr | None = None
    """The owner that alerts about the table name. Not set: `owner` of the source."""
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
            raise ValueError(
                "shard_in_key needs the setting `to`, which names one gold table for several source tables; set `to`, "
                "or remove shard_in_key"
            )
        return self

    @property
    def policies(self) -> Policies:
        """The settings that decide what schema changes of the source do to the gold table."""
        return Policies(**self.on.model_dump(exclude={"cascade"}), columns=self.columns, approve=self.approve)
