"""Decide whether tasks can fold the rows of a table, or whether rows with different keys depend on each other."""

from retable.errors import BehindHorizon
from retable.fold.images import TableReader
from retable.model.sequence import LOWEST, Sequence
from retable.replay.batch.row_batch import RemoteRows
from retable.replay.events.key_share import NotParted
from retable.replay.table.horizon import check_key, retention_floor
from retable.replay.table.table_replay import TableReplay
from retable.schema_history.history import TableHistory
from retable.schema_history.policies import casts_of

FEW_ROWS = 150_000
"""Up to this number of rows with a change of the key, the driver folds the rows with less work than tasks: tasks divide
all rows again for each key."""


def check_in_tasks(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if the rows cannot be divided among tasks, because a row depends on rows with other keys.

    `reader` reads rows by the table's schema.
    """
    _check_apart(work, reader)
    if not reader.keys and any(each.is_partial for each in sources_of(work)):
        raise NotParted("some rows have only some columns, and it has no key")
    if not reader.keys and any(event.keys for event in work.events):
        raise NotParted("it has no key, but messages name one")


def _check_apart(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if the result of a key depends on more than the events of this key and gold's row."""
    first = min(event.sequence for event in work.events)
    if is_rekeyed_from(reader, first) and (reason := _why_not_staged(work, reader)):
        raise NotParted(f"its primary key changes, and {reason}")
    if reader.history.shards and is_cast_from(reader, first):
        raise NotParted("several source tables go into it, and a type change may lose a part of a value")
    if (floor := retention_floor(work.state, reader.history)) is None or work.state is None:
        return
    if reader.history.shards or work.has_all or any(floor.covers(event.part, event.sequence) for event in work.events):
        raise NotParted("some rows are below what retention removed from silver")
    try:
        check_key(work.state, reader)
    except BehindHorizon as error:
        raise NotParted(str(error)) from error


def _why_not_staged(work: TableReplay, reader: TableReader) -> str | None:
    """Return why tasks do not fold the rows from before a change of the key; None if they do."""
    if sum(each.num_rows for each in sources_of(work)) <= FEW_ROWS:
        return "its rows are few"
    if reader.history.shards:
        return "several source tables go into it"
    return "a type change may lose a part of a value" if is_cast_from(reader, LOWEST) else None


def is_rekeyed_from(reader: TableReader, position: Sequence) -> bool:
    """Return whether a statement at or after a position changes the key."""
    return any(position <= at for history in _histories(reader) for at in history.rekeyed)


def is_cast_from(reader: TableReader, position: Sequence) -> bool:
    """Return whether a statement at or after a position changes a type so that values must be checked."""
    columns = [column for history in _histories(reader) for epoch in history.epochs for column in epoch.columns]
    return any(position <= at for at, _ in casts_of(columns))


def _histories(reader: TableReader) -> list[TableHistory]:
    return [reader.history, *(history for _, history in reader.history.parts())]


def sources_of(work: TableReplay) -> list[RemoteRows]:
    return [batch.source for batch in work.batches if isinstance(batch.source, RemoteRows)]
