"""Warns of patterns in the settings that match no table, because nothing else would show a misspelled pattern."""

from collections.abc import Iterable

from retable.cli.output import say
from retable.formats.options import nearest
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import scan
from retable.model.event import TableName


def warn_of_patterns(lake: Lake, source: str | None = None, seen: Iterable[TableName] = ()) -> None:
    """Print a warning for each pattern `[tables."…"]` that matches no table.

    A pattern counts as used if it matches a table that was ever recorded, or a table in `seen`, which a command has
    just found in the source `source`. There is no warning until every other source has been replayed, because its
    tables are not known before.
    """
    rows = scan(lake, lake.find("ops.tables")).to_pylist()
    known = {TableName(row["database"], row["schema"], row["table"]) for row in rows}.union(seen)
    if lake.settings.sources.keys() - {row["source"] for row in rows} - {source}:
        return
    for glob in lake.settings.unmatched(known):
        say(f'warning: [tables."{glob}"] matches no known table{nearest(glob, map(str, known))}')
