"""The encoding of values in the rows of a baseline (a full copy of a table).

Values are written as `retable rows` prints them. The encoding is the same for all message formats.
"""

from retable.model.schema import GoldType, parse_gold_type
from retable.values.encodings import Base64, Day, Encoding, Exact, Real, Text, Truth, Untyped, WallClock, Whole, Zoned

_PREFIX = "baseline:"


def baseline_wire(kind: GoldType | None) -> str:
    """Return the type name that a column of this gold type has in a baseline: `baseline:int` for `int`.

    If `kind` is None, the type is unknown and the name is `baseline:`.
    """
    return f"{_PREFIX}{kind or ''}"


def is_baseline(wire_type: str | None) -> bool:
    return wire_type is not None and wire_type.startswith(_PREFIX)


def baseline_type(wire_type: str) -> GoldType | None:
    """Return the gold type that the type name of a baseline column contains: `int` for `baseline:int`.

    Return None if the name contains no gold type.
    """
    return parse_gold_type(wire_type.removeprefix(_PREFIX))


def baseline_encoding(wire_type: str) -> Encoding:
    """Return the encoding of the values of a baseline column. `wire_type` is its type name, such as `baseline:int`."""
    kind = baseline_type(wire_type)
    match kind and kind.kind:
        case "boolean":
            return Truth()
        case "int" | "long":
            return Whole()
        case "decimal":
            return Exact(None)
        case "float":
            return Real(32, named=True)
        case "double":
            return Real(64, named=True)
        case "date":
            return Day()
        case "timestamp":
            return WallClock()
        case "timestamptz":
            return Zoned()
        case "binary":
            return Base64(None)
        case "string":
            return Text()
    return Untyped()
