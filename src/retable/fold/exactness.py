"""Check, for each change of a column's type, that it is known what the source made of the values of all rows."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from retable.fold.bounds import Bounds
from retable.fold.casts import Inexact
from retable.fold.fold import Folded, Values
from retable.fold.images import TableReader
from retable.fold.key_changes import KeyChange, fold_key_changes, former_key, key_changes_of
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.schema_history.history import Epoch, Hold, TableHistory
from retable.schema_history.policies import casts_of, hold_at, keyed_cast

REMEDY_INEXACT = (
    "give a statement to use instead: retable hold release TABLE --as 'ALTER ...' --reason ...; --skip leaves the "
    'type of the column as it was; or set on.type_change = "string" in the settings, so that such columns become text, '
    "then --retry"
)


def cast_hold(
    history: TableHistory, reader: TableReader, key_changes: list[KeyChange], events: Iterable[RowEvent]
) -> Hold | None:
    """Return the hold (stop of the table) at the first type change that Retable cannot apply, or None.

    Retable cannot apply a type change in two cases:

    - It may change values of a key column. In a table without a key, all columns count as key columns.
    - A row existed with a value, and it is not known what the source made of it: such as the text `12abc`, when its
      column became INT. Rows that are deleted later count, so the same events always result in the same hold.

    `events` are all row changes of the table. `reader` reads the events after the last change of the key. `key_changes`
    has the readers for the events before: one for each former key, the oldest first.
    """
    events = list(events)
    lived = [key_change for key_change in key_changes if any(event.sequence <= key_change.end for event in events)]
    keyed = keyed_cast(history, reader.keys, map(former_key, lived))
    if keyed is not None:
        history = history.until(keyed)

    def standing(at: Sequence, older: list[RowEvent]) -> Iterable[Values]:
        keyed = next((key_change.reader for key_change in key_changes if key_change.end >= at), reader)
        former = [former_key(key_change) for key_change in key_changes if key_change.end < at]
        then, bounds = reader_at(at, history, keyed)
        return rows_of(fold_key_changes(older, key_changes_of(former, then), then, bounds))

    return inexact_hold(history, events, standing) or keyed


def inexact_hold(
    history: TableHistory, events: list[RowEvent], standing: Callable[[Sequence, list[RowEvent]], Iterable[Values]]
) -> Hold | None:
    """Return the hold at the first type change that makes the value of an existing row unknown.

    An example is the text `12abc` in a column that becomes INT: it is not known what the source made of it. Return None
    if all values are known. `standing` is a function that takes the position of a type change, and the events before
    this position. It returns the rows that existed just before the change, with the columns that the table has after
    the change.
    """
    columns = (column for epoch in history.epochs for column in epoch.columns)
    for at in sorted({at for at, _ in casts_of(columns)}):
        older = [event for event in events if event.sequence < at]
        value = _changed(standing(at, older), at) if older else None
        if value is not None:
            return hold_at(history, at, "INEXACT_CAST", str(value), REMEDY_INEXACT)
    return None


def reader_at(at: Sequence, history: TableHistory, reader: TableReader) -> tuple[TableReader, Bounds]:
    """Return a reader for the rows before a type change, and the bounds that decide which of these rows count.

    `at` is the position of the statement that changed the type. `reader` has the key from before this statement. The
    returned reader has the same key, or none if a key column did not exist yet. Its rows have the columns that the
    table has after the statement.
    """
    there = replace(
        history,
        epochs=tuple(epoch for epoch in history.epochs if epoch.start is None or epoch.start <= at),
        truncations=tuple(truncated_at for truncated_at in history.truncations if truncated_at[0] < at),
        hold=None,
    )
    keys = _key_at(reader, there.final)
    then = TableReader(history=there, keys=keys, source_format=reader.source_format, rules=reader.rules)
    return then, Bounds(there.truncated_at, None, history.skipped)


def rows_of(folded: Folded) -> Iterable[Values]:
    """Yield the rows that exist after the events of a fold. In a table without a key, yield equal rows only once."""
    yield from (winner.row for winner in folded.winners.values() if winner.row is not None)
    yield from (row for row, count in folded.counts.items() if count > 0)


def _key_at(keyed: TableReader, epoch: Epoch) -> tuple[str, ...]:
    """Return the names that the key columns have in the epoch; empty if one of them did not exist yet."""
    names = {column.id: column.name for column in epoch.columns}
    key = [names.get(keyed.columns[at].id) for at in keyed.key_columns]
    return tuple(name for name in key if name is not None) if None not in key else ()


def _changed(rows: Iterable[Values], at: Sequence) -> Inexact | None:
    found = (value for row in rows for value in row if isinstance(value, Inexact) and value.at == at)
    return min(found, key=str, default=None)
