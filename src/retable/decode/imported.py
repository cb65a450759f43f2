"""The keys that dumps of a source's schema told: what names a row where neither settings nor messages do."""

import json
from collections.abc import Callable, Mapping

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_imports
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.sequence import parse_sequence
from retable.settings.load import Settings


def imported_keys(lake: Lake, source: str) -> dict[TableName, tuple[str, ...]]:
    """The key of each table of which a dump told one, of several dumps the last one in the order of the source."""

    def order(row: ImportRow) -> tuple[int, int, int]:
        return parse_sequence(row.position)

    return {
        TableName(row.database, row.schema, row.table): tuple(json.loads(row.meaning)["keys"])
        for row in sorted(read_imports(lake, source), key=order)
    }


def known_keys(
    settings: Settings, imported: Mapping[TableName, tuple[str, ...]]
) -> Callable[[TableName], tuple[str, ...]]:
    """Give what names the key of a table: the settings, else a dump of its schema; () where neither does."""
    return lambda table: settings.rules(table).keys or imported.get(table, ())
