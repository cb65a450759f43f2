"""Row events of one table to the last state of every key.

A key's state is decided by the highest sequence among its events, so neither the order of arrival nor repetition
matters. A row that cannot be read falls out before the comparison: the state before it stands.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from retable.errors import MessageError, RowMissing, TableError
from retable.model.row_event import Pair, RowEvent, row_text, unpaired
from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_ROW
from retable.schema_history.history import Hold
from retable.schema_history.shards.parts import follows, source_part

Values = tuple[object, ...]
Key = tuple[object, ...]
LeavingRow = Callable[[], Values | None]
REMEDY_REBUILD = "correct the settings or the source, then: retable rebuild TABLE --reason ..."


class Absent(Enum):
    """The value of a column that a partial image leaves out: unchanged, which is not null."""

    ABSENT = "absent"


ABSENT = Absent.ABSENT


class RowAction(NamedTuple):
    """What one event does: the key (or, without a key, the image) that goes and the row that comes.

    `leaving_row` gives the row that goes, as far as its image tells it, where another key comes.
    """

    gone: Key | None
    key: Key | None
    row: Values | None
    leaving_row: LeavingRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """The last state of a key: its row, or None for a tombstone.

    Columns that are ABSENT have the values of gold's row of the key `base`, which no event tells anew. `leaving_row`
    gives the row that a tombstone took away to another key, if that is the first that was folded of its key. `moved`:
    the row came from another key, and `over_another`: onto one that lived, as rows of one statement may for a moment.
    `may_be_over`: the row came to a key of which nothing had been folded, so only gold knows whether another row lived
    there. The tombstone of such a row has it, too.
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
        """Whether this is the tombstone of another row than gold's `row`, which stands before all that was folded."""
        return self.row is None and (self.may_be_over or _is_another(self.leaving_row, row))

    def over(self, standing: Values) -> "Winner":
        """The state with the absent columns taken from a row."""
        if self.row is None:
            return self
        return replace(self, row=_merged(self.row, standing), base=None)


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that cannot be applied, with why; it goes to quarantine."""

    event: RowEvent
    code: str
    reason: str


@dataclass(slots=True, kw_only=True)
class Folded:
    """The outcome of a fold. `verdicts` counts, per window ordinal, the counted events: each has exactly one.

    `touched` are the keys (or, without a key, the rows) that counted events, or the other halves of such, speak of;
    `pending` are the halves whose other half is not there, `settled` the pairs of which both are. The `hold` is that of
    the row `stopped_by`, or of a statement.
    """

    winners: dict[Key, Winner] = field(default_factory=dict)
    counts: dict[Values, int] = field(default_factory=dict)
    latest: dict[Values, Winner] = field(default_factory=dict)
    touched: set[tuple[object, ...]] = field(default_factory=set)
    verdicts: Counter[tuple[int, str]] = field(default_factory=Counter)
    rejects: list[Reject] = field(default_factory=list)
    pending: list[RowEvent] = field(default_factory=list)
    settled: set[Pair] = field(default_factory=set)
    hold: Hold | None = None
    stopped_by: RowEvent | None = None

    def take(self, other: "Folded") -> None:
        """Take in what became of other keys."""
        self.add(other)
        self.winners |= other.winners
        self.touched |= other.touched
        self.hold = self.hold or other.hold

    def add(self, other: "Folded") -> None:
        """Take in what became of the events of other keys; the states of these are left where they are."""
        self.verdicts += other.verdicts
        self.rejects += other.rejects
        self.pending += other.pending
        self.settled |= other.settled


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a table's rows count: not below `truncated_at`, not from the position of `hold` on, not where `skipped`.

    Rows of a shard do not count below its own among `shard_truncations`.
    """

    truncated_at: Sequence | None
    hold: Hold | None
    skipped: frozenset[tuple[Sequence, str | None, str | None]] = frozenset()
    shard_truncations: Mapping[str, Sequence] = field(default_factory=dict)

    def verdict(self, event: RowEvent) -> str | None:
        if self.hold is not None and self._is_held(event, self.hold):
            return "held"
        if self.skipped and self._is_skipped(event):
            return "excluded"
        truncated_at = self.truncated_at if event.shard is None else self.shard_truncations.get(event.shard)
        return "voided" if truncated_at is not None and event.sequence < truncated_at else None

    @staticmethod
    def _is_held(event: RowEvent, hold: Hold) -> bool:
        """Whether a row waits; where nothing orders it and the hold of another shard, it does not."""
        if hold.position is None:
            return True
        is_apart = event.shard is not None and hold.part is not None
        if is_apart and source_part(event.part) != source_part(hold.part):
            return False
        return event.sequence >= hold.position

    def _is_skipped(self, event: RowEvent) -> bool:
        """Whether a person left the row out; of an update in two halves, both.

        All rows of a full load may have one sequence, so the row itself tells which of them is meant.
        """
        if event.half is None:
            return (event.sequence, event.part, row_text(event)) in self.skipped
        return any((place.epoch, place.hi, part) == event.pair for place, part, _ in self.skipped)


