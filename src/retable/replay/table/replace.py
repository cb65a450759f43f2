"""Decide which rows of gold are deleted and which are added, by comparing folded events with gold's rows. No I/O."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TypeVar

from retable.errors import OrderUndefined, RowMissing, TableError
from retable.fold.fold import Folded, Key, Values, Winner
from retable.gold.store import CurrentRow
from retable.model.sequence import LOWEST, Sequence
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.parts import follows, shard_of, unknown_order

F = TypeVar("F", bound=Exception)


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rows of gold to delete and the rows to add.

    `deletes` are keys or, in a table without a key, whole rows. `rows` are the new rows, each with its `Winner` (the
    folded state with the sequence). In a table without a key, `debts` counts deletes of rows that were never inserted.
    """

    deletes: list[Key]
    rows: list[tuple[Values, Winner]]
    debts: int = 0


class EventsMissed(Exception):
    """Some events of the folded keys are missing, so all events of the table must be folded.

    There are three signs of it. Gold's row of a key is newer than all folded events of this key, because messages write
    the key in two ways (such as `1.5` and `1.50`) and only events of one way were folded. Or an event changed the key
    of a row, but gold has a different row under the old key. In a table without a key, an earlier delete whose insert
    had not come may belong to a row that is inserted now, or the number of such deletes is not known.
    """

    def __init__(self, reason: str = "all its events are needed") -> None:
        super().__init__(reason)


def is_below(row: CurrentRow, history: TableHistory) -> bool:
    """Return whether a row of gold no longer counts, because it is older than the last truncation of its table."""
    truncated_at = history.shard_truncations.get(shard_of(row.part) or "") if history.shards else history.truncated_at
    return truncated_at is not None and row.sequence < truncated_at


def replace_keys(
    folded: Folded, key_columns: list[int], standing: list[CurrentRow], complete: bool = True
) -> Replacement:
    """Return the change of gold for the keys in `folded.touched` whose last row differs from gold's row.

    `standing` are gold's present rows of these keys, and `key_columns` the indices of their key columns. `complete` is
    True if all events of the table were folded.

    Raise OrderUndefined if gold's row of a key came from another Kafka partition, so that sequences cannot be compared.
    Raise RowMissing if an event has only some columns, and gold lacks the row with the others. Raise EventsMissed if
    gold has another row than the events show, and `complete` is False. `first_failure` selects among several failures.
    """
    present: dict[Key, list[CurrentRow]] = defaultdict(list)
    for row in standing:
        present[tuple(row.values[index] for index in key_columns)].append(row)
    deletes: list[Key] = []
    rows: list[tuple[Values, Winner]] = []
    failure: EventsMissed | TableError | None = None
    for key in folded.touched:
        winner, old = folded.winners.get(key), present.get(key, [])
        if winner is None:
            continue
        try:
            if winner.base is not None:
                winner = winner.over(_base(winner, winner.base, present))
            _check_order(winner, old, complete)
        except (EventsMissed, TableError) as found:
            failure = first_failure(failure, found)
            continue
        if winner.row is not None and [(row.values, row.sequence) for row in old] == [(winner.row, winner.sequence)]:
            continue
        if old:
            deletes.append(key)
        if winner.row is not None:
            rows.append((winner.row, winner))
    if failure is not None:
        raise failure
    return Replacement(deletes, rows)


def _check_order(winner: Winner, old: list[CurrentRow], complete: bool) -> None:
    """Raise OrderUndefined or EventsMissed if the last state of a key cannot replace gold's rows `old` of this key."""
    for row in old:
        if not follows(winner.part, winner.sequence, row.part, row.sequence):
            raise OrderUndefined(unknown_order(row.part, winner.part))
    if not complete and any(row.sequence > winner.sequence or winner.took_another(row.values) for row in old):
        raise EventsMissed


def first_failure(one: F | None, other: F) -> F:
    """Return the more important one of two failures; `one` is None if there was none before.

    A TableError holds the table, so other failures (EventsMissed and the like) have priority over it. The result does
    not depend on the order of the two failures.
    """
    return other if one is None else min(one, other, key=_rank)


def _rank(failure: Exception) -> tuple[bool, bool, Sequence, str]:
    at = failure.facts.get("at") if isinstance(failure, TableError) else None
    is_missing = isinstance(failure, RowMissing)
    return isinstance(failure, TableError), is_missing, at if isinstance(at, Sequence) else LOWEST, str(failure)


def _base(winner: Winner, key: Key, present: dict[Key, list[CurrentRow]]) -> Values:
    """Return gold's row that has the missing columns of a partial image. Raise RowMissing if gold has no such row."""
    if not (rows := present.get(key, [])):
        what = f"a change contains only some columns of the row with the key {key!r}, and gold does not have this row"
        raise RowMissing(what, at=winner.sequence)
    return rows[0].values


def replace_newer(folded: Folded) -> Replacement:
    """Return the change of gold for all keys in `folded.touched`, if all events are newer than gold's rows.

    Gold's rows then need not be read.
    """
    winners = [(folded.winners[key], key) for key in folded.touched]
    return Replacement([key for _, key in winners], [(w.row, w) for w, _ in winners if w.row is not None])


def replace_bag(folded: Folded, standing: list[CurrentRow], debts: int | None) -> Replacement:
    """Return the change of a gold table without a key, so that it has each touched row as often as the events say.

    `folded` has inserts minus deletes of each row, `standing` are gold's equal rows. If `debts` is None, `folded` has
    all events of the table. Otherwise the counts of `folded` are added to the numbers of gold's rows, and `debts` is
    the number of earlier deletes for which no insert has come. Raise EventsMissed if one of these deletes may be of a
    row that is inserted now. If the sum for a row is negative (more deletes than inserts), gold does not have the row.
    """
    present = Counter(row.values for row in standing)
    # A row is touched but not counted if all of its changes are redeliveries of others.
    counts = {image: folded.counts.get(image, 0) for image in folded.counts.keys() | folded.touched}
    if debts is not None:
        if debts and any(count > 0 and not present[image] for image, count in counts.items()):
            raise EventsMissed
        counts = {image: count + present[image] for image, count in counts.items()}
    deletes: list[Key] = []
    rows: list[tuple[Values, Winner]] = []
    for image in folded.touched:
        wanted = max(counts[image], 0)
        if wanted == present[image]:
            continue
        if present[image]:
            deletes.append(image)
        rows += [(image, folded.latest[image])] * wanted
    return Replacement(deletes, rows, -sum(count for count in counts.values() if count < 0))
