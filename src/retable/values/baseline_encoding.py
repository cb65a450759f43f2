"""The encoding of values in the rows of a baseline. It is the spelling of `retable rows`, in every message format."""

from retable.model.schema import GoldType, parse_gold_type
from retable.values.encodings import Base64, Day, Encoding, Exact, Real, Text, Truth, Untyped, WallClock, Whole, Zoned

_PREFIX = "baseline:"


def baseline_wire(kind: GoldType | None) -> str:
    """Return the type name of a column of a baseline. If `kind` is None, its values are text of an unknown type."""
    return f"{_PREFIX}{kind or ''}"


def is_baseline(wire_type: str | None) -> bool:
    return wire_type is not None and wire_type.startswith(_PREFIX)


def baseline_type(wire_type: str) -> GoldType | None:
    """Return the gold type in the type name of a baseline's column, or None if it contains no gold type."""
    return parse_gold_type(wire_type.removeprefix(_PREFIX))


def baseline_encoding(wire_type: str) -> Encoding:
    """Return the encoding of the values of a baseline's column. `wire_type` is its type name."""
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
