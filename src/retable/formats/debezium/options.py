"""Settings of a source that only `debezium_json` reads. Most repeat the configuration of the connector."""

from typing import ClassVar, Literal

from retable.formats.options import FormatOptions, NonEmptyStr

DecimalMode = Literal["precise", "string", "double"]
"""The connector's `decimal.handling.mode`: decimals are base64 of their digits, text, or doubles (may lose digits)."""

TimeMode = Literal["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]
"""The connector's `time.precision.mode`: the unit of times that are numbers, or `isostring` for ISO 8601 text."""


class DebeziumOptions(FormatOptions, frozen=True):
    """Settings that only `debezium_json` reads. Most repeat the configuration of the connector."""

    KEEPS_GOLD: ClassVar[frozenset[str]] = frozenset({"snapshot_tables"})
    KEEPS_TYPES: ClassVar[frozenset[str]] = frozenset({"order", "snapshot_tables"})

    decimal_mode: DecimalMode = "precise"
    """`decimal.handling.mode` of the connector. Messages without a schema do not name it."""
    time_mode: TimeMode = "adaptive"
    """`time.precision.mode` of the connector. Messages without a schema do not name it."""
    unavailable_value: NonEmptyStr = "__debezium_unavailable_value"
    """`unavailable.value.placeholder` of the connector: the text in place of a value that the source did not log."""
    snapshot_tables: Literal["with_rows", "all"] = "with_rows"
    """A snapshot declares all tables of the server, also those that the connector does not capture. `with_rows`:
    gold has those that get a row. `all`: gold has all of them."""
    order: Literal["log", "offset"] = "log"
    """`log`: positions in the log order the changes. `offset`: offsets do, inside a partition, for messages without
    a position in a log."""
    database: NonEmptyStr | None = None
    """The database of an Oracle connector whose messages name only schema and table."""

    @property
    def leaves_empty_tables(self) -> bool:
        """Whether gold has no table for a source table that only a snapshot declares, until its first row arrives."""
        return self.snapshot_tables == "with_rows"
