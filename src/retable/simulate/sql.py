"""Write a DDL statement in several styles: with or without backticks, the database's name, lower case, comments."""

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from retable.simulate.columns import Column, Value, quoted

STYLES = 6
_RESERVED = frozenset({"order", "group"})


@dataclass(frozen=True, slots=True)
class Pen:
    """Writes SQL names, keywords and columns in one style. `style` is a number below STYLES."""

    database: str
    style: int = 0

    def words(self, text: str) -> str:
        return text.lower() if self.style % 2 else text

    def name(self, name: str) -> str:
        bare = name.isascii() and name.lower() not in _RESERVED and self.style not in (0, 3)
        return name if bare else f"`{name}`"

    def table(self, name: str) -> str:
        return f"{self.name(self.database)}.{self.name(name)}" if self.style in (2, 3) else self.name(name)

    def alter(self, table: str, *clauses: str) -> str:
        comment = " /* by a migration; see `x` */" if self.style == 4 else ""
        how = (self.words("ALGORITHM=INPLACE"), self.words("LOCK=NONE")) if self.style == 5 else ()
        return f"{self.words('ALTER TABLE')} {self.table(table)}{comment} {', '.join((*clauses, *how))}"

    def column(self, column: Column) -> str:
        """A column's definition: name, type, options."""
        return f"{self.name(column.name)} {self.definition(column)}"

    def definition(self, column: Column) -> str:
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
        """Return the clause FIRST or AFTER for a column's position. For a column at the end, return an empty text."""
        if first:
            return self.words(" FIRST")
        return "" if after is None else f"{self.words(' AFTER')} {self.name(after)}"

    def create(self, table: str, columns: tuple[Column, ...], keys: tuple[str, ...]) -> str:
        lines = [self.column(column) for column in columns]
        if keys:
            lines.append(f"{self.words('PRIMARY KEY')} ({', '.join(map(self.name, keys))})")
        inner = ",\n  ".join(lines)
        return f"{self.words('CREATE TABLE')} {self.table(table)} (\n  {inner}\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
