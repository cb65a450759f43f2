"""Find the events of other windows that the replay of a window needs.

These are the other events of late keys (keys with an event that is older than gold), the other halves of updates that
come as two messages, or all events of the table.
"""

from collections.abc import Iterator, Set

from retable.fold.images import TableReader
from retable.fold.spelling import is_text_as_written
from retable.gold.store import Halves, LateKeys
from retable.model.row_event import Pair, RowEvent, unpaired
from retable.model.sequence import LOWEST, parse_sequence
from retable.replay.table.horizon import older, retention_floor
from retable.replay.table.next_state import is_late
from retable.replay.table.replace import EventsMissed
from retable.replay.table.rewriting import is_rekeyed
from retable.replay.table.table_replay import TableReplay, Truncations
from retable.schema_history.history import TableHistory

_WRITTEN_ONE_WAY = frozenset({"boolean", "int", "long"})
"""Gold types whose values have only one spelling in messages. A decimal has several, such as `1.5` and `1.50`."""


def needs_all(work: TableReplay, reader: TableReader, window: str) -> bool:
    """Return whether the fold of a window needs all events of the table.

    If the window's events are newer than all of gold, the fold usually needs only these events and gold's rows. With a
    key, gold's rows are found by key. Without a key, the fold needs the number of equal rows in gold, and the number of
    deletes without an insert (`GoldState.debts`). All events are needed in these cases:

    - The settings name another key than gold has.
    - The window has late rows (older than gold), and silver's key hashes may not find all events of their keys. For
      example, a full load may write a key as `1.5`, and the log may write it as `1.50`: the two hashes differ. Or a
      statement after a late row changed the key.
    - The key hashes are not enough, and an update has one half (message) in this window and one in another window.
    - The table has no key, and the number of deletes without an insert is not known, silver no longer has all rows, or
      gold's rows were read with other settings.
    """
    state = work.state
    if work.has_all or not work.events or state is None:
        return False
    if work.hashed:
        if _is_rekeyed_later(work, window):
            return True
        one_way = _is_one_way_if_set if work.keys_are_set else _is_one_way
        if not all(one_way(reader, at) for at in reader.key_columns) and any(late_events(work, window)):
            return True
        return work.keys_are_set and is_rekeyed(state, reader)
    if is_rekeyed(state, reader) or any(late_events(work, window)) or other_halves(work, _alone(work)):
        return True
    return not reader.keys and (
        state.debts is None or retention_floor(state, work.history) is not None or _is_read_otherwise(work)
    )


def _is_rekeyed_later(work: TableReplay, window: str) -> bool:
    """Return whether a late row needs events that are hashed by a former key, because a later statement changed it."""
    if work.keys_are_set or not work.history.rekeyed:
        return False
    late = late_events(work, window)
    first = min((LOWEST if event.partial else event.sequence for event in late), default=None)
    return first is not None and first <= work.history.rekeyed[-1]


def _is_one_way(reader: TableReader, at: int) -> bool:
    """Return whether equal values of a key column have equal hashes in silver, if a statement declares the key."""
    kind = reader.columns[at].type
    if kind.kind == "string":
        return is_text_as_written(reader, at)
    return kind.kind not in ("float", "double") and not (kind.kind == "decimal" and kind.scale > 0)


def _is_one_way_if_set(reader: TableReader, at: int) -> bool:
    """Return the same if the settings name the key."""
    kind = reader.columns[at].type.kind
    return kind in _WRITTEN_ONE_WAY or (kind == "string" and is_text_as_written(reader, at))


def _is_read_otherwise(work: TableReplay) -> bool:
    """Return whether gold has rows that were read with other settings than the run's rows.

    Rows that were equal may then be different.
    """
    done = {} if work.state is None else work.state.applied
    return len({identity.partition(":")[2] for identity in (*done.values(), *work.applied.values())}) > 1


