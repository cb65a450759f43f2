"""Fold (reduce) the row events of one table to the last state of each key.

The event with the highest sequence (position in the source) decides a key's state, so the order of arrival and repeated
events do not matter. A row that cannot be read is left out, so the key keeps its state from before this row.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from retable.errors import MessageError, RowMissing, TableError
from retable.fold.bounds import Bounds
from retable.model.row_event import Pair, RowEvent, lone_halves, row_text
from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_ROW
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import follows, unknown_order

Values = tuple[object, ...]
Key = tuple[object, ...]
LeavingRow = Callable[[], Values | None]
REMEDY_REBUILD = "correct the settings or the source, then: retable rebuild TABLE --reason ..."


class Absent(Enum):
    """The value of a column that a partial image does not have. The column is unchanged, not null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class RowAction(NamedTuple):
    """What one event does: it removes the row of the key `gone`, and adds `row` with the key `key`. Each may be None.

    Without a key, `gone` is the removed row. If the key changes, `leaving_row` returns the row that has the old key.
    """

    gone: Key | None
    key: Key | None
    row: Values | None
    leaving_row: LeavingRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The last state of a key: its row, or None for a tombstone (a deleted key).

    If `row` has ABSENT values, gold's row with the key `base` has these values. The other fields are about an update
    that changes a row's key from 1 to 2. Key 1 is then a tombstone: `leaving_row` returns the row that left it, but is
    None if the fold has earlier events of key 1. Key 2 has `moved=True`, and `over_another=True` if it already had
    another row in the fold. If the fold has no earlier event of key 2, gold may have another row there: `may_be_over`
    is True. If the row's key then changes to 3, key 2 becomes a tombstone, which keeps `may_be_over`.
    """

    sequence: Sequence
    part: str | None
    row: Values | None
    base: Key | None = None
    leaving_row: LeavingRow | None = field(default=None, compare=False)
    moved: bool = False
    over_another: bool = False
    may_be_over: bool = False

    def took_another(self, row: Values) -> bool:
        """Return whether the last event removed a row that may be another one than `row`, gold's row of the key."""
        return self.row is None and (self.may_be_over or _is_another(self.leaving_row, row))

    def over(self, standing: Values) -> "Winner":
        """Return the state with the values of its ABSENT columns from `standing`, gold's row with the key `base`."""
        if self.row is None:
            return self
        return replace(self, row=_merged(self.row, standing), base=None)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that cannot be applied and goes to quarantine, with the reason."""

    event: RowEvent
    code: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Folded:
    """The result of a fold.

    `winners` has the last state of each key. For a table without a key, `counts` has inserts minus deletes of each row,
    and `latest` its last change. `touched` has the keys (or rows) that may change in gold. `verdicts` counts the events
    by window number and verdict, such as `(7, "applied")`; events whose `counted` is False are left out. Some sources
    write an update as two messages (halves): `pending` has the halves that wait for the other half, and `settled` the
    sequences of those that do not wait. If the table must stop, `hold` says where and why. If it stops at a row, this
    is `stopped_by`.
    """

    winners: dict[Key, Winner] = field(default_factory=dict)
    counts: dict[Values, int] = field(default_factory=dict)
    latest: dict[Values, Winner] = field(default_factory=dict)
    touched: set[tuple[object, ...]] = field(default_factory=set)
    verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    pending: list[RowEvent] = field(default_factory=list)
    settled: set[Sequence] = field(default_factory=set)
    hold: Hold | None = None
    stopped_by: RowEvent | None = None

    def take(self, other: "Folded") -> None:
        """Add the whole result of the fold `other`, which has other keys."""
        self.add(other)
        self.winners |= other.winners
        self.touched |= other.touched
        self.hold = self.hold or other.hold

    def add(self, other: "Folded") -> None:
        """Add the verdicts, rejects and halves of the fold `other`, but not its states of keys."""
        self.verdicts += other.verdicts
        self.rejects += other.rejects
        self.pending += other.pending
        self.settled |= other.settled


def fold_keys(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, over: Folded | None = None
) -> Folded:
    """Reduce events to the last state of each key. If there is an earlier fold `over`, add the events to it.

    `read` returns what an event does, `bounds` says which events count. The effect depends on the key's present state:

    | event | key not seen yet | key has a row | key has a tombstone |
    |---|---|---|---|
    | insert, read, or update to this key | new row | new row | new row |
    | partial image | new columns over gold's row (`base`) | new columns over the row | hold ROW_MISSING |
    | delete, or update to another key | tombstone | tombstone | tombstone |
    | same sequence and partition as the key's last event | | duplicate, no effect on this key | the same |
    | another partition, if sequences do not compare | | hold ORDER_UNDEFINED | hold ORDER_UNDEFINED |

    An update of a key removes the row of the old key and adds a row of the new key at one sequence. If one statement
    swaps the keys 1 and 2, row 1 can become row 2 before the old row 2 leaves. Then the new row 2 stays.
    """
    folded = over or Folded()
    owner: dict[Key, RowEvent] = {}
    applied: list[tuple[RowEvent, Key]] = []
    befores: dict[Pair, dict[Key, Winner | None]] = {}
    for event, action, touches in whole_updates(events, read, bounds, folded):
        last = action.key if action.key is not None else action.gone
        is_again = last is not None and _is_again(event, folded.winners.get(last), owner.get(last))
        if is_again:
            folded.verdicts[event.ordinal, "duplicate"] += event.counted
            # A full load can show the row of a new key at the same sequence, and not that the row left the old key.
            is_loaded = last in owner and owner[last].op == "READ"
            if action.gone is None or not is_loaded or _is_again(event, folded.winners.get(action.gone)):
                folded.touched |= {key for key in (action.gone, last) if touches and key in folded.winners}
                continue
        coming = Winner(sequence=event.sequence, part=event.part, row=action.row)
        changed = _changed_row(event, action, befores, folded.winners)
        if action.row is not None and ABSENT in action.row and changed.key is not None and not is_again:
            # A partial row includes values of the row before it, so it touches gold if that row does.
            touches = touches or changed.key in folded.touched
            try:
                coming = _continued(coming, changed)
            except RowMissing as error:
                folded.verdicts[event.ordinal, "held"] += event.counted
                _stop(folded, event, error.code, error.message)
                continue
        leaving = None if action.gone in folded.winners else action.leaving_row
        gone = Winner(sequence=event.sequence, part=event.part, row=None, leaving_row=leaving)
        for key, winner, key_hash in ((action.gone, gone, event.left_hash), (action.key, coming, event.key_hash)):
            if key is None or key_hash in event.apart or (is_again and key == last):
                continue
            before = folded.winners.get(key)
            if before is not None and not follows(event.part, event.sequence, before.part, before.sequence):
                _stop(folded, event, "ORDER_UNDEFINED", unknown_order(before.part, event.part))
            if touches:
                folded.touched.add(key)
            if winner is gone and before is not None and action.leaving_row and _gave_way(before, action.leaving_row):
                folded.winners[key] = replace(before, over_another=False, may_be_over=False)
                continue
            if winner is gone and before is not None and before.may_be_over and action.leaving_row:
                winner = replace(gone, may_be_over=True)
            if winner is coming and changed.key != key:
                # A full load can already contain this row in a later state, so its rows do not count as another row.
                lives = before is not None and before.row is not None and key in owner and owner[key].op != "READ"
                winner = replace(coming, moved=True, over_another=lives, may_be_over=before is None)
            folded.winners[key] = winner
            owner[key] = event
        if event.counted and last is not None and not is_again:
            applied.append((event, last))
    _count_applied(folded, applied, owner)
    bases = {folded.winners[key].base for key in folded.touched}
    folded.touched |= {base for base in bases if base is not None}
    return folded


def _count_applied(folded: Folded, applied: list[tuple[RowEvent, Key]], owner: Mapping[Key, RowEvent]) -> None:
    for event, key in applied:
        folded.verdicts[event.ordinal, "applied" if owner.get(key) is event else "superseded"] += 1


def _gave_way(here: Winner, leaving_row: LeavingRow) -> bool:
    """Return whether the leaving row is an earlier row of this key that the current row `here` already replaced."""
    return here.moved and here.row is not None and (here.over_another or _is_another(leaving_row, here.row))


def _is_another(leaving_row: LeavingRow | None, row: Values) -> bool:
    """Return whether a leaving row differs from `row` in a column that its image shows."""
    known = None if leaving_row is None else leaving_row()
    return known is not None and any(
        value is not ABSENT and value is not mine and value != mine for value, mine in zip(known, row, strict=True)
    )


class _ChangedRow(NamedTuple):
    """The row that an event changes: its key, and the last state of this key before the event.

    `is_known` is False if it may be another row of the same transaction.
    """

    key: Key | None
    last: Winner | None
    is_known: bool = True


def _changed_row(
    event: RowEvent,
    action: RowAction,
    befores: dict[Pair, dict[Key, Winner | None]],
    winners: Mapping[Key, Winner],
) -> _ChangedRow:
    """Return the row that an event changes.

    `befores` has the before halves of updates that have no after half yet, by transaction (`RowEvent.pair`) and key. It
    is kept up to date here. An after half belongs to the before half with the same key, or else to the only one.
    """
    key = action.gone if action.gone is not None else action.key
    if event.half is None or key is None:
        return _ChangedRow(key, None if key is None else winners.get(key))
    mine = befores.setdefault(event.pair, {})
    if event.half == "before":
        mine[key] = winners.get(key)
    elif mine and key not in mine and len(mine) > 1:
        return _ChangedRow(next(iter(mine)), None, is_known=False)
    elif mine:
        key = key if key in mine else next(iter(mine))
        return _ChangedRow(key, mine.pop(key))
    return _ChangedRow(key, winners.get(key))


def _continued(coming: Winner, changed: _ChangedRow) -> Winner:
    """Complete a partial row from the last state of the row that it changes, or else from gold.

    Raise RowMissing if this row was deleted, or if it is not known which row it is.
    """
    key, last, is_known = changed
    if not is_known:
        raise RowMissing("a change has only some columns, and it is not known which row of its transaction it changes")
    if last is None:
        return replace(coming, base=key)
    if last.row is None or coming.row is None:
        raise RowMissing(f"a change contains only some columns of the row {key!r}, but an earlier change deleted it")
    row = _merged(coming.row, last.row)
    return replace(coming, row=row, base=last.base if ABSENT in row else None)


def _merged(row: Values, under: Values) -> Values:
    return tuple(old if value is ABSENT else value for value, old in zip(row, under, strict=True))


def _is_again(event: RowEvent, standing: Winner | None, last: RowEvent | None = None) -> bool:
    """Return whether the event is a repetition. If `last` is the first message of an update, the second one is not."""
    is_second = event.half == "after" and last is not None and last.half == "before"
    is_here = standing is not None and (standing.sequence, standing.part) == (event.sequence, event.part)
    return is_here and not is_second


def whole_updates(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, folded: Folded
) -> Iterable[tuple[RowEvent, RowAction, bool]]:
    """Yield, in order of arrival, what counts, can be read and is whole, with whether gold may have to change.

    Other events get their verdict here. A lone half is `pending`, or `excluded` if a person left its other half out.
    """
    events = list(events)
    found = list(_readable(events, read, bounds, folded))
    skipped = {e.pair for e in events if e.half and bounds.verdict(e) == "excluded"} if bounds.skipped else set()
    halves = {(event.pair, event.half, event.sequence) for event, _ in found if event.half is not None}
    lost = [(each.event.pair, each.event.half, each.event.sequence) for each in folded.rejects]
    rejected = {half[0] for half in lost if half[1] is not None and half not in halves}
    keyed = ((event, action.gone if action.gone is not None else action.key) for event, action in found)
    alone = lone_halves(keyed, skipped | rejected)
    counted = {event.pair for event, _ in found if event.half is not None and event.counted}
    for event, action in found:
        if event.half is None:
            yield event, action, event.counted
        elif (event.pair, event.sequence, event.half) not in alone:
            folded.settled.add(event.sequence)
            yield event, action, event.pair in counted
        elif event.pair in skipped:
            folded.settled.add(event.sequence)
            folded.verdicts[event.ordinal, "excluded"] += event.counted
        else:
            folded.verdicts[event.ordinal, "pending"] += event.counted
            folded.pending.append(event)


def _readable(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, folded: Folded
) -> Iterable[tuple[RowEvent, RowAction]]:
    """Yield, in order of arrival, the events that count and can be read. Other events get their verdict here."""
    for event in sorted(events, key=lambda event: event.arrival):
        verdict = bounds.verdict(event)
        if verdict is not None:
            folded.verdicts[event.ordinal, verdict] += event.counted
            continue
        try:
            yield event, read(event)
        except MessageError as error:
            folded.verdicts[event.ordinal, "rejected"] += event.counted
            folded.rejects.append(Reject(event, error.code, error.message))
        except TableError as error:
            folded.verdicts[event.ordinal, "held"] += event.counted
            _stop(folded, event, error.code, error.message)


def _stop(folded: Folded, event: RowEvent, code: str, reason: str) -> None:
    """Hold the table at this event, unless it is already held at a lower position."""
    if folded.hold is None or (folded.hold.position is not None and event.sequence < folded.hold.position):
        folded.hold = Hold(code, reason, event.sequence, event.part, row_text(event), REMEDY_ROW)
        folded.stopped_by = event
