"""The key columns that imported schema dumps declare. They apply if neither settings nor messages name the key."""

import json
from collections.abc import Callable, Mapping

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_imports
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.sequence import parse_sequence
from retable.settings.load import Settings


def imported_keys(lake: Lake, source: str) -> dict[TableName, tuple[str, ...]]:
    """Return the key columns of each table in the schema dumps that persons imported for a source.

    If several dumps have the table, the dump with the greatest position in the source counts.
    """

    def order(row: ImportRow) -> tuple[int, int, int]:
        return parse_sequence(row.position)

    return {
        TableName(row.database, row.schema, row.table): tuple(json.loads(row.meaning)["keys"])
        for row in sorted(read_imports(lake, source), key=order)
    }


def known_keys(
    settings: Settings, imported: Mapping[TableName, tuple[str, ...]]
) -> Callable[[TableName], tuple[str, ...]]:
    """Return a function that returns the key columns of a table: from the settings, else from `imported`, else ()."""
    return lambda table: settings.rules(table).keys or imported.get(table, ())
