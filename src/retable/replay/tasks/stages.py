"""Fold the rows of a big table from before a change of its primary key, stage by stage.

A stage has the rows between two such changes. Tasks fold the rows of a stage by the key that the table had then, give
the rows that exist at its end their next key, and write them to the exchange for the tasks of the next stage.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.fold.bounds import Bounds
from retable.fold.fold import Folded, Winner
from retable.fold.images import TableReader
from retable.fold.key_changes import CarriedRow, NotKeyed, carry, keyed_hold, with_next_key
from retable.gold.rows import to_keys, to_table, to_values
from retable.gold.state import SEQUENCE_COLUMN
from retable.gold.store import Exchange
from retable.model.sequence import Sequence
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_kinds import Hashes
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import hashes_of
from retable.replay.events.key_share import NotParted, share
from retable.replay.events.shares import columns_of, key_of
from retable.replay.tasks.halves import Met
from retable.replay.tasks.outcome import TaskOutcome, first_stop
from retable.replay.tasks.task_rows import ReaderFacts, Spread, events_of, left_in_parts

_HASH = "hash"


@dataclass(frozen=True, slots=True)
class CarriedRows:
    """Rows that existed when the primary key changed, with their next key. Tasks wrote them to the exchange.

    `names` are the names there, with one part for each task of the next stage. `end` is the position of the change.
    """

    exchange: Exchange
    names: tuple[str, ...]
    end: Sequence

    def read(self, ranges: KeyRanges) -> pa.Table:
        """Return the rows whose key is in the ranges of a task, each with the hash of its key."""
        parts = [self.exchange.get(name, part) for name in self.names for part in ranges.own_parts]
        return pa.concat_tables([of_range(rows, ranges) for rows in parts])

    def add_to(self, outcome: TaskOutcome, rows: pa.Table, reader: TableReader) -> Folded:
        """Return a fold result in which `rows`, which `read` returned, exist under their next key.

        `reader` reads rows by this key. If two rows have the same next key, `outcome` gets a hold at the change of the
        key, unless it has an earlier one.
        """
        folded = Folded()
        try:
            carry(_carried(rows, reader), reader, folded)
        except NotKeyed as clash:
            outcome.stop = first_stop([outcome.stop, keyed_hold(reader.history, self.end, clash)])
        return folded


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTask:
    """A task that folds the rows of a stage in some ranges of key hashes. Calling it returns the result.

    A stage has the rows between two changes of the primary key; `stage` is its number, from 0. `rows` reads the rows of
    the stage, and `met` has the halves of updates whose other half is in another range. `carried` has the rows that
    existed before the stage; None in the first stage. In the result, `rows` names the rows that exist at the end of the
    stage, with their next key.
    """

    stage: int
    rows: Spread
    met: Met
    carried: CarriedRows | None
    ranges: KeyRanges
    ordinals: Mapping[str, int]
    facts: ReaderFacts
    bounds: Bounds
    exchange: Exchange

    def __call__(self) -> TaskOutcome:
        outcome, reader, after = TaskOutcome(), *self.facts.readers()[self.stage : self.stage + 2]
        rows, left = self.met.beside(self.rows.read(self.ranges, ()), self.ranges), [_to_table([], after)]
        before = None if self.carried is None else self.carried.read(self.ranges)
        for ranges in self.ranges.each():
            try:
                mine = rows.of(ranges)
                left.append(_to_table(self._left(ranges, mine, before, reader, after, outcome), after))
            except NotParted as failure:
                return TaskOutcome(failure=failure)
            except NotKeyed as clash:
                held = keyed_hold(reader.history, self.facts.former[self.stage].end, clash)
                outcome.stop = first_stop([outcome.stop, held])
        if outcome.stop is None and outcome.folded.hold is None:
            table = pa.concat_tables(left)
            name = left_in_parts(self.exchange, table, np.asarray(table[_HASH]), self.ranges)
            outcome.rows = {name: table.num_rows}
        return outcome

    def _left(
        self,
        ranges: KeyRanges,
        rows: pa.Table,
        before: pa.Table | None,
        reader: TableReader,
        after: TableReader,
        outcome: TaskOutcome,
    ) -> list[CarriedRow]:
        """Fold the keys of one range. Return the rows that exist at the end of the stage, with their next key."""
        events = events_of(rows, None, self.ordinals)
        over = Folded()
        if self.carried is not None and before is not None:
            over = self.carried.add_to(outcome, of_range(before, ranges), reader)
        mine = share(events, ranges.owns(hashes_of(rows)).tolist(), [], ranges.owns, over)
        folded = self.met.own_results(mine.fold_own(reader, self.bounds))
        if outcome.is_held_by(folded):
            return []
        outcome.folded.add(folded)
        return list(with_next_key(folded, reader, after))


def of_range(rows: pa.Table, ranges: KeyRanges) -> pa.Table:
    """Return those of the carried rows whose key is in these ranges."""
    return rows.filter(pa.array(ranges.owns(np.asarray(rows[_HASH]))))


def _to_table(rows: Seq[CarriedRow], after: TableReader) -> pa.Table:
    hashes: Hashes = typed_hashes(to_keys([each.key for each in rows], key_of(after)))
    winners = [(each.winner.row or (), each.winner) for each in rows]
    return to_table(winners, columns_of(after), with_part=True).append_column(_HASH, pa.array(hashes, pa.int64()))


def _carried(rows: pa.Table, reader: TableReader) -> list[CarriedRow]:
    sequences = rows[SEQUENCE_COLUMN].combine_chunks()
    epochs, his, los, parts = (pc.struct_field(sequences, name).to_pylist() for name in ("epoch", "hi", "lo", "part"))
    found = []
    values = to_values(rows.drop_columns([SEQUENCE_COLUMN, _HASH]))
    for row, epoch, hi, lo, part in zip(values, epochs, his, los, parts, strict=True):
        winner = Winner(sequence=Sequence(epoch, int(hi), lo), part=part, row=row)
        found.append(CarriedRow(reader.key_of(row) if reader.keys else row, winner, touched=True))
    return found
