"""Columns and types of a gold table."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

TypeKind = Literal[
    "boolean", "int", "long", "float", "double", "decimal", "date", "timestamp", "timestamptz", "string", "binary"
]

_DECIMAL = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)\Z")


@dataclass(frozen=True, slots=True)
class GoldType:
    """An Iceberg primitive type. `str()` returns Iceberg's spelling, such as `decimal(10,2)`."""

    kind: TypeKind
    precision: int = 0
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.kind == "decimal" else self.kind

    def widens_to(self, other: "GoldType") -> bool:
        """Return whether Iceberg can promote a column of this type to `other` without writing its files again."""
        if self == other:
            return True
        match self.kind, other.kind:
            case ("int", "long") | ("float", "double"):
                return True
            case ("decimal", "decimal"):
                return self.scale == other.scale and self.precision <= other.precision
        return False

    def joined(self, other: "GoldType") -> "GoldType | None":
        """Return the narrowest type, except string, that holds every value of both types; None if there is none."""
        if self.widens_to(other) or other.widens_to(self):
            return other if self.widens_to(other) else self
        mine, others = self._digits, other._digits
        if mine is None or others is None:
            return None
        whole, scale = max(mine[0], others[0]), max(mine[1], others[1])
        return GoldType("decimal", whole + scale, scale) if whole + scale <= 38 else None

    @property
    def _digits(self) -> tuple[int, int] | None:
        """The maximal numbers of digits before and after the decimal point; None for a type that is no exact number."""
        match self.kind:
            case "int":
                return 10, 0
            case "long":
                return 19, 0
            case "decimal":
                return self.precision - self.scale, self.scale
        return None

    def rewrites_to(self, other: "GoldType") -> bool:
        """Return whether `other` holds every value of this type, but Iceberg cannot promote the column to it."""
        if self.widens_to(other):
            return False
        whole = other.precision - other.scale
        match self.kind, other.kind:
            case "decimal", "decimal":
                return self.scale <= other.scale and self.precision - self.scale <= whole
            case (("int" | "long"), "decimal"):
                return whole >= (10 if self.kind == "int" else 19)
            case (("int" | "long"), "string") | ("date", "timestamp"):
                return True
            case "decimal", "string":
                return self.scale == 0
        return False


_KINDS: dict[str, TypeKind] = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "string": "string",
    "binary": "binary",
}


@lru_cache
def parse_gold_type(text: str) -> GoldType | None:
    """Read a type in Iceberg's spelling, such as `decimal(10,2)`. Return None for a type that gold does not support."""
    if decimal := _DECIMAL.match(text.replace(" ", "")):
        precision, scale = int(decimal[1]), int(decimal[2])
        return GoldType("decimal", precision, scale) if 0 < precision <= 38 and scale <= precision else None
    kind = _KINDS.get(text)
    return GoldType(kind) if kind else None


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column as a DDL statement declares it.

    `source_type` is the column's type in the statement, such as `BIGINT unsigned` or `ENUM('a','b')`, without NOT NULL,
    DEFAULT and other options. `default` is the value of a constant default as text; it is None for DEFAULT NULL, and
    also if `has_default` is False. `computed` is True if the default is an expression, whose value is not known.
    `not_null` is only recorded: gold does not enforce it.
    """

    name: str
    source_type: str
    not_null: bool = False
    has_default: bool = False
    default: str | None = None
    comment: str | None = None
    computed: bool = False
