"""Which events of other windows a replay needs beside its own: of late keys, of updates in halves, or all."""

from retable.fold.fold import unpaired
from retable.gold.store import Halves, LateKeys
from retable.model.row_event import Pair, RowEvent
from retable.model.sequence import LOWEST
from retable.replay.table.horizon import older
from retable.replay.table.next_state import is_late
from retable.replay.table.table_replay import TableReplay


def events_of(work: TableReplay, window: str) -> list[RowEvent]:
    """The window's events and, for the late ones among them, all others of their keys."""
    if work.replaces_all or work.lifts_hold or not work.events or work.state is None:
        return work.events
    if not work.hashed:
        return [*work.events, *older(work, None)]
    again = window in work.state.applied
    alone = set(unpaired(work.events))
    others = _other_halves(work, alone)
    joined = {event.pair for event in others}
    late = [
        event
        for event in work.events
        if again or event.pair in joined or is_late(work.state, event.part, event.sequence)
    ] + others
    if not late:
        return work.events
    if work.history.rekeyed:
        return [*work.events, *older(work, None)]
    hashes = frozenset(h for event in late for h in (event.key_hash, event.old_key_hash) if h is not None)
    keys = late[0].keys or ()
    events = [*work.events, *older(work, LateKeys(hashes, keys, min(event.sequence for event in late)))]
    if any(event.partial for event in events):
        events = [*work.events, *_whole_stories(work, hashes, keys)]
    return events + _other_halves(work, set(unpaired(events)) - (alone - joined))


def _whole_stories(work: TableReplay, hashes: frozenset[int], keys: tuple[str, ...]) -> list[RowEvent]:
    """All events of keys of which some tell only a part of the row, and of the keys that such a row had before.

    Each round knows more of the table's keys than the one before it.
    """
    while True:
        found = older(work, LateKeys(hashes, keys, LOWEST))
        hash_pairs = [{event.key_hash, event.old_key_hash} for event in (*work.events, *found)]
        more = frozenset(h for pair in hash_pairs if not hashes.isdisjoint(pair) for h in pair if h is not None)
        if more <= hashes:
            return found
        hashes |= more


def _other_halves(work: TableReplay, alone: set[Pair]) -> list[RowEvent]:
    """The other halves of updates, from other windows, where they are there."""
    if not alone:
        return []
    found = work.older(Halves(frozenset(hi for _, hi, _ in alone)))
    return [event for event in found if event.pair in alone]
