"""One round of a decision about a table: fold its events (find the last row of each key), and compare with gold."""

from collections.abc import Callable, Collection
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace
from functools import partial, reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.errors import TableError
from retable.fold.bounds import Bounds
from retable.fold.fold import Folded, Values
from retable.fold.images import TableReader
from retable.fold.key_changes import KeyChange
from retable.gold.evolve import Evolution, RewriteNeeded
from retable.gold.iceberg.locate_rows import comparable
from retable.gold.store import Columns, CurrentRow, GoldTable, KeyFinder, NotHere, RowStore
from retable.model.row_event import RowEvent
from retable.replay.batch.row_kinds import Hashes
from retable.replay.batch.typed_columns import Wires
from retable.replay.batch.vectorized import hashes_of, read_keys
from retable.replay.events.related import owed
from retable.replay.events.shares import Gathered, touched_keys
from retable.replay.table.hold_rules import lifted_from, touched_from
from retable.replay.table.horizon import (
    UndecidedRows,
    check_key,
    count_accounted,
    retention_floor,
    settle,
    stopping,
)
from retable.replay.table.next_state import new_truncations
from retable.replay.table.replace import EventsMissed, Replacement, is_below, replace_bag, replace_keys
from retable.replay.table.rewriting import evolution_of
from retable.replay.table.table_replay import Change, LeftRows, TableReplay
from retable.schema_history.history import Hold


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The result of a round: the change of gold, or a hold that the events cause, or an error.

    - `folded`: the counts of all events. It does not have the last rows of keys.
    - `hold`: the hold with the lowest position; None if the events cause no hold.
    - `stopped_by`: the row that causes the hold, if a row and not a statement is the cause.
    - `late`: the events that caused the hold, if they are below the retention floor. Then the cause may only be that
      retention dropped earlier rows.
    - `failure`: the error; None if there is none. Of several errors, the most important one.
    - `evolved`: the change of gold's columns.
    - `replacement`: the change of gold's rows; None if there is none, or if tasks folded the rows.
    - `touched`: the keys that the events may change in gold, if they are the events of some keys only; otherwise None.
    - `left`: the change of gold's rows, if tasks folded the rows.
    """

    folded: Folded
    hold: Hold | None = None
    late: list[RowEvent] = field(default_factory=list)
    stopped_by: RowEvent | None = None
    failure: Exception | None = None
    evolved: Change | None = None
    replacement: Replacement | None = None
    touched: pa.Table | None = None
    left: LeftRows | None = None

    def stop(self, folded: Folded, late: list[RowEvent]) -> None:
        """Use the hold of `folded`, the fold of a group of keys, unless the present hold is of an earlier row.

        `late` are the rows that caused the new hold, if retention dropped rows before them.
        """
        by, before = folded.stopped_by, self.stopped_by
        if self.hold is None or (by is not None and before is not None and by.arrival < before.arrival):
            self.hold, self.late, self.stopped_by = folded.hold, late, by

    def change(self) -> Change:
        """Return the change of gold. Raise the failure, if there is one."""
        if self.failure is not None:
            raise self.failure
        assert self.evolved is not None
        change = replace(self.evolved, left=self.left)
        if self.replacement is None:
            return change
        debts = None if change.debts is None else change.debts + self.replacement.debts
        return replace(change, replacement=self.replacement, debts=debts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The inputs of one round: fold the events of a table, compare the result with gold, and return an `Outcome`.

    `found` has the events; `complete` is True if these are all events of the table. `reader` reads rows by the table's
    schema, `names` are the gold names of columns by identity, and `bounds` decides which rows count.
    """

    work: TableReplay
    table: GoldTable
    rows: RowStore
    reader: TableReader
    names: dict[str, str]
    key_changes: Seq[KeyChange]
    bounds: Bounds
    found: Gathered
    complete: bool

    def of_shards(self) -> "list[Round]":
        """Return one round for each source table of the gold table, with the rows of this source table."""
        labels = dict.fromkeys(batch.shard for batch in self.work.batches)
        return [replace(self, work=self.work.of_shard(label)) for label in labels]

    def fold(self) -> Outcome:
        """Fold the events, and compare the result with gold."""
        work, found, outcome = self.work, self.found, Outcome(folded=Folded())
        events = found.sample if found.share is None else found.share.events
        folded = found.fold(self.key_changes, self.reader, self.bounds)
        if folded.hold is not None:
            floor = retention_floor(work.state, self.reader.history)
            outcome.stop(folded, stopping(floor, folded.hold, events, self.bounds))
            return outcome
        count_accounted(folded, found.in_gold, self.bounds)
        if work.mode == "rewrite":
            folded.touched |= folded.winners.keys() | folded.counts.keys()
        elif work.lifts_hold:
            folded.touched = touched_from(folded, lifted_from(work))
        try:
            outcome.evolved = self.evolve()
            outcome.replacement = self._replacement(outcome.evolved, folded, events)
        except (RewriteNeeded, EventsMissed, UndecidedRows, TableError) as error:
            outcome.failure = error
        if found.share is not None:
            outcome.touched = touched_keys(folded, self.reader)
        outcome.folded.add(folded)
        return outcome

    def evolve(self) -> Change:
        """Return the change of gold's columns and the new truncation points, without any change of single rows."""
        evolution = evolution_of(self.work, self.table, self.reader, self.names)
        truncations = [] if self.table.is_empty else new_truncations(self.work, self.reader.history)
        defaults = self.reader.defaults if self.table.has_defaults() else {}
        change = Change(evolution, Replacement([], []), defaults, truncations)
        return change if self.reader.keys else replace(change, debts=self._owed(change) or 0)

    def _owed(self, change: Change) -> int | None:
        return None if self.complete else owed(self.work, self.reader.history, change.truncations)

    def _replacement(self, change: Change, folded: Folded, events: list[RowEvent]) -> Replacement:
        """Return which of gold's rows are deleted for the folded keys, and the new rows."""
        work, reader, standing = self.work, self.reader, list[CurrentRow]()
        if not work.replaces_all:
            matching = None if self.table.is_empty else partial(self.rows.matching, self.table.name)
            standing = standing_rows(matching, change.evolution, reader, folded.touched)
            standing = [row for row in standing if not is_below(row, reader.history)]
        if work.state is not None and (floor := retention_floor(work.state, reader.history)) is not None:
            check_key(work.state, reader)
            settle(floor, folded, events, standing, reader, self.bounds, work.state.pending)
        if reader.keys:
            return replace_keys(folded, reader.key_columns, standing, self.complete)
        return replace_bag(folded, standing, self._owed(change))


