"""Warns of patterns in the settings that match no table, because nothing else would show a misspelled pattern."""

from collections.abc import Iterable

from retable.cli.output import say
from retable.formats.options import nearest
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import scan
from retable.model.event import TableName


def warn_of_patterns(lake: Lake, source: str | None = None, seen: Iterable[TableName] = ()) -> None:
    """Print a warning for each pattern `[tables."…"]` that matches no table.

    The pattern is compared with all tables in `ops.tables`, and with `seen`: the tables that the command has just found
    in the source `source`. The tables of a source are not known before its first replay, and the pattern may be for
    one of them. So no warning is printed as long as a source other than `source` has no table in `ops.tables`.
    """
    rows = scan(lake, lake.find("ops.tables")).to_pylist()
    known = {TableName(row["database"], row["schema"], row["table"]) for row in rows}.union(seen)
    if lake.settings.sources.keys() - {row["source"] for row in rows} - {source}:
        return
    for glob in lake.settings.unmatched(known):
        say(f'warning: [tables."{glob}"] matches no known table{nearest(glob, map(str, known))}')
