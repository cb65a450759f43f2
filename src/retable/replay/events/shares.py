"""The events from which a table's change is made, and shares of them: some keys with all their rows."""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.bounds import Bounds
from retable.fold.fold import Folded
from retable.fold.images import TableReader
from retable.fold.key_changes import KeyChange, fold_key_changes
from retable.gold.rows import to_keys
from retable.model.row_event import RowEvent
from retable.model.schema import GoldType
from retable.replay.batch.row_batch import RowBatch
from retable.replay.batch.row_kinds import Flags, Hashes
from retable.replay.batch.vectorized import hashes_of
from retable.replay.events.key_share import KeyShare, NotParted, share
from retable.replay.table.horizon import retention_floor
from retable.replay.table.table_replay import TableReplay
from retable.schema_history.policies import casts_of

EVENTS_AT_ONCE = 100_000
"""The largest number of rows of a table that are folded at once, in the driver or in a task."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """The events from which the change of a table is made.

    `sample` are all events or, if tasks read and fold the events (`in_tasks`), some events that represent all events.
    `in_gold` are events that gold already has. `share` has the events if they are of some keys only; otherwise None.
    """

    sample: list[RowEvent]
    in_gold: list[RowEvent] = field(default_factory=list)
    share: KeyShare | None = None
    in_tasks: bool = False

    def fold(self, key_changes: Seq[KeyChange], reader: TableReader, bounds: Bounds) -> Folded:
        """Fold the events to the last state of each key.

        `key_changes` has readers for the former keys of the table. `bounds` decides which events count.
        """
        if self.share is not None:
            return self.share.fold(reader, bounds)
        return fold_key_changes(self.sample, key_changes, reader, bounds)


def touched_keys(folded: Folded, reader: TableReader) -> pa.Table:
    """Return the keys (or rows, without a key) that the fold may change in gold. Columns are named by their index."""
    return to_keys([*folded.touched], key_of(reader))


def key_of(reader: TableReader) -> list[tuple[str, GoldType]]:
    """Return the index, as text, and the type of each key column or, in a table without a key, of each column."""
    columns = columns_of(reader)
    return [columns[at] for at in reader.key_columns] or columns


def columns_of(reader: TableReader) -> list[tuple[str, GoldType]]:
    """Return the index in `reader.columns`, as text, and the type of each column."""
    return [(str(at), column.type) for at, column in enumerate(reader.columns)]


def check_parted(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if the hash of a key may not find all events on which the last state of the key depends."""
    history = reader.history
    columns = [column for epoch in history.epochs for column in epoch.columns]
    depends = history.shards or history.rekeyed or any(casts_of(columns)) or retention_floor(work.state, history)
    if work.mode not in ("replay", "rebuild") or depends or not are_hashed(work, reader):
        raise NotParted


def are_hashed(work: TableReplay, reader: TableReader) -> bool:
    """Return whether silver has the hash of each key or, in a table without a key, of all values of each row."""
    return work.hashed if reader.keys else not any(event.keys or event.partial for event in work.events)


def is_much(batch: RowBatch, hashes: Hashes) -> bool:
    """Return whether the keys with these hashes have too many rows in the batch to make events of all these rows."""
    return bool(speak_of(batch.rows, hashes).sum() > EVENTS_AT_ONCE)


def share_of(
    rows: pa.Table,
    hashes: Hashes,
    events_of: Callable[[pa.Table], list[RowEvent]],
    more: Seq[RowEvent] = (),
) -> KeyShare:
    """Return the keys with these hashes, and all their events, as a share.

    `rows` are all rows of the table in the window. `events_of` converts rows to events. `more` are events of the same
    keys in other windows.
    """
    rows = rows.filter(pa.array(speak_of(rows, hashes)))
    are_home = np.isin(hashes_of(rows), hashes).tolist()
    return share(events_of(rows), are_home, [*more], lambda found: np.isin(found, hashes))


def speak_of(rows: pa.Table, hashes: Hashes) -> Flags:
    """Return True for each row if its key has one of these hashes, or if its old key has one of them.

    Only a row that changed its key has an old key.
    """
    left = np.asarray(pc.is_valid(rows["old_key_hash"])) & np.isin(hashes_of(rows, "old_key_hash"), hashes)
    return np.isin(hashes_of(rows), hashes) | left
