"""Find the events of other windows that a replay needs: for late keys, for updates in halves, or all."""

from collections.abc import Iterator, Set

from retable.fold.images import TableReader
from retable.gold.store import Halves, LateKeys
from retable.model.row_event import Pair, RowEvent, unpaired
from retable.model.sequence import LOWEST
from retable.replay.table.horizon import older, retention_floor
from retable.replay.table.next_state import is_late
from retable.replay.table.replace import EventsMissed
from retable.replay.table.rewriting import is_rekeyed
from retable.replay.table.table_replay import TableReplay, Truncations
from retable.schema_history.history import TableHistory

_WRITTEN_ONE_WAY = frozenset({"boolean", "int", "long", "string"})
"""Gold types whose values have only one spelling at the source (not `1.5` and `1.50`)."""


def needs_all(work: TableReplay, reader: TableReader, window: str) -> bool:
    """Whether a window's fold needs all events of the table, because silver's key hashes do not find the rows of a key.

    If the window's events are newer than all of gold, the fold needs only these events and gold's rows: those of their
    keys or, without a key, how many equal rows there are and whether more of them were deleted (`GoldState.debts`). All
    events are needed if the settings name another key than that of gold's rows, or, for late rows, a key whose values
    may have several spellings.
    """
    state = work.state
    if work.has_all or not work.events or state is None:
        return False
    if work.hashed:
        is_written_one_way = all(reader.columns[at].type.kind in _WRITTEN_ONE_WAY for at in reader.key_columns)
        is_open = is_rekeyed(state, reader) or (not is_written_one_way and any(late_events(work, window)))
        return work.keys_are_set and is_open
    if is_rekeyed(state, reader) or any(late_events(work, window)) or other_halves(work, set(unpaired(work.events))):
        return True
    return not reader.keys and (
        state.debts is None or retention_floor(state, work.history) is not None or _is_read_otherwise(work)
    )


def _is_read_otherwise(work: TableReplay) -> bool:
    """Whether gold has rows that were read with other settings, so that equal rows may now differ."""
    done = {} if work.state is None else work.state.applied
    return len({identity.partition(":")[2] for identity in (*done.values(), *work.applied.values())}) > 1


def owed(work: TableReplay, history: TableHistory, truncations: Truncations) -> int | None:
    """The debts of gold (`GoldState.debts`) before a window is folded; None if all events are folded.

    Raise EventsMissed if gold does not have this number.
    """
    state = work.state
    if state is None or work.has_all:
        return None
    if truncations:
        if history.shards or any(
            mark > truncated_at for mark in state.high_water.values() for _, truncated_at in truncations
        ):
            raise EventsMissed
        return 0
    if state.debts is None:
        raise EventsMissed
    return state.debts


def events_of(work: TableReplay, window: str) -> list[RowEvent]:
    """The window's events and, for the late ones among them, all other events of their keys."""
    if work.has_all or not work.events or work.state is None:
        return work.events
    alone = set(unpaired(work.events))
    others = other_halves(work, alone)
    joined = {event.pair for event in others}
    late = [*late_events(work, window, joined), *others]
    if not late:
        return work.events
    if work.history.rekeyed:
        return [*work.events, *older(work, None)]
    hashes = frozenset(h for event in late for h in (event.key_hash, event.old_key_hash) if h is not None)
    keys = late[0].keys or ()
    found = older(work, LateKeys(hashes, keys, min(event.sequence for event in late)))
    if any(event.partial for event in (*work.events, *found)):
        found, hashes = _whole_stories(work, hashes, keys)
    found += other_halves(work, set(unpaired([*work.events, *found])) - (alone - joined))
    return [*work.events, *(event.of_keys(hashes) for event in found)]


def late_events(work: TableReplay, window: str, joined: Set[Pair] = frozenset()) -> Iterator[RowEvent]:
    """The window's events that may be older than gold: all if gold has the window, and halves for which gold waits."""
    if work.state is None:
        return
    again = window in work.state.applied
    for event in work.events:
        if again or event.pair in joined or is_late(work.state, event.part, event.sequence):
            yield event


def _whole_stories(
    work: TableReplay, hashes: frozenset[int], keys: tuple[str, ...]
) -> tuple[list[RowEvent], frozenset[int]]:
    """All events of some keys, and of the keys that their rows had before or since, and the hashes of all these keys.

    Use this if some of the events have partial images.

    Each round finds more of these keys, until there are no new ones.
    """
    while True:
        found = older(work, LateKeys(hashes, keys, LOWEST))
        hash_pairs = [{event.key_hash, event.old_key_hash} for event in (*work.events, *found)]
        more = frozenset(h for pair in hash_pairs if not hashes.isdisjoint(pair) for h in pair if h is not None)
        if more <= hashes:
            return found, hashes
        hashes |= more


def other_halves(work: TableReplay, alone: set[Pair]) -> list[RowEvent]:
    """The other halves of updates, from other windows, as far as they are there."""
    if not alone:
        return []
    found = work.older(Halves(frozenset(hi for _, hi, _ in alone)))
    return [event for event in found if event.pair in alone]
