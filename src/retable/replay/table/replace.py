"""Decide which rows of gold are deleted and which are added, from values alone."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TypeVar

from retable.errors import OrderUndefined, RowMissing, TableError
from retable.fold.fold import Folded, Key, Values, Winner
from retable.gold.store import CurrentRow
from retable.model.sequence import LOWEST, Sequence
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.parts import follows, shard_of

F = TypeVar("F", bound=Exception)


@dataclass(frozen=True, slots=True)
class Replacement:
    """`deletes` are keys (or, without a key, whole rows) to delete; `rows` are new, each with its origin.

    `debts` is how many more rows of a table without a key were deleted than inserted.
    """

    deletes: list[Key]
    rows: list[tuple[Values, Winner]]
    debts: int = 0


class EventsMissed(Exception):
    """Gold has another row of a key than the events that were found for the key show.

    Gold's row is newer than all of them, as the key has two spellings; or it is not the row that left the key. Or, for
    a table without a key, gold's state does not show how often rows were inserted and deleted.
    """


def is_below(row: CurrentRow, history: TableHistory) -> bool:
    """Whether a row of gold no longer counts, as its table was emptied since."""
    truncated_at = history.shard_truncations.get(shard_of(row.part) or "") if history.shards else history.truncated_at
    return truncated_at is not None and row.sequence < truncated_at


def replace_keys(
    folded: Folded, key_columns: list[int], standing: list[CurrentRow], complete: bool = True
) -> Replacement:
    """Replace the touched keys whose last state differs from gold.

    OrderUndefined: another partition wrote gold's row of a key, and their sequences do not compare. RowMissing: gold
    lacks the row of a partial image. EventsMissed, unless the fold had all events of the table (`complete`): gold has
    another row than they show. If there are several failures, `first_failure` is raised.
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
    """Raise unless gold's rows of a key are those that its last state replaces."""
    for row in old:
        if not follows(winner.part, winner.sequence, row.part, row.sequence):
            raise OrderUndefined(f"partitions {row.part} and {winner.part} both write the same key")
    if not complete and any(row.sequence > winner.sequence or winner.took_another(row.values) for row in old):
        raise EventsMissed


def first_failure(one: F | None, other: F) -> F:
    """Which of two failures counts: one that more events may settle, or else a hold; the choice is deterministic."""
    return other if one is None else min(one, other, key=_rank)


def _rank(failure: Exception) -> tuple[bool, bool, Sequence, str]:
    at = failure.facts.get("at") if isinstance(failure, TableError) else None
    is_missing = isinstance(failure, RowMissing)
    return isinstance(failure, TableError), is_missing, at if isinstance(at, Sequence) else LOWEST, str(failure)


def _base(winner: Winner, key: Key, present: dict[Key, list[CurrentRow]]) -> Values:
    """Gold's row that has the missing columns of a partial image; RowMissing if gold has none."""
    if not (rows := present.get(key, [])):
        what = f"a change contains only some columns of the row {key!r}, and gold does not have this row"
        raise RowMissing(what, at=winner.sequence)
    return rows[0].values


def replace_newer(folded: Folded) -> Replacement:
    """Replace the touched keys, whatever gold has for them: all of it is older."""
    winners = [(folded.winners[key], key) for key in folded.touched]
    return Replacement([key for _, key in winners], [(w.row, w) for w, _ in winners if w.row is not None])


def replace_bag(folded: Folded, standing: list[CurrentRow], debts: int | None) -> Replacement:
    """Bring the number of each touched row to its count; a debt, rows deleted that were not inserted, leaves none.

    The counts are of all events of the table or, if `debts` are given, added to those of gold, which had that many
    debts. EventsMissed if such a debt may be of a row that comes now.
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