def fold_keys(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, over: Folded | None = None
) -> Folded:
    """Reduce events, over what was folded before, to the last state of every key; a deleted key stays as a tombstone.

    What an event makes of its key, in the order of the source:

    | event | key not seen yet | a row | a tombstone |
    |---|---|---|---|
    | insert, read, or update to this key | its row | its row | its row |
    | the same with some columns only | its row, over gold's (`base`) | its row, over that one | hold ROW_MISSING |
    | delete, or update that leaves this key | tombstone | tombstone | tombstone |
    | the same sequence and partition again | | duplicate, nothing | duplicate, nothing |
    | of another partition, where sequences do not compare | | hold ORDER_UNDEFINED | hold ORDER_UNDEFINED |

    An update that changes its key is one of each, at one sequence. Where one statement swaps keys, a row moves onto a
    key before that key's own row has left: then what leaves is not the row that is there, which stays.
    """
    folded = over or Folded()
    owner: dict[Key, RowEvent] = {}
    applied: list[tuple[RowEvent, Key]] = []
    halved: dict[Pair, tuple[Key, Winner | None]] = {}
    for event, action, touches in _whole(_readable(events, read, bounds, folded), folded):
        last = action.key if action.key is not None else action.gone
        if last is not None and _is_again(event, folded.winners.get(last)):
            folded.verdicts[event.ordinal, "duplicate"] += event.counted
            if touches:
                folded.touched |= {key for key in (action.gone, action.key) if key is not None}
            continue
        coming = Winner(sequence=event.sequence, part=event.part, row=action.row)
        if event.half == "before" and action.gone is not None:
            halved[event.pair] = (action.gone, folded.winners.get(action.gone))
        if action.row is not None and ABSENT in action.row and last is not None:
            found = action.gone if action.gone is not None else last
            whence = halved.get(event.pair) or (found, folded.winners.get(found))
            # What is told anew of the row before it shows in this one too.
            touches = touches or whence[0] in folded.touched
            try:
                coming = _continued(coming, *whence)
            except RowMissing as error:
                folded.verdicts[event.ordinal, "held"] += event.counted
                _stop(folded, event, error.code, error.message)
                continue
        old = halved[event.pair][0] if event.half == "after" and event.pair in halved else action.gone
        seen = action.gone in folded.winners
        gone = Winner(
            sequence=event.sequence, part=event.part, row=None, leaving_row=None if seen else action.leaving_row
        )
        for key, winner, key_hash in ((action.gone, gone, event.left_hash), (action.key, coming, event.key_hash)):
            if key is None or key_hash in event.apart:
                continue
            before = folded.winners.get(key)
            if before is not None and not follows(event.part, event.sequence, before.part, before.sequence):
                _stop(folded, event, "ORDER_UNDEFINED", f"partitions {before.part} and {event.part} both write one key")
            if touches:
                folded.touched.add(key)
            if winner is gone and before is not None and action.leaving_row and _gave_way(before, action.leaving_row):
                folded.winners[key] = replace(before, over_another=False, may_be_over=False)
                continue
            if winner is gone and before is not None and before.may_be_over and action.leaving_row:
                winner = replace(gone, may_be_over=True)
            if winner is coming and old not in (None, key):
                # A full load may have the row itself already, as it was later.
                lives = before is not None and before.row is not None and key in owner and owner[key].op != "READ"
                winner = replace(coming, moved=True, over_another=lives, may_be_over=before is None)
            folded.winners[key] = winner
            owner[key] = event
        if event.counted and last is not None:
            applied.append((event, last))
    _count_applied(folded, applied, owner)
    bases = {folded.winners[key].base for key in folded.touched}
    folded.touched |= {base for base in bases if base is not None}
    return folded


