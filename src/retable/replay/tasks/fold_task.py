"""One replay task: fold the events of some ranges of key hashes (find the last row of each key), compare with gold.

The task writes the change to the exchange (files that pass rows between tasks).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from retable.errors import TableError
from retable.fold.bounds import Bounds
from retable.fold.images import TableReader
from retable.gold.evolve import Evolution
from retable.gold.iceberg.locate_rows import edges_of
from retable.gold.rows import to_keys, to_table
from retable.gold.store import Exchange, KeyFinder, NotHere
from retable.model.row_event import RowEvent, unpaired
from retable.model.sequence import Sequence
from retable.replay.batch.ranges import KeyRanges
from retable.replay.batch.row_kinds import Flags, Hashes
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import VectorizedRows, fold_vectorized, hashes_of, join_vectorized
from retable.replay.events.key_share import KeyShare, NotParted, OthersNeeded, share
from retable.replay.events.shares import columns_of, key_of, share_of, speak_of, touched_keys
from retable.replay.table.folding import of_other_parts, standing_rows
from retable.replay.table.hold_rules import schema_hold, touched_from
from retable.replay.table.replace import EventsMissed, first_failure, is_below, replace_bag, replace_keys
from retable.replay.tasks.doubts import may_be_spelled_otherwise
from retable.replay.tasks.halves import Met
from retable.replay.tasks.others import Others, event_hashes
from retable.replay.tasks.outcome import TaskOutcome, first_stop
from retable.replay.tasks.stages import CarriedRows, of_range
from retable.replay.tasks.task_rows import Plain, RangeRows, ReaderFacts, events_of, left_in_parts, not_read
from retable.schema_history.history import Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldTask:
    """A task that folds the rows of some ranges of key hashes (`ranges`). Calling it returns the result.

    - `rows` reads the rows, and `facts` has what is needed to interpret them.
    - `plain` says how rows are folded as columns. None: they are folded one by one.
    - `finder` finds gold's rows. None: gold counts as empty.
    - `others` reads other windows. They are needed if some rows are late (not newer than gold), or if an update has one
      half in another window. Otherwise `others` is None.
    - `met` has the halves of updates (updates in two messages) whose other half is in another range.
    - `owed`, in a table without a key, is the number of deletes for which no insert had come before the run. It is None
      in a run that lifts a hold, which counts all inserts and deletes again.
    - `since` is the position of a hold that the run lifts. Keys whose events are all below it stay as they are in gold.
      None: all keys are compared with gold.
    - `carried` has the rows that existed at the last change of the primary key. None: no such change is replayed.
    """

    rows: RangeRows
    ranges: KeyRanges
    ordinals: Mapping[str, int]
    facts: ReaderFacts
    plain: Plain | None
    bounds: Bounds
    evolution: Evolution
    with_part: bool
    finder: KeyFinder | None
    exchange: Exchange
    others: Others | None
    met: Met
    owed: int | None
    since: Sequence | None
    carried: CarriedRows | None = None

    def __call__(self) -> TaskOutcome:
        """Fold the ranges one by one, and write the changes to the exchange.

        After a failure or a hold, only search the remaining ranges for holds.
        """
        outcome, made, touched = TaskOutcome(), list[VectorizedRows](), list[pa.Table]()
        reader = self.facts.reader()
        rows = self.met.beside(self.rows.read(self.ranges, not_read(self.plain)), self.ranges)
        before = None if self.carried is None else self.carried.read(self.ranges)
        try:
            parted = self._parted(rows.rows, reader)
        except NotHere as failure:
            return TaskOutcome(failure=failure)
        for ranges in self.ranges.each():
            mine = rows.of(ranges)
            joined = self.met.stories(ranges)
            over = None if before is None else of_range(before, ranges)
            if not (mine.num_rows or joined or (over is not None and over.num_rows)):
                continue
            try:
                made += self._folded(mine, joined, over, parted, ranges, reader, outcome, touched)
            except (NotParted, NotHere, EventsMissed, TableError) as failure:
                outcome.failure = first_failure(outcome.failure, failure)
        is_stopped = outcome.folded.hold is not None or outcome.stop is not None
        if not is_stopped and outcome.failure is None and made:
            self._leave(outcome, join_vectorized(made))
        if touched and may_be_spelled_otherwise(reader):
            hashes = typed_hashes(pa.concat_tables(touched))
            outcome.hashes = left_in_parts(self.exchange, pa.table({"hash": hashes}), hashes, self.ranges)
        return outcome

    def _parted(self, rows: pa.Table, reader: TableReader) -> Hashes:
        """Return the hashes of keys for which gold has a row from another Kafka partition than the plain row.

        Raise NotHere if only Spark can find gold's rows.
        """
        if self.plain is None or not self.plain.parted or self.finder is None:
            return np.zeros(0, np.int64)
        return of_other_parts(self.finder, self.evolution, reader, rows, self.plain.wires)

    def _folded(
        self,
        rows: pa.Table,
        joined: list[RowEvent],
        over: pa.Table | None,
        parted: Hashes,
        ranges: KeyRanges,
        reader: TableReader,
        outcome: TaskOutcome,
        touched: list[pa.Table],
    ) -> Iterator[VectorizedRows]:
        """Fold the keys of a range, and add all keys of its events to `touched`.

        `joined` are both halves of updates that have one half in this window and one half in another window. `over` are
        carried rows. Keys with a hash in `parted` are folded one by one.
        """
        late, more = np.zeros(rows.num_rows, bool), list[RowEvent]()
        if self.others is not None:
            late = self.others.late(rows)
            if self.plain is not None:
                late = self.others.elsewhere(rows, late, ranges)
            late |= np.isin(hashes_of(rows), event_hashes(joined))
            if joined or late.any():
                more = self._more(rows, late, joined, ranges)
                outcome.places |= {(event.part, event.sequence.epoch) for event in more}
        if self.plain is None or not rows.num_rows:
            before = None
            if self.carried is not None and over is not None:
                before = self.carried.add_to(outcome, over, reader)
            mine = share(self._events(rows), ranges.owns(hashes_of(rows)).tolist(), more, ranges.owns, before)
        else:
            late |= speak_of(rows, parted)
            vectorized = fold_vectorized(
                rows,
                reader.of(self.facts.shard),
                self.plain.wires,
                self.with_part,
                shard=self.facts.shard,
                late=late,
                since=self.since,
                owns=ranges.owns,
            )
            outcome.folded.verdicts += vectorized.counted(self.ordinals)
            touched += [keys for keys in (vectorized.keys, vectorized.unchanged) if keys is not None]
            yield vectorized
            of_joined = event_hashes(joined)
            rest = np.union1d(vectorized.rest, of_joined[ranges.owns(of_joined)])
            mine = share_of(rows, rest, self._events, more)
        if more and not unpaired(mine.events) <= self.met.waiting_here():
            raise OthersNeeded("late rows need updates that come as two messages")
        if mine.events or mine.over is not None:
            yield from self._compared(mine, reader, outcome, touched)

    def _more(self, rows: pa.Table, late: Flags, joined: list[RowEvent], ranges: KeyRanges) -> list[RowEvent]:
        """Return the events of other windows that the late rows of a range and the `joined` halves need."""
        if self.others is None:
            raise OthersNeeded("some rows are late")
        here = {event.arrival for event in self._events(rows.filter(pa.array(late)))} if joined else set()
        others = self.others.of(rows.filter(pa.array(late)), joined, ranges)
        if any(event.partial and event.half is not None for event in others):
            raise OthersNeeded("late rows need updates in two messages that have only some columns")
        found = {event.arrival: event for event in [*others, *joined]}
        return [event for arrival, event in found.items() if arrival not in here]

    def _events(self, rows: pa.Table) -> list[RowEvent]:
        return events_of(rows, self.plain, self.ordinals, self.facts.shard)

    def _compared(
        self, mine: KeyShare, reader: TableReader, outcome: TaskOutcome, touched: list[pa.Table]
    ) -> Iterator[VectorizedRows]:
        outcome.stop = first_stop([outcome.stop, self._cast(mine, reader)])
        folded = mine.fold(reader, self.bounds)
        touched.append(touched_keys(folded, reader))
        if outcome.is_held_by(folded) or outcome.stop is not None:
            return
        outcome.folded.add(self.met.own_results(folded))
        if outcome.folded.hold is not None or outcome.failure is not None:
            return
        folded.touched = touched_from(folded, self.since)
        matching = None if self.finder is None else self.finder.matching
        standing = standing_rows(matching, self.evolution, reader, folded.touched)
        standing = [row for row in standing if not is_below(row, reader.history)]
        if reader.keys:
            replacement = replace_keys(folded, reader.key_columns, standing, complete=False)
        else:
            replacement = replace_bag(folded, standing, self.owed)
        outcome.debts += replacement.debts
        gone = to_keys(replacement.deletes, key_of(reader))
        yield VectorizedRows(gone, to_table(replacement.rows, columns_of(reader), self.with_part))

    def _cast(self, mine: KeyShare, reader: TableReader) -> Hold | None:
        try:
            return mine.cast_hold(reader)
        except TableError as error:
            return schema_hold(reader.history, error)

    def _leave(self, outcome: TaskOutcome, changes: VectorizedRows) -> None:
        outcome.rows, outcome.gone = self._put(changes.rows), self._put(changes.keys)
        outcome.edges = edges_of(changes.keys)

    def _put(self, rows: pa.Table) -> dict[str, int]:
        return {self.exchange.put([rows]): rows.num_rows} if rows.num_rows else {}
