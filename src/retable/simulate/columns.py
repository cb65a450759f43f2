"""The columns and types of the simulated shop's tables, as MySQL declares them."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

Value = int | float | Decimal | str | bytes | date | datetime | None
"""A value of a row. A DATETIME is a datetime without a zone, a TIMESTAMP a datetime in UTC, an ENUM its label."""

Row = tuple[Value, ...]

INTEGER_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type of MySQL, as `ColumnType("decimal", (12, 2))`. Calling `str` gives the type's text in SQL.

    `arguments` are the numbers in parentheses. `labels` are the values of an ENUM; other types have none.
    """

    base: str
    arguments: tuple[int, ...] = ()
    unsigned: bool = False
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        inner = ",".join([*map(str, self.arguments), *(quoted(label) for label in self.labels)])
        return f"{self.base}{f'({inner})' if inner else ''}{' unsigned' if self.unsigned else ''}"

    @property
    def scale(self) -> int:
        """The last number in parentheses: the digits after the point of a decimal or of a time's seconds; else 0."""
        return self.arguments[-1] if self.arguments else 0

    @property
    def is_whole(self) -> bool:
        """Whether this is an integer type."""
        return self.base in INTEGER_BITS

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the greatest value of this type, which must be an integer type."""
        bits = INTEGER_BITS[self.base]
        return (0, 2**bits - 1) if self.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as a DDL statement declares it. With `has_default`, a `default` of None means DEFAULT NULL."""

    name: str
    type: ColumnType
    nullable: bool = True
    has_default: bool = False
    default: Value = None

    @property
    def filled(self) -> Value:
        """The value that existing rows get when ALTER TABLE adds this column.

        It is the column's default, or MySQL's implicit default if the column is NOT NULL without a default.
        """
        return self.default if self.has_default or self.nullable else implicit_default(self.type)


def quoted(text: str) -> str:
    """Return text as an SQL literal, in which quotes are doubled: `it's` becomes `'it''s'`.

    A backslash before the quote would not work in MySQL's mode NO_BACKSLASH_ESCAPES.
    """
    return "'" + text.replace("'", "''") + "'"


def implicit_default(kind: ColumnType) -> Value:
    """Return MySQL's implicit default of a NOT NULL column of this type.

    ValueError for dates and times, because their implicit default is not a valid date.
    """
    if kind.is_whole:
        return 0
    match kind.base:
        case "decimal":
            return Decimal((0, (0,), -kind.scale))
        case "double":
            return 0.0
        case "enum":
            return kind.labels[0]
        case "varbinary":
            return b""
        case "varchar":
            return ""
    raise ValueError(f"a NOT NULL column of the type {kind} needs a default")