def owed(work: TableReplay, history: TableHistory, truncations: Truncations) -> int | None:
    """Return how many rows gold has deleted that were never inserted (`GoldState.debts`), before a window is folded.

    This number is kept for tables without a key. Return None if it is not needed, because the fold has all events or
    there is no gold table yet. Return 0 if the `truncations` of this window remove all of gold's rows. Raise
    EventsMissed, so that all events are folded, if the number is not known.
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
    """Return the events that the fold of a window needs.

    These are the window's events and, if some of them are late (they may be older than gold), other events of the same
    keys.
    """
    if work.has_all or not work.events or work.state is None:
        return work.events
    alone = _alone(work)
    others = other_halves(work, alone)
    joined = {event.pair for event in others}
    late = [*late_events(work, window, joined), *others]
    if not late:
        return work.events
    hashes = frozenset(h for event in late for h in (event.key_hash, event.old_key_hash) if h is not None)
    keys = late[0].keys or ()
    found = older(work, LateKeys(hashes, keys, min(event.sequence for event in late)))
    is_partial = any(event.partial for event in (*work.events, *found))
    if work.history.rekeyed and (others or is_partial):
        return [*work.events, *older(work, None)]
    if is_partial:
        found, hashes = _whole_stories(work, hashes, keys)
    found += other_halves(work, unpaired([*work.events, *found]) - (alone - joined))
    return [*work.events, *(event.of_keys(hashes) for event in found)]


def late_events(work: TableReplay, window: str, joined: Set[Pair] = frozenset()) -> Iterator[RowEvent]:
    """Yield the window's events that may be older than gold.

    If gold already has the window, these are all its events. `joined` are updates (`RowEvent.pair`) that come as two
    messages, if gold already has the window of the other message. The messages in this window are then late, too.
    """
    if work.state is None:
        return
    again = window in work.state.applied
    for event in work.events:
        if again or event.pair in joined or is_late(work.state, event.part, event.sequence):
            yield event


def _whole_stories(
    work: TableReplay, hashes: frozenset[int], keys: tuple[str, ...]
) -> tuple[list[RowEvent], frozenset[int]]:
    """Return all events of some keys, and the hashes of these keys.

    The keys are those with the given `hashes`, and all keys that the rows of these keys had before or later. They are
    needed if some events have partial images. Each round finds more keys, until there are no new ones. `keys` are the
    key columns. Several updates of one transaction may have the same `RowEvent.pair`, so if they come as two messages,
    the keys of all of them are needed.
    """
    while True:
        found = older(work, LateKeys(hashes, keys, LOWEST))
        mine = [event for event in (*work.events, *found) if not hashes.isdisjoint(_hashes_of(event))]
        halves = _halves_of(work, {event.pair for event in mine if event.half is not None})
        more = frozenset(h for event in (*mine, *halves) for h in _hashes_of(event) if h is not None)
        if more <= hashes:
            return found, hashes
        hashes |= more


def _hashes_of(event: RowEvent) -> tuple[int | None, int | None]:
    return event.key_hash, event.old_key_hash


def _alone(work: TableReplay) -> set[Pair]:
    """Return the updates in two messages of which this window has only one, or for one of which gold waits.

    A transaction with several updates is one `RowEvent.pair`. If another of its updates waits, the fold needs all of
    them, or it would not know which messages belong together.
    """
    waiting = set() if work.state is None else {parse_sequence(text)[:2] for text in work.state.pending}
    known = {event.pair for event in work.events if event.half is not None and event.pair[:2] in waiting}
    return unpaired(work.events) | known


def _halves_of(work: TableReplay, pairs: set[Pair]) -> list[RowEvent]:
    """Return the halves with these pairs, of the window and of the other windows that gold has."""
    here = [event for event in work.events if event.half is not None and event.pair in pairs]
    return here + other_halves(work, pairs)


def other_halves(work: TableReplay, alone: set[Pair]) -> list[RowEvent]:
    """Return the missing halves of updates from the other windows that gold has.

    An update in two messages has two halves. `alone` are the updates (`RowEvent.pair`) of which this window may have
    only one half. A half that has not arrived yet is not in the result.
    """
    if not alone:
        return []
    found = work.older(Halves(frozenset(hi for _, hi, _ in alone)))
    return [event for event in found if event.pair in alone]
