"""Fold tables whose primary key changed: find the last row of each former key, then give these rows the new key."""

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from typing import NamedTuple

from retable.fold.bag import fold_bag
from retable.fold.bounds import Bounds
from retable.fold.fold import ABSENT, REMEDY_REBUILD, Folded, Key, Winner, fold_keys
from retable.fold.images import TableReader
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Hold, TableHistory


class FormerKey(NamedTuple):
    """The key columns of a table up to the sequence (position) `end`; empty if the table had no key then."""

    end: Sequence
    columns: tuple[Column, ...]


class KeyChange(NamedTuple):
    """The reader of rows up to the sequence (position) `end`. It uses the key that the table had then."""

    end: Sequence
    reader: TableReader


@dataclass(frozen=True, slots=True)
class CarriedRow:
    """A row that exists when the key of its table changes.

    `key` has its values in the next key; it is the whole row if the table has no key after the change. `winner` has the
    row and the sequence of its last event. `touched` is True if the row may differ from gold's row.
    """

    key: Key
    winner: Winner
    touched: bool


class NotKeyed(Exception):
    """Existing rows cannot get the next key: a row has no value in a key column, or two rows have the same key."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def key_changes_of(former: Iterable[FormerKey], reader: TableReader) -> list[KeyChange]:
    """Return a reader for each former key. `reader` is the reader of the final key.

    The rows of all returned readers have the final columns, followed by the key columns that were dropped.
    """
    former = list(former)
    final = reader.history.final.columns
    here = {column.id for column in final}
    gone = {column.id: column for key in former for column in key.columns if column.id not in here}
    columns = (*final, *gone.values())
    return [KeyChange(key.end, _reader(reader, key.columns, columns)) for key in former]


def former_key(change: KeyChange) -> FormerKey:
    """Return the key that a table had before it changed."""
    return FormerKey(change.end, tuple(change.reader.columns[at] for at in change.reader.key_columns))


def _reader(like: TableReader, key: tuple[Column, ...], columns: tuple[Column, ...]) -> TableReader:
    names, identities = tuple(column.name for column in key), tuple(column.id for column in key)
    return TableReader(
        history=like.history,
        keys=names,
        source_format=like.source_format,
        rules=like.rules,
        columns=columns,
        key_ids=identities,
    )


def fold_key_changes(events: Iterable[RowEvent], former: Seq[KeyChange], reader: TableReader, bounds: Bounds) -> Folded:
    """Reduce events to the last state of each key of the final schema.

    `former` has the readers of former keys, the oldest first; `reader` has the final key, and `bounds` decides which
    rows count. When the key changes, the existing rows get the new key.
    If a row has no value in a key column, or two rows have the same key, the table is held at the statement that
    changed the key.
    """
    if not former:
        return _fold(events, reader, bounds, Folded())
    ordered = sorted(events, key=lambda event: event.sequence)
    folded = Folded()
    for number, key_change in enumerate(former):
        mine = [event for event in ordered if event.sequence <= key_change.end]
        ordered = ordered[len(mine) :]
        folded = _fold(mine, key_change.reader, bounds, folded)
        if folded.hold is not None:
            return folded
        following = former[number + 1].reader if number + 1 < len(former) else reader
        anew = Folded(verdicts=folded.verdicts, rejects=folded.rejects, pending=folded.pending, settled=folded.settled)
        try:
            carry(with_next_key(folded, key_change.reader, following), following, anew)
        except NotKeyed as clash:
            folded.hold = keyed_hold(reader.history, key_change.end, clash)
            return folded
        folded = anew
    return _fold(ordered, reader, bounds, folded)


def _fold(events: Iterable[RowEvent], reader: TableReader, bounds: Bounds, folded: Folded) -> Folded:
    return (fold_keys if reader.keys else fold_bag)(events, reader.read, bounds, folded)


def with_next_key(folded: Folded, before: TableReader, after: TableReader) -> Iterator[CarriedRow]:
    """Yield the existing rows of a fold by the key of `before`, each with the key that it gets by `after`.

    Raise NotKeyed if a row has no value in a column of the next key, or if no event has all columns of a row.
    """
    for winner, touched in _living(folded, before):
        row = (winner.row or ())[: len(after.columns)]
        key = after.key_of(row) if after.keys else row
        if ABSENT in row:
            raise NotKeyed(
                "ROW_MISSING",
                f"updates contain only some columns of the row {row!r}, and no event contains the other columns",
            )
        if after.keys and None in key:
            raise NotKeyed("KEY_CLASH", f"a row has a null in the new key ({', '.join(after.keys)}): {row!r}")
        yield CarriedRow(key, Winner(sequence=winner.sequence, part=winner.part, row=row), touched)


def carry(rows: Iterable[CarriedRow], after: TableReader, folded: Folded) -> None:
    """Add the rows that exist when the key changes to `folded`, the fold of the events after the change.

    Each row is added under its next key. `after` is the reader with this key.

    Raise NotKeyed if two rows have the same key.
    """
    for each in rows:
        if after.keys and each.key in folded.winners:
            raise NotKeyed("KEY_CLASH", f"two rows have the same new key ({', '.join(after.keys)}): {each.key!r}")
        if after.keys:
            folded.winners[each.key] = each.winner
        else:
            folded.counts[each.key] = folded.counts.get(each.key, 0) + 1
            standing = folded.latest.get(each.key, each.winner)
            folded.latest[each.key] = max(each.winner, standing, key=lambda winner: winner.sequence)
        if each.touched:
            folded.touched.add(each.key)


def _living(folded: Folded, reader: TableReader) -> Iterator[tuple[Winner, bool]]:
    if reader.keys:
        for key, winner in folded.winners.items():
            if winner.row is not None:
                yield winner, key in folded.touched
        return
    for image, count in folded.counts.items():
        for _ in range(count):
            yield folded.latest[image], image in folded.touched


def keyed_hold(history: TableHistory, position: Sequence, clash: NotKeyed) -> Hold:
    """Return the hold at the statement at `position`, which changed the key so that existing rows clash (`clash`)."""
    change = next(change for change in history.changes if change.position == position)
    return Hold(clash.code, clash.reason, position, change.part, change.statement, REMEDY_REBUILD)
