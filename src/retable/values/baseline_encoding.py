"""The encoding of values in rows of a baseline: as `retable rows` writes them, in every message format."""

from retable.model.schema import GoldType, parse_gold_type
from retable.values.encodings import Base64, Day, Encoding, Exact, Real, Text, Truth, Untyped, WallClock, Whole, Zoned

_PREFIX = "baseline:"


def baseline_wire(kind: GoldType | None) -> str:
    """The type name of a column of a baseline; None: its values are text, whatever they mean."""
    return f"{_PREFIX}{kind or ''}"


def is_baseline(wire_type: str | None) -> bool:
    return wire_type is not None and wire_type.startswith(_PREFIX)


def baseline_type(wire_type: str) -> GoldType | None:
    """Give the gold type of a baseline's column, if its dump contains one."""
    return parse_gold_type(wire_type.removeprefix(_PREFIX))


def baseline_encoding(wire_type: str) -> Encoding:
    """Give the encoding of values of a baseline's type."""
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
