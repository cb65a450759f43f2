"""The keys from dumps of a source's schema. They apply if neither settings nor messages name the key."""

import json
from collections.abc import Callable, Mapping

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_imports
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.sequence import parse_sequence
from retable.settings.load import Settings


def imported_keys(lake: Lake, source: str) -> dict[TableName, tuple[str, ...]]:
    """Give the key of each table that a dump shows. If there are several dumps, the last one in source order counts."""

    def order(row: ImportRow) -> tuple[int, int, int]:
        return parse_sequence(row.position)

    return {
        TableName(row.database, row.schema, row.table): tuple(json.loads(row.meaning)["keys"])
        for row in sorted(read_imports(lake, source), key=order)
    }


def known_keys(
    settings: Settings, imported: Mapping[TableName, tuple[str, ...]]
) -> Callable[[TableName], tuple[str, ...]]:
    """Give a function that returns the key of a table: from the settings, else from a dump; () if neither has it."""
    return lambda table: settings.rules(table).keys or imported.get(table, ())
