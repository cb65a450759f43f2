"""One task of a replay: some ranges of a table's keys are folded, compared with gold, and left as columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import TableError
from retable.fold.fold import Bounds, Folded
from retable.fold.images import TableReader
from retable.gold.evolve import Evolution
from retable.gold.iceberg.locate_rows import edges_of
from retable.gold.rows import to_keys, to_table
from retable.gold.store import Exchange, KeyFinder, NotHere
from retable.model.row_event import RowEvent
from retable.replay.batch.ranges import KeyRanges, range_numbers
from retable.replay.batch.row_batch import to_events
from retable.replay.batch.typed_hashes import typed_hashes
from retable.replay.batch.vectorized import VectorizedRows, fold_vectorized, hashes_of, join_vectorized
from retable.replay.events.shares import KeyShare, NotParted, columns_of, key_of, share, share_of, touched_keys
from retable.replay.table.folding import standing_rows
from retable.replay.table.replace import EventsMissed, is_below, replace_bag, replace_keys
from retable.replay.tasks.doubts import may_be_spelled_otherwise, rows_by_place
from retable.replay.tasks.others import Others
from retable.replay.tasks.task_rows import Plain, RangeRows, ReaderFacts, not_read

Failure = NotParted | NotHere | EventsMissed | TableError


@dataclass(slots=True)
class TaskOutcome:
    """What a task found: what is counted of its events, or the hold that stops it, or why it came to nothing.

    `gone` and `rows` are the names under which it left the keys whose rows go and the rows that come, with their
    numbers, `doubts` those under which it left what is compared with other tasks. `edges` are those of
    `RemoteChange`, `debts` those of its rows. `places` are the partitions, each with a source epoch, from which events
    of other windows came.
    """

    folded: Folded = field(default_factory=Folded)
    failure: Failure | None = None
    gone: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    debts: int = 0
    edges: pa.Table | None = None
    places: set[tuple[str | None, int]] = field(default_factory=set)

    def names(self) -> set[str]:
        return {*self.gone, *self.rows, *self.doubts.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldTask:
    """What a task goes by. Where rows are `plain` they are vectorized; without a `finder` gold is empty.

    `others` are other windows, where some rows are late. `owed` are the debts that gold has, of a table without a key.
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
    owed: int | None

    def __call__(self) -> TaskOutcome:
        """Fold one range after the other; what one fails for, or a hold, leaves the others to be searched for holds."""
        outcome, made, all_touched = TaskOutcome(), list[VectorizedRows](), list[pa.Table]()
        reader = self.facts.reader()
        rows = self.rows.read(self.ranges, not_read(self.plain))
        for ranges in self.ranges.each():
            mine = rows.filter(pa.array(ranges.speak_of(rows)))
            if not mine.num_rows:
                continue
            try:
                for changes, touched in self._folded(mine, ranges, reader, outcome):
                    made.append(changes)
                    all_touched.append(touched)
            except (NotParted, NotHere, EventsMissed, TableError) as failure:
                outcome.failure = outcome.failure or failure
        if outcome.folded.hold is None and outcome.failure is None and made:
            self._leave(outcome, join_vectorized(made))
            self._doubt(outcome, reader, rows, pa.concat_tables(all_touched))
        return outcome

    def _folded(
        self, rows: pa.Table, ranges: KeyRanges, reader: TableReader, outcome: TaskOutcome
    ) -> Iterator[tuple[VectorizedRows, pa.Table]]:
        """What becomes of the keys of a range, and all keys that were spoken of."""
        late = None if self.others is None else self.others.late(rows)
        more: list[RowEvent] = []
        if self.others is not None and late is not None and late.any():
            if pc.any(rows["partial_after"]).as_py():
                raise NotParted
            more = self.others.of(rows.filter(pa.array(late)), ranges)
            outcome.places |= {(event.part, event.sequence.epoch) for event in more}
        if self.plain is None:
            events = to_events(rows, self.ordinals)
            mine = share(events, ranges.owns(hashes_of(rows)).tolist(), more, ranges.owns)
        else:
            vectorized = fold_vectorized(rows, reader, self.plain.wire, self.with_part, late=late, owns=ranges.owns)
            for verdict, count in vectorized.verdicts.items():
                outcome.folded.verdicts[self.ordinals[rows["window"][0].as_py()], verdict] += count
            yield vectorized, vectorized.keys
            mine = share_of(rows, vectorized.rest, self._plain_events, more)
        if mine.events:
            yield from self._compared(mine, reader, outcome)

    def _plain_events(self, rows: pa.Table) -> list[RowEvent]:
        assert self.plain is not None
        return to_events(self.plain.of(rows), self.ordinals)

    def _compared(
        self, mine: KeyShare, reader: TableReader, outcome: TaskOutcome
    ) -> Iterator[tuple[VectorizedRows, pa.Table]]:
        folded = mine.fold(reader, self.bounds)
        if folded.hold is not None:
            by, before = folded.stopped_by, outcome.folded.stopped_by
            if before is None or (by is not None and by.arrival < before.arrival):
                outcome.folded.hold, outcome.folded.stopped_by = folded.hold, by
            return
        outcome.folded.add(folded)
        if outcome.folded.hold is not None or outcome.failure is not None:
            return
        matching = None if self.finder is None else self.finder.matching
        standing = standing_rows(matching, self.evolution, reader, folded.touched)
        standing = [row for row in standing if not is_below(row, reader.history)]
        if reader.keys:
            replacement = replace_keys(folded, reader.key_columns, standing, complete=False)
        else:
            replacement = replace_bag(folded, standing, self.owed)
        outcome.debts += replacement.debts
        gone = to_keys(replacement.deletes, key_of(reader))
        yield (
            VectorizedRows(gone, to_table(replacement.rows, columns_of(reader), self.with_part)),
            touched_keys(folded, reader),
        )

    def _leave(self, outcome: TaskOutcome, changes: VectorizedRows) -> None:
        outcome.rows, outcome.gone = self._put(changes.rows), self._put(changes.keys)
        outcome.edges = edges_of(changes.keys)

    def _doubt(self, outcome: TaskOutcome, reader: TableReader, rows: pa.Table, touched: pa.Table) -> None:
        """Leave what other tasks must not have, too."""
        if may_be_spelled_otherwise(reader):
            outcome.doubts["keys"] = self._parted(pa.table({"hash": typed_hashes(touched)}))
        if not reader.keys:
            mine = rows.filter(pa.array(self.ranges.owns(hashes_of(rows))))
            outcome.doubts["places"] = self._parted(rows_by_place(mine))

    def _parted(self, hashed: pa.Table) -> str:
        """Leave rows by their hash, in as many parts as there are tasks."""
        count = self.ranges.count // (self.ranges.end - self.ranges.first)
        numbers = range_numbers(np.asarray(hashed["hash"]), count)
        return self.exchange.put(*(hashed.filter(pa.array(numbers == at)) for at in range(count)))

    def _put(self, rows: pa.Table) -> dict[str, int]:
        return {self.exchange.put(rows): rows.num_rows} if rows.num_rows else {}
