"""Patterns of the settings that speak of no table: of a misspelled one nothing else would tell."""

from collections.abc import Iterable

from retable.cli.output import say
from retable.formats.options import nearest
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import scan
from retable.model.event import TableName


def warn_of_patterns(lake: Lake, source: str | None = None, seen: Iterable[TableName] = ()) -> None:
    """Say which `[tables."…"]` match neither a table that was ever recorded nor one `seen` now of a source.

    Nothing is said while some other source was never replayed: its tables are not known yet.
    """
    rows = scan(lake, lake.find("ops.tables")).to_pylist()
    known = {TableName(row["database"], row["schema"], row["table"]) for row in rows}.union(seen)
    if lake.settings.sources.keys() - {row["source"] for row in rows} - {source}:
        return
    for glob in lake.settings.unmatched(known):
        say(f'warning: [tables."{glob}"] matches no table that is known{nearest(glob, map(str, known))}')
