"""The key columns from dumps of a source's schema. They apply if neither settings nor messages name the key."""

import json
from collections.abc import Callable, Mapping

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_imports
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.sequence import parse_sequence
from retable.settings.load import Settings


def imported_keys(lake: Lake, source: str) -> dict[TableName, tuple[str, ...]]:
    """Return the key columns of each table that a dump declares. Of several dumps, the last in source order counts."""

    def order(row: ImportRow) -> tuple[int, int, int]:
        return parse_sequence(row.position)

    return {
        TableName(row.database, row.schema, row.table): tuple(json.loads(row.meaning)["keys"])
        for row in sorted(read_imports(lake, source), key=order)
    }


def known_keys(
    settings: Settings, imported: Mapping[TableName, tuple[str, ...]]
) -> Callable[[TableName], tuple[str, ...]]:
    """Return a function that returns a table's key columns: from the settings, else from a dump, else ()."""
    return lambda table: settings.rules(table).keys or imported.get(table, ())
