"""A source and how its messages are read: `[sources.<name>]` of the settings."""

from collections.abc import Mapping
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, model_validator

from retable.model.budget import QuarantineBudget
from retable.model.connector import UNAVAILABLE_VALUE, DecimalMode, TimeMode
from retable.model.event import TableName
from retable.setting_values import Budget, Folder, HourPattern, Interval, Name, Spelled, Start, TupleType, Zone


class CanalDialect(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """Where rows stand in messages of DTS from an offset on: an entry of `canal_dialect`."""

    from_offset: Annotated[int, Field(strict=True, ge=0)]
    """The offset of the first message of the dialect."""
    dialect: Literal["community", "dts_pre_20220320"]
    """`dts_pre_20220320` is what instances of DTS write that nobody restarted since that day."""
    partition: Annotated[int, Field(strict=True, ge=0)] | None = None
    """The partition whose offset this is; none: every partition for which no entry is."""


class SourceSettings(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """A source of change messages: `[sources.<name>]`."""

    name: Name
    """Small letters, digits and `_`, a letter first; it stands in the brackets."""
    kind: Literal["files"]
    """What holds the messages: `files` is a folder of objects that grows."""
    format: str
    """The format of the messages: a name of docs/formats.md."""
    path: Folder
    """The folder of a `files` source; folders inside it are read too."""
    layout: Literal["kafka_dump", "lines"]
    """What a line of an object is: a dumped Kafka record with its address, or the message itself."""
    hour: HourPattern | None = None
    """A regular expression whose first group is the UTC hour in an object's name; else its modification time counts."""
    every: Interval = timedelta(hours=1)
    """The length of a window, as `1h`; fixed with the source's first window."""
    start: Start = None
    """Where to begin: `earliest`, or a time with its zone; objects before the window of that time are left out."""
    time_zone: Zone = "UTC"
    """The zone of wall-clock values that come without one."""
    timestamp_zone: Zone = ""
    """The zone in which the format writes zoned timestamps as text; `time_zone` where it is not set."""
    include: tuple[str, ...] = ("*",)
    """Tables to take, as globs over `database.[schema.]table`, case-sensitive."""
    exclude: tuple[str, ...] = ()
    """Tables to leave out of what `include` takes; their changes are counted, not stored."""
    source_system: str | None = None
    """The database behind the source, as `mysql`, where the messages do not say it."""
    source_epoch: Annotated[int, Field(strict=True, ge=0)] = 0
    """Raise it when a topic is made anew or its producer starts anew: it comes first in every sequence."""
    max_message: Annotated[int, Field(strict=True, ge=1024, le=1 << 30)] = 32 * 1024 * 1024
    """The longest line that is landed whole, in bytes."""
    canary: str | None = None
    """A small table that the source updates every minute, as `ops.retable_canary`: its rows prove how far the source
    is read, and it is not published."""
    binary_encoding: Literal["utf-8", "base64", "hex"] = "utf-8"
    """How text spells bytes in a column that `types` makes binary."""
    decimal_mode: DecimalMode = "precise"
    """debezium_json: the connector's decimal.handling.mode, which messages without schemas do not tell."""
    time_mode: TimeMode = "adaptive"
    """debezium_json: the connector's time.precision.mode, which messages without schemas do not tell."""
    unavailable_value: Spelled = UNAVAILABLE_VALUE
    """debezium_json: the connector's unavailable.value.placeholder."""
    model: Literal["sql", "hbase"] = "sql"
    """lindorm_debezium: the interface of the tables; `hbase` has the key `ROW` and base64 in every column."""
    database: Spelled | None = None
    """datahub_tuple, shareplex_json: the database of messages, which name none; debezium_json: where they name none."""
    table: Spelled | None = None
    """datahub_tuple, shareplex_json: the table of messages that name none; of the latter with its owner (`HR.EMP`)."""
    tuple_schema: dict[str, TupleType] = Field(default_factory=dict)
    """datahub_tuple: the columns of the topic, as `id = "BIGINT"`, where no header `tuple_schema` tells them."""
    canal_dialect: tuple[CanalDialect, ...] = ()
    """canal_json: where rows stand, as `[{from_offset = 0, dialect = "dts_pre_20220320"}]`; not set: as in Canal."""
    quarantine_budget: Budget = QuarantineBudget()
    """How much a table may have in quarantine and still count as complete: `0`, `10/window` or `0.01%` of a window."""

    @model_validator(mode="before")
    @classmethod
    def _default_zone(cls, data: object) -> object:
        return {"timestamp_zone": data.get("time_zone", "UTC"), **data} if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _check_dialects(self) -> Self:
        starts = [(each.partition, each.from_offset) for each in self.canal_dialect]
        if len(set(starts)) != len(starts):
            raise ValueError("two entries of canal_dialect begin at one offset; keep one of them")
        return self

    def takes(self, table: TableName) -> bool:
        """Say whether `include` and `exclude` let this table in; the canary is never one of gold."""
        name = str(table)
        return (
            name != self.canary
            and any(fnmatchcase(name, glob) for glob in self.include)
            and not any(fnmatchcase(name, glob) for glob in self.exclude)
        )
