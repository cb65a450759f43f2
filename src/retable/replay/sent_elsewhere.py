"""Find rows that the settings now send to another gold table than the one that has them."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retable.gold.names import gold_table
from retable.gold.state import GoldState
from retable.model.event import TableName
from retable.schema_history.shards.joined import identify
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings


@dataclass(frozen=True, slots=True)
class RowsElsewhere:
    """Rows of a source table that the settings now send to another gold table, which does not have all of them yet.

    `table` is the source table. `gold` is the name of the gold table that has the rows. `to` is the name of the gold
    table that gets them. It may not exist yet.
    """

    table: TableName
    gold: str
    to: str


def find_moved(
    settings: Settings,
    source: SourceSettings,
    states: Mapping[str, GoldState],
    applied: Callable[[str], Mapping[str, str | None]],
) -> list[RowsElsewhere]:
    """Return the rows that the settings now send to another gold table than before, and that it lacks.

    `states` are all gold tables of a source, by name. `applied` takes the name of a gold table. It returns what the
    ledger says was replayed into this table: by window, a digest of the window's content in silver and of the settings.
    """
    known = {state.identity: state for state in states.values()}
    found = []
    for gold, state in states.items():
        here = state.table if state.shards else None
        parts = {identity: shard.table for identity, shard in state.shards.items()} or {state.identity: state.table}
        for identity, name in parts.items():
            target = settings.target(name)
            if target == here or not source.takes(name):
                continue
            other = known.get(identity if target is None else identify(target))
            if other is None or other.gathered.get(state.identity) != ledger_digest(applied(gold)):
                found.append(RowsElsewhere(name, gold, gold_table(settings.lake, target or name)))
    return found


def tables_to_rebuild(
    settings: Settings,
    source: SourceSettings,
    states: Mapping[str, GoldState],
    applied: Callable[[str], Mapping[str, str | None]],
) -> dict[str, str]:
    """Return the gold tables that need a rebuild, by name, each with the reason.

    If the settings send the rows of a source table from one gold table to another, both need a rebuild: the second
    lacks these rows, and the first still has them. The first needs none if no rows go to it any more.

    `states` are all gold tables of a source, by name. `applied` takes the name of a gold table and returns, by window,
    a digest of the content that was replayed into it.
    """
    found: dict[str, str] = {}
    for each in find_moved(settings, source, states, applied):
        left = states[each.gold]
        names = [each.to, *([each.gold] if settings.feeds(source, left.table, bool(left.shards)) else [])]
        for gold in names:
            found.setdefault(
                gold, f"the settings send the rows of {each.table} to {each.to}, but the rows are still in {each.gold}"
            )
    return dict(sorted(found.items()))


def ledger_digest(applied: Mapping[str, str | None]) -> str:
    """Return one digest for all content that was replayed into a gold table. `applied` has a digest for each window."""
    mine = sorted((window, str(what)) for window, what in applied.items())
    return hashlib.sha256(repr(mine).encode()).hexdigest()[:16]
