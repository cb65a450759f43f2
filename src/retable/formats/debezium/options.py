"""Settings of a source that only `debezium_json` reads; most repeat how its connector is set."""

from typing import ClassVar, Literal

from retable.formats.options import FormatOptions, NonEmptyStr

DecimalMode = Literal["precise", "string", "double"]
"""`decimal.handling.mode`: base64 of the digits, their text, or a double that may have lost some."""

TimeMode = Literal["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]
"""`time.precision.mode`: numbers in the unit that a column's digits need, or in one unit, or ISO 8601 text."""


class DebeziumOptions(FormatOptions, frozen=True):
    """Options of `debezium_json`."""

    KEEPS_GOLD: ClassVar[frozenset[str]] = frozenset({"snapshot_tables"})
    KEEPS_TYPES: ClassVar[frozenset[str]] = frozenset({"order", "snapshot_tables"})

    decimal_mode: DecimalMode = "precise"
    """The connector's decimal.handling.mode, which messages without schemas do not tell."""
    time_mode: TimeMode = "adaptive"
    """The connector's time.precision.mode, which messages without schemas do not tell."""
    unavailable_value: NonEmptyStr = "__debezium_unavailable_value"
    """The connector's unavailable.value.placeholder: what stands for a value that the source did not log."""
    snapshot_tables: Literal["with_rows", "all"] = "with_rows"
    """Of the tables that only a snapshot declares, which gold has; a connector declares also tables that it does not
    capture."""
    order: Literal["log", "offset"] = "log"
    """What orders changes. `offset`, inside a partition, for messages that have no place in a log."""
    database: NonEmptyStr | None = None
    """The database of an Oracle connector whose messages name only schema and table."""

    @property
    def leaves_empty_tables(self) -> bool:
        """Whether gold leaves out a table that only a snapshot declares, until its first row comes."""
        return self.snapshot_tables == "with_rows"
