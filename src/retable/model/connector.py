"""How a Debezium connector is set to write values; its own names for it."""

from typing import Literal

DecimalMode = Literal["precise", "string", "double"]
"""`decimal.handling.mode`: base64 of the digits, their text, or a double that may have lost some."""

TimeMode = Literal["adaptive", "adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"]
"""`time.precision.mode`: numbers in the unit that a column's digits need, or in one unit, or ISO 8601 text."""

ChangeOrder = Literal["log", "offset"]
UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""`unavailable.value.placeholder`, where nobody set it: what stands for a value that the source did not log."""