def _count_applied(folded: Folded, applied: list[tuple[RowEvent, Key]], owner: Mapping[Key, RowEvent]) -> None:
    for event, key in applied:
        folded.verdicts[event.ordinal, "applied" if owner.get(key) is event else "superseded"] += 1


def _gave_way(here: Winner, leaving_row: LeavingRow) -> bool:
    """Whether the row that leaves a key is not the one that is there, but one onto whose key that one moved before."""
    return here.moved and here.row is not None and (here.over_another or _is_another(leaving_row, here.row))


def _is_another(leaving_row: LeavingRow | None, row: Values) -> bool:
    """Whether what is told is another row than this one."""
    known = None if leaving_row is None else leaving_row()
    return known is not None and any(
        value is not ABSENT and value is not mine and value != mine for value, mine in zip(known, row, strict=True)
    )


def _continued(coming: Winner, key: Key, last: Winner | None) -> Winner:
    """A partial row over the state before it, in the fold or else in gold; RowMissing where the row was deleted."""
    if last is None:
        return replace(coming, base=key)
    if last.row is None or coming.row is None:
        raise RowMissing(f"a change tells only some columns of the row {key!r}, which was deleted before")
    row = _merged(coming.row, last.row)
    return replace(coming, row=row, base=last.base if ABSENT in row else None)


def _merged(row: Values, under: Values) -> Values:
    return tuple(old if value is ABSENT else value for value, old in zip(row, under, strict=True))


def fold_bag(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, over: Folded | None = None
) -> Folded:
    """Count equal rows of a table without a key: inserts minus deletes. A count below zero is a debt, and stays.

    The same sequence again is a redelivery, but for the rows of a full load, which may all have the same one.
    """
    folded = over or Folded()
    last: RowEvent | None = None
    for event, action, touches in _whole(_readable(events, read, bounds, folded), folded):
        again = last is not None and (last.sequence, last.part) == (event.sequence, event.part)
        last = event
        if again and event.op != "READ":
            folded.verdicts[event.ordinal, "duplicate"] += event.counted
            if touches:
                folded.touched |= {image for image in (action.gone, action.row) if image is not None}
            continue
        for image, change in ((action.gone, -1), (action.row, 1)):
            if image is None:
                continue
            folded.counts[image] = folded.counts.get(image, 0) + change
            folded.latest[image] = Winner(sequence=event.sequence, part=event.part, row=image)
            if touches:
                folded.touched.add(image)
        folded.verdicts[event.ordinal, "applied"] += event.counted
    return folded


def _is_again(event: RowEvent, standing: Winner | None) -> bool:
    return standing is not None and (standing.sequence, standing.part) == (event.sequence, event.part)


def _whole(
    readable: Iterable[tuple[RowEvent, RowAction]], folded: Folded
) -> Iterable[tuple[RowEvent, RowAction, bool]]:
    """Events that are whole, each with whether it touches gold; a half without its other half gets its verdict here."""
    found = list(readable)
    alone = unpaired(event for event, _ in found)
    counted = {event.pair for event, _ in found if event.half is not None and event.counted}
    for event, action in found:
        if event.half is None:
            yield event, action, event.counted
        elif event.pair not in alone:
            folded.settled.add(event.pair)
            yield event, action, event.pair in counted
        else:
            folded.verdicts[event.ordinal, "pending"] += event.counted
            folded.pending.append(event)


def _readable(
    events: Iterable[RowEvent], read: Callable[[RowEvent], RowAction], bounds: Bounds, folded: Folded
) -> Iterable[tuple[RowEvent, RowAction]]:
    """Events in order that count and can be read; every other one gets its verdict here."""
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
    """Remember the lowest position at which the rows themselves stop the table."""
    if folded.hold is None or (folded.hold.position is not None and event.sequence < folded.hold.position):
        row = row_text(event)
        folded.hold = Hold(code, reason, event.sequence, event.part, row, REMEDY_ROW)
        folded.stopped_by = event
