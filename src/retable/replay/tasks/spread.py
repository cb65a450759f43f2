"""Divide the rows of a big window among tasks by hashes of their typed key values.

Silver sorts rows by a hash of their keys as the messages write them. This hash does not find all rows of a key if
messages write the key in two ways, such as 1.5 and 1.50, or if the settings name other key columns.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import MessageError, TableError
from retable.fold.images import TableReader
from retable.gold.rows import to_keys
from retable.gold.store import Exchange
from retable.model.row_event import RowEvent
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_batch import Stretch, read_stretches, stretches_of, to_events
from retable.replay.batch.row_kinds import Hashes
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of, read_keys
from retable.replay.events.shares import key_of
from retable.replay.tasks.links import linked_by
from retable.replay.tasks.task_rows import Plain, ReaderFacts, not_read

_ROWS_AT_ONCE = 25_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadTask:
    """A task that reads rows of silver (`stretches`) and writes them to the exchange, one part for each of `ranges`.

    Calling it returns the names in the exchange, one for each stage: the rows from before each change of the primary
    key, and those after the last one. With each name come the hashes of the keys that these rows link (`linked_by`).
    """

    stretches: tuple[Stretch, ...]
    ranges: tuple[KeyRanges, ...]
    ordinals: Mapping[str, int]
    facts: ReaderFacts
    plain: Plain | None
    exchange: Exchange

    def __call__(self) -> list[tuple[str, Hashes]]:
        found, readers, stages = list[tuple[str, Hashes]](), self.facts.readers(), self._stages()
        for reader in readers:
            hashed = self._hashed(stages.pop(0), reader)
            name = self.exchange.put(hashed.filter(pa.array(each.speak_of(hashed))) for each in self.ranges)
            found.append((name, linked_by(hashed)))
        return found

    def _stages(self) -> list[pa.Table]:
        """Read the rows of each stage. The rows are in memory once, or twice while they are divided."""
        rows = read_stretches(self.stretches, without=not_read(self.plain))
        if not self.facts.former:
            return [rows]
        # Of two numbers, one is of the rows below a statement, the other of rows at its position.
        stages = stretches_of(rows, [key.end for key in self.facts.former]) // 2
        return [rows.filter(pa.array(stages == number)) for number in range(len(self.facts.former) + 1)]

    def _hashed(self, rows: pa.Table, reader: TableReader) -> pa.Table:
        hashed = [rows.slice(0, 0)]
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            some = rows.slice(start, _ROWS_AT_ONCE)
            hashed.append(_with_hashes(some, *self._hashes(some, reader)))
        return pa.concat_tables(hashed)

    def _hashes(self, rows: pa.Table, reader: TableReader) -> tuple[Hashes, pa.Array]:
        """Return the hashes of the typed keys of rows, and of the old keys of rows that change their key.

        A row that cannot be read keeps the hashes of silver, because it does not change the row of any key.
        """
        if self.plain is not None:
            shard = self.facts.shard
            return _of_columns(rows, *read_keys(rows, reader.of(shard), self.plain.wires, shard))
        return _of_events(rows, reader, to_events(rows, self.ordinals, self.facts.shard))


def _of_columns(rows: pa.Table, keys: pa.Table, moved: Hashes, left: pa.Table) -> tuple[Hashes, pa.Array]:
    new, old = hashes_of(rows).copy(), hashes_of(rows, "old_key_hash").copy()
    told = _all_there(keys)
    new[told] = typed_hashes(keys.filter(pa.array(told)))
    told = _all_there(left)
    old[moved[told]] = typed_hashes(left.filter(pa.array(told)))
    is_moved = np.zeros(rows.num_rows, bool)
    is_moved[moved] = True
    return new, pa.array(old, pa.int64(), mask=~is_moved | (new == old))


def _all_there(keys: pa.Table) -> np.ndarray:
    found = np.ones(keys.num_rows, bool)
    for column in keys.columns:
        found &= np.asarray(pc.is_valid(column))
    return found


def _of_events(rows: pa.Table, reader: TableReader, events: Seq[RowEvent]) -> tuple[Hashes, pa.Array]:
    new, old = hashes_of(rows).copy(), hashes_of(rows, "old_key_hash").copy()
    has_left = np.asarray(pc.is_valid(rows["old_key_hash"])).copy()
    keys, left = dict[int, tuple[object, ...]](), dict[int, tuple[object, ...]]()
    for at, event in enumerate(events):
        try:
            action = reader.read(event)
        except (MessageError, TableError):
            continue
        comes = action.key if reader.keys else action.row
        has_left[at] = comes is not None and action.gone is not None
        if comes is not None and action.gone is not None:
            left[at] = action.gone
        if (key := action.gone if comes is None else comes) is not None:
            keys[at] = key
    for found, mine in ((new, keys), (old, left)):
        found[[*mine]] = typed_hashes(to_keys([*mine.values()], key_of(reader)))
    return new, pa.array(old, pa.int64(), mask=~has_left | (new == old))


def _with_hashes(rows: pa.Table, new: Hashes, old: pa.Array) -> pa.Table:
    for name, hashes in (("key_hash", pa.array(new)), ("old_key_hash", old)):
        rows = rows.set_column(rows.column_names.index(name), rows.schema.field(name), hashes)
    return rows