_KEYS_AT_ONCE = 50_000


def of_other_parts(
    finder: KeyFinder, evolution: Evolution, reader: TableReader, rows: pa.Table, wires: Wires
) -> Hashes:
    """Return the hashes of those keys in `rows` for which gold has a row from another Kafka partition.

    The sequences of the two rows then do not compare. Old keys of rows that change their key are searched for, too.
    `rows` are plain rows: whole rows with the same columns. `finder` finds gold's rows, and `evolution` is the change
    of gold's columns. `reader` reads rows by the table's schema. `wires` has each column's name and type in the
    messages. Raise NotHere if only Spark can find gold's rows.
    """
    final, added = reader.history.final.columns, {column.id for _, column in evolution.adds}
    if not rows.num_rows or any(final[at].id in added for at in reader.key_columns):
        return np.zeros(0, np.int64)
    starts = range(0, rows.num_rows, _KEYS_AT_ONCE)
    spoken = pa.concat_tables([_spoken(rows.slice(start, _KEYS_AT_ONCE), reader, wires) for start in starts])
    names = [str(at) for at in reader.key_columns]
    columns = [(evolution.physical[at], final[at].type) for at in reader.key_columns]
    found = comparable(finder.parts(columns, spoken.select(names))).rename_columns([*names, "in_gold"])
    joined = comparable(spoken).join(found, names, join_type="inner")
    differ = pc.not_equal(pc.fill_null(joined["part"], ""), pc.fill_null(joined["in_gold"], ""))
    return np.unique(np.asarray(joined["hash"].filter(differ)))


def are_of_other_parts(
    store: RowStore, table: GoldTable, evolution: Evolution, reader: TableReader, rows: pa.Table, wires: Wires
) -> bool:
    """Return whether gold has a row with a key of `rows` that came from another Kafka partition than the row in `rows`.

    Return True also if only Spark could find this out. `store` finds the rows of the gold table `table`. The other
    parameters are those of `of_other_parts`.
    """
    try:
        return not table.is_empty and bool(
            of_other_parts(store.key_finder(table.name), evolution, reader, rows, wires).size
        )
    except NotHere:
        return True


def _spoken(rows: pa.Table, reader: TableReader, wires: Wires) -> pa.Table:
    """Return the new and old keys of plain rows, each with its hash and the Kafka partition of its row."""
    keys, moved, left = read_keys(rows, reader, wires)
    mine = keys.append_column("hash", pa.array(hashes_of(rows))).append_column("part", rows["part"])
    old, part = hashes_of(rows, "old_key_hash")[moved], rows["part"].take(pa.array(moved))
    theirs = left.append_column("hash", pa.array(old)).append_column("part", part)
    told = pa.concat_tables([mine, theirs])
    return told.filter(reduce(pc.and_, (pc.is_valid(told[str(at)]) for at in reader.key_columns)))


Matching = Callable[[Columns, list[int], list[Values]], list[CurrentRow]]
"""Returns gold's rows with given values in given columns (`RowStore.matching`)."""


def standing_rows(
    matching: Matching | None, evolution: Evolution, reader: TableReader, touched: Collection[tuple[object, ...]]
) -> list[CurrentRow]:
    """Return gold's present rows of the keys `touched`, as rows of the final schema. A new column has its default.

    `matching` finds gold's rows by key; it is None if gold has no rows. `evolution` is the change of gold's columns. In
    a table without a key, `touched` has whole rows.
    """
    final = reader.history.final.columns
    added = {column.id for _, column in evolution.adds}
    here = [index for index, column in enumerate(final) if column.id not in added]
    on = reader.key_columns or here
    if matching is None or not touched or not set(on) <= set(here) or not here:
        return []
    columns = [(evolution.physical[index], final[index].type) for index in here]
    keys = [key if reader.keys else tuple(key[index] for index in here) for key in touched]
    found = []
    for row in matching(columns, [here.index(index) for index in on], keys):
        values: list[object] = [reader.defaults[column.id] for column in final]
        for index, value in zip(here, row.values, strict=True):
            values[index] = value
        found.append(replace(row, values=tuple(values)))
    return found


def has_others(matching: Matching | None, evolution: Evolution, reader: TableReader, folded: Folded) -> bool:
    """Return whether gold may have another row under some key than the row that an update moved away from this key.

    For example, an update moves a row from key 1 to key 2, and its before image differs from gold's row of key 1. Then
    events of key 1 may be missing in `folded`. `matching` finds gold's rows by key; it is None if gold has no rows.
    `evolution` is the change of gold's columns.
    """
    ends = [(key, folded.winners[key]) for key in folded.touched]
    left = {key for key, end in ends if end.row is None and (end.may_be_over or end.leaving_row is not None)}
    standing = standing_rows(matching, evolution, reader, left) if left else []
    return any(folded.winners[reader.key_of(row.values)].took_another(row.values) for row in standing)
