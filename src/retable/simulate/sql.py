"""Writes DDL statements in several styles: with or without backticks, database names, capital letters, comments."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from retable.simulate.columns import Column, Value, quoted

STYLES = 6
_RESERVED = frozenset({"order", "group"})


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes parts of SQL statements in one style. `style` is the number of the style, from 0 to STYLES - 1.

    `database` is the name that stands before table names in some styles.
    """

    database: str
    style: int = 0

    def words(self, text: str) -> str:
        """Return SQL keywords as they are, or in small letters."""
        return text.lower() if self.style % 2 else text

    def name(self, name: str) -> str:
        """Return a name, in backticks if the style or the name needs them."""
        bare = name.isascii() and name.lower() not in _RESERVED and self.style not in (0, 3)
        return name if bare else f"`{name}`"

    def table(self, name: str) -> str:
        """Return a table name, in some styles after the name of the database."""
        return f"{self.name(self.database)}.{self.name(name)}" if self.style in (2, 3) else self.name(name)

    def alter(self, table: str, *clauses: str) -> str:
        """Return an ALTER TABLE statement with these clauses, which are already SQL text."""
        comment = " /* by a migration; see `x` */" if self.style == 4 else ""
        how = (self.words("ALGORITHM=INPLACE"), self.words("LOCK=NONE")) if self.style == 5 else ()
        return f"{self.words('ALTER TABLE')} {self.table(table)}{comment} {', '.join((*clauses, *how))}"

    def column(self, column: Column) -> str:
        """Return a column as CREATE TABLE has it: name, type, NOT NULL and DEFAULT."""
        return f"{self.name(column.name)} {self.definition(column)}"

    def definition(self, column: Column) -> str:
        """Return what follows the column's name: type, NOT NULL and DEFAULT."""
        parts = [str(column.type)]
        if column.type.base == "varchar":
            parts.append(self.words("COLLATE utf8mb4_bin"))
        if not column.nullable:
            parts.append(self.words("NOT NULL"))
        elif column.type.base == "timestamp":
            parts.append(self.words("NULL"))
        if column.has_default:
            parts.append(f"{self.words('DEFAULT')} {self.literal(column.default)}")
        return " ".join(parts)

    def literal(self, value: Value) -> str:
        """Return a value as an SQL literal."""
        match value:
            case None:
                return self.words("NULL")
            case Decimal():
                return f"{value:f}" if self.style % 2 else f"'{value:f}'"
            case int() | float():
                return str(value)
            case bytes():
                return quoted(value.decode("ascii"))
            case datetime():
                return quoted(
                    value.replace(tzinfo=None).isoformat(" ", "milliseconds" if value.microsecond else "seconds")
                )
            case date():
                return quoted(value.isoformat())
            case str():
                return quoted(value)

    def place(self, after: str | None, first: bool) -> str:
        """Return the clause that says where ALTER TABLE puts a column: FIRST if `first` is true, else AFTER `after`.

        If `first` is false and `after` is None, return "".
        """
        if first:
            return self.words(" FIRST")
        return "" if after is None else f"{self.words(' AFTER')} {self.name(after)}"

    def create(self, table: str, columns: tuple[Column, ...], keys: tuple[str, ...]) -> str:
        """Return a CREATE TABLE statement. If `keys` is empty, the table gets no primary key."""
        lines = [self.column(column) for column in columns]
        if keys:
            lines.append(f"{self.words('PRIMARY KEY')} ({', '.join(map(self.name, keys))})")
        inner = ",\n  ".join(lines)
        return f"{self.words('CREATE TABLE')} {self.table(table)} (\n  {inner}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
