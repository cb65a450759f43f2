"""The true contents of the simulated shop's database at one position, as `retable rows` must print them."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from retable.printable import printable_json
from retable.simulate.columns import Column, Value
from retable.simulate.database import Table

Json = int | float | str | None


@dataclass(frozen=True, slots=True)
class Truth:
    """The contents of the shop's database at one position, to compare with gold. `History.truth` makes it.

    `tables` has each table by name, with its columns and rows. `dropped` has the names of dropped tables; gold keeps
    such a table without rows. A renamed table has its new name.
    """

    tables: Mapping[str, Table]
    dropped: frozenset[str]

    def names(self) -> list[str]:
        """Return the names of all tables that gold may have, including dropped tables, in order."""
        return sorted({*self.tables, *self.dropped})

    def columns(self, name: str) -> list[tuple[str, str]]:
        """Return the name and the source type of each column, in order. For a dropped table, return []."""
        table = self.tables.get(name)
        return [(column.name, str(column.type)) for column in table.columns] if table else []

    def rows(self, name: str, row_id: str | None = None) -> list[dict[str, Json]]:
        """Return the rows of a table as `retable rows --format jsonl` must print them, parsed, in no special order.

        `row_id` is the name of the column for the hidden row id of a table without a key. If it is None, the row id is
        left out.
        """
        table = self.tables.get(name)
        if table is None:
            return []
        names = [column.name.lower() for column in table.columns]
        return [
            ({row_id: key} if row_id and isinstance(key, int) else {})
            | {name: shown(column, value) for name, column, value in zip(names, table.columns, row, strict=True)}
            for key, row in table.rows.items()
        ]

    def lines(self, name: str) -> list[str]:
        """Return the exact lines that `retable rows --format jsonl` must print for a table, sorted."""
        return sorted(_line(row) for row in self.rows(name))


def _line(row: dict[str, Json]) -> str:
    return f"{{{', '.join(f'{_text(name)}: {_text(value)}' for name, value in row.items())}}}"


def _text(value: Json) -> str:
    return _number(value) if isinstance(value, float) else printable_json(json.dumps(value, ensure_ascii=False))


def _number(value: float) -> str:
    """Return the shortest digits that mean the same number: plain from 10^-6 to 10^10, else with an exponent."""
    digits = Decimal(repr(value))
    if value == 0 or -7 < digits.adjusted() < 10:
        plain = f"{digits:f}"
        return plain if "." in plain else f"{plain}.0"
    sign, figures, _ = digits.normalize().as_tuple()
    text = "".join(map(str, figures))
    point = f".{text[1:]}" if text[1:] else ""
    return f"{'-' if sign else ''}{text[0]}{point}e{digits.adjusted():+d}"


def shown(column: Column, value: Value) -> Json:
    """Return a value of a row as `retable rows` prints it as JSON, for example bytes in base64.

    `column` is the column in the source. Gold must have the column with the type that its source type gives.
    """
    match value:
        case None | str() | float():
            return value
        case int():
            wide = column.type.base == "bigint" and column.type.unsigned
            return str(value) if wide else value
        case Decimal():
            return f"{value:f}"
        case bytes():
            return b64encode(value).decode()
        case datetime():
            zone = "Z" if value.tzinfo else ""
            return value.replace(tzinfo=None).isoformat(timespec="microseconds") + zone
        case date():
            return value.isoformat()
