"""One round of a decision about a big window, with tasks: each task folds some ranges of the table's key hashes."""

from collections.abc import Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import pyarrow as pa

from retable.errors import BehindHorizon, TableError
from retable.fold.fold import Folded
from retable.fold.images import TableReader
from retable.gold.store import Exchange, NotHere, RowStore
from retable.model.row_event import RowEvent
from retable.model.sequence import LOWEST, Sequence, parse_sequence
from retable.replay.batch.ranges import BYTES_AT_ONCE, KeyRanges, ranges_of
from retable.replay.batch.row_batch import RemoteRows, Stretch, in_pieces
from retable.replay.events.key_share import NotParted, SpelledTwice
from retable.replay.events.related import late_events, other_halves
from retable.replay.events.shares import EVENTS_AT_ONCE, are_hashed
from retable.replay.table.folding import Outcome, Round
from retable.replay.table.hold_rules import lifted_from, ordering_hold_at
from retable.replay.table.horizon import check_key, retention_floor
from retable.replay.table.next_state import is_emptied
from retable.replay.table.replace import EventsMissed, first_failure
from retable.replay.table.table_replay import Change, LeftRows, TableReplay
from retable.replay.tasks.doubts import have_twice
from retable.replay.tasks.fold_task import FoldTask, TaskOutcome, first_cast
from retable.replay.tasks.halves import Met, meet
from retable.replay.tasks.links import with_links
from retable.replay.tasks.others import AreKeyedSo, Others
from retable.replay.tasks.spread import SpreadTask
from retable.replay.tasks.task_rows import InSilver, Plain, RangeRows, ReaderFacts, Spread
from retable.schema_history.history import TableHistory
from retable.schema_history.policies import casts_of
from retable.schema_history.shards.parts import shard_of, source_part

ROWS_A_TASK = 400_000
"""The largest number of rows of one task. A row that changes its key counts twice. Rows are in memory as columns."""


def check_in_tasks(work: TableReplay, reader: TableReader, window: str) -> None:
    """Raise NotParted if the rows cannot be divided among tasks, because a row depends on rows with other keys.

    `reader` reads rows by the table's schema.
    """
    rows = _sources(work)
    if len(rows) < len(work.batches) or any(each.has_partial_halves for each in rows):
        raise NotParted
    _check_apart(work, reader)
    if any(each.is_partial for each in rows) and (not reader.keys or any(each.has_halves for each in rows)):
        raise NotParted
    if not reader.keys and any(event.keys for event in work.events):
        raise NotParted


def _check_apart(work: TableReplay, reader: TableReader) -> None:
    """Raise NotParted if the result of a key depends on more than the events of this key and gold's row."""
    first = min(event.sequence for event in work.events)
    if _is_rekeyed_from(reader, first) or (reader.history.shards and _is_cast_from(reader, first)):
        raise NotParted
    if (floor := retention_floor(work.state, reader.history)) is None or work.state is None:
        return
    if reader.history.shards or work.has_all or any(floor.covers(event.part, event.sequence) for event in work.events):
        raise NotParted
    try:
        check_key(work.state, reader)
    except BehindHorizon as error:
        raise NotParted from error


def _is_rekeyed_from(reader: TableReader, position: Sequence) -> bool:
    """Return whether a statement at or after a position changes the key."""
    return any(position <= at for history in _histories(reader) for at in history.rekeyed)


def _is_cast_from(reader: TableReader, position: Sequence) -> bool:
    """Return whether a statement at or after a position changes a type so that values must be checked."""
    columns = [column for history in _histories(reader) for epoch in history.epochs for column in epoch.columns]
    return any(position <= at for at, _ in casts_of(columns))


def _histories(reader: TableReader) -> list[TableHistory]:
    return [reader.history, *(history for _, history in reader.history.parts())]


def _sources(work: TableReplay) -> list[RemoteRows]:
    return [batch.source for batch in work.batches if isinstance(batch.source, RemoteRows)]


def _since(work: TableReplay, window: str) -> Sequence | None:
    """Return the lowest sequence of a late row of the window; None if no row is late."""
    late = () if work.has_all else late_events(work, window)
    return min((event.sequence for event in late), default=None)


def _others(
    work: TableReplay, reader: TableReader, store: RowStore, window: str, joined: Seq[RowEvent], shard: str | None
) -> Others | None:
    """Return the reader of the other windows of a table; None if it is not needed.

    It is needed if rows of the window are late, or if other windows have halves of the window's updates (`joined`).
    Raise NotParted if messages of the other windows name other key columns.
    """
    since = min((each for each in (_since(work, window), *(e.sequence for e in joined)) if each), default=None)
    if work.state is None or since is None:
        return None
    of_parts, floor = any(each.is_partial for each in _sources(work)), retention_floor(work.state, reader.history)
    if of_parts:
        since = LOWEST
    if _is_rekeyed_from(reader, since) or _is_cast_from(reader, since) or (of_parts and floor is not None):
        raise NotParted
    until = work.windows[work.horizon]
    windows = [name for name in work.others if name <= until]
    rows = store.big_table(windows, work.claims.keys(), since)
    keys = work.events[0].keys or ()
    asked = [AreKeyedSo(piece, tuple(work.claims), keys, since) for piece in rows.pieces(store.slots())]
    if not all(store.run(asked)):
        raise NotParted
    return Others(
        window=rows,
        claims=work.claims,
        ordinals={name: work.ordinals[name] for name in windows},
        marks=work.state.high_water if shard is None else _marks_of(work.state.high_water, shard),
        again=window in work.state.applied,
        of_parts=of_parts,
        floor=floor,
        shard=shard,
    )


def _marks_of(high_water: Mapping[str, Sequence], shard: str) -> dict[str, Sequence]:
    """Return the high-water marks of one shard, by Kafka partition."""
    return {source_part(part) or "": mark for part, mark in high_water.items() if shard_of(part) == shard}


def fold_in_tasks(
    of: Round, parts: Seq[tuple[Round, Plain | None]], window: str, exchange: Exchange, left: set[str]
) -> Outcome:
    """Fold the rows of the round `of` by tasks, and return the joined result.

    `parts` has one round for each source table of the gold table, and how its rows are folded as columns (None: one by
    one). Add the names under which tasks wrote to the exchange to `left`, so that they can be removed. Raise NotParted
    if the rows must be folded in the driver.
    """
    try:
        evolved = of.evolve()
    except (EventsMissed, TableError) as failure:
        raise NotParted from failure
    foldings = [
        _Folding(of=part, evolved=evolved, plain=plain, window=window, exchange=exchange, left=left)
        for part, plain in parts
    ]
    try:
        found = _fold(of, foldings, [folding.by_key() for folding in foldings], left)
    except SpelledTwice:
        found = _fold(of, foldings, [folding.spread() for folding in foldings], left)
    return _joined(of, evolved, exchange, found)


def _fold(of: Round, foldings: "Seq[_Folding]", rows: Seq[RangeRows], left: set[str]) -> list[TaskOutcome]:
    """Let tasks fold the rows of each source table. Add the names of what tasks wrote to the exchange to `left`.

    Raise SpelledTwice if two tasks have the same key, because messages write it in two ways. Raise NotParted if a table
    without a key has different rows at one position.
    """
    tasks = [folding.tasks(mine) for folding, mine in zip(foldings, rows, strict=True)]
    # Tasks also fold some late rows one by one.
    are_long = any(task.plain is None or task.others is not None for mine in tasks for task in mine)
    found = of.rows.run([*chain.from_iterable(tasks)], are_long=are_long)
    left.update(name for each in found for name in each.names())
    if any(isinstance(each.failure, SpelledTwice) for each in found):
        raise SpelledTwice
    rest = iter(found)
    of_each = [(folding, [*islice(rest, len(mine))]) for folding, mine in zip(foldings, tasks, strict=True)]
    if any(folding.have_twice(mine, "keys") for folding, mine in of_each):
        raise SpelledTwice
    if any(each.failure is not None or each.folded.hold is not None or each.cast is not None for each in found):
        return found
    if any(folding.have_twice(mine, "places") for folding, mine in of_each):
        raise NotParted
    return found


def are_by_key(work: TableReplay, reader: TableReader) -> bool:
    """Return whether the key hashes in silver can divide the rows among tasks.

    They can if every row has a hash of the table's key columns, and no key column is a float. Keys that messages write
    in several ways, such as 1.5 and 1.50, are found later.
    """
    is_floating = any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns)
    return are_hashed(work, reader) and all(each.is_hashed for each in _sources(work)) and not is_floating


@dataclass(frozen=True, kw_only=True)
class _Folding:
    """Makes the tasks that fold the rows of one round, which are the rows of one source table."""

    of: Round
    evolved: Change
    plain: Plain | None
    window: str
    exchange: Exchange
    left: set[str]

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        return tuple(stretch for source in _sources(self.of.work) for stretch in source.stretches)

    @cached_property
    def ranges(self) -> tuple[KeyRanges, ...]:
        return tuple(_ranges(_sources(self.of.work), self.of.rows.slots(are_long=self.plain is None)))

    @cached_property
    def facts(self) -> ReaderFacts:
        reader = self.of.reader
        # The `cut` function of a history cannot be sent to a task, and tasks do not need it.
        history = replace(reader.history, cut=None)
        return ReaderFacts(history, reader.keys, reader.source_format, reader.rules, self.shard)

    @property
    def shard(self) -> str | None:
        return self.of.work.batches[0].shard

    @cached_property
    def ordinals(self) -> dict[str, int]:
        counted = (ordinal for source in _sources(self.of.work) for ordinal, _ in source.counts)
        return {self.of.work.windows[ordinal]: ordinal for ordinal in counted}

    def by_key(self) -> RangeRows:
        """Return the rows by the key hashes in silver. If these cannot divide the rows, let tasks divide them."""
        return InSilver(self.stretches) if are_by_key(self.of.work, self.of.reader) else self.spread()

    def spread(self) -> Spread:
        """Let tasks divide the rows by hashes of their typed key values. Raise NotParted if this is not possible."""
        store = self.of.rows
        tasks = [
            SpreadTask(
                stretches=piece,
                ranges=self.ranges,
                ordinals=self.ordinals,
                facts=self.facts,
                plain=self.plain,
                exchange=self.exchange,
            )
            for piece in in_pieces(self.stretches, len(self.ranges))
        ]
        found = store.run(tasks, are_long=self.plain is None)
        names = [name for name in found if name is not None]
        self.left.update(names)
        if len(names) < len(found):
            raise NotParted
        return Spread(self.exchange, tuple(names))

    def meet(self, rows: RangeRows) -> Met:
        """Let tasks match the halves of updates, and find the halves that are in other windows."""
        of, met = self.of, Met(exchange=self.exchange)
        if any(source.has_halves for source in _sources(of.work)):
            met = meet(of.rows, self.exchange, rows, self.ranges, self.plain, self.ordinals, self.shard, self.left)
        if of.work.state is None or of.work.mode == "rebuild":
            return met
        joined = [] if of.work.has_all else other_halves(of.work, {event.pair for event in met.alone})
        waiting = (parse_sequence(text)[:2] for text in of.work.state.pending)
        return replace(met, joined=tuple(joined), waiting=frozenset(waiting))

    def tasks(self, rows: RangeRows) -> list[FoldTask]:
        """Return the tasks that fold these rows, one for each group of key ranges."""
        of, table, met = self.of, self.of.table, self.meet(rows)
        others = _others(of.work, of.reader, of.rows, self.window, met.joined, self.shard)
        if others is not None and not isinstance(rows, InSilver):
            raise NotParted
        starts_empty = table.is_empty or of.work.replaces_all or is_emptied(of.work, of.reader.history)
        finder = None if starts_empty else of.rows.key_finder(of.work.gold)
        return [
            FoldTask(
                rows=rows,
                ranges=ranges,
                ordinals=self.ordinals,
                facts=self.facts,
                plain=self.plain,
                bounds=of.bounds,
                evolution=self.evolved.evolution,
                with_part=table.has_part(),
                finder=finder,
                exchange=self.exchange,
                others=others,
                met=met,
                owed=None if of.work.lifts_hold else self.evolved.debts,
                since=None if of.work.replaces_all else lifted_from(of.work),
            )
            for ranges in self._with_links(others)
        ]

    def _with_links(self, others: Others | None) -> Seq[KeyRanges]:
        """Return the ranges of the tasks, and one more for keys that must be folded together (`with_links`)."""
        sources = _sources(self.of.work)
        windows = [self.stretches] if any(source.links_keys for source in sources) else []
        if others is not None and others.of_parts:
            windows += [(Stretch(others.window, name),) for name in others.claims]
        return with_links(self.of.rows, self.ranges, windows) if windows else self.ranges

    def have_twice(self, found: Seq[TaskOutcome], what: str) -> bool:
        """Return whether two of the tasks have the same hash. `what` names the check, as in `TaskOutcome.doubts`."""
        names = [each.doubts[what] for each in found if what in each.doubts]
        return have_twice(self.of.rows, self.exchange, names, len(self.ranges))


def _joined(of: Round, evolved: Change, exchange: Exchange, found: Seq[TaskOutcome]) -> Outcome:
    """Join the results of tasks into the result of the round."""
    outcome = Outcome(folded=Folded(), evolved=evolved)
    if ordering_hold_at(of.work, of.reader.history, {place for each in found for place in each.places}) is not None:
        raise NotParted
    outcome.hold = first_cast(each.cast for each in found)
    if outcome.hold is not None:
        if any(isinstance(each.failure, NotParted | NotHere) for each in found):
            raise NotParted
        return outcome
    for each in found:
        if each.folded.hold is not None:
            outcome.stop(each.folded, [])
        if each.failure is not None:
            outcome.failure = first_failure(outcome.failure, each.failure)
        outcome.folded.add(each.folded)
    if outcome.hold is None and outcome.failure is None:
        outcome.left = _left_rows(exchange, found)
        if evolved.debts is not None:
            outcome.evolved = replace(evolved, debts=evolved.debts + sum(each.debts for each in found))
    return outcome


def _ranges(sources: Seq[RemoteRows], slots: int) -> list[KeyRanges]:
    """Return the key ranges of each task. A task folds its ranges one by one."""
    rows, nbytes = sum(each.num_rows + each.moved for each in sources), sum(each.nbytes for each in sources)
    shares = ranges_of(rows, nbytes, EVENTS_AT_ONCE)
    tasks = min(max(-(-rows // ROWS_A_TASK), -(-nbytes // BYTES_AT_ONCE)), shares)
    tasks = min(-(-tasks // slots) * slots, shares)
    each = -(-shares // tasks)
    return [KeyRanges(at * each, at * each + each, tasks * each) for at in range(tasks)]


def _left_rows(exchange: Exchange, found: Seq[TaskOutcome]) -> LeftRows | None:
    edges = [each.edges for each in found if each.edges is not None]
    if not edges:
        return None
    gone = {name: count for each in found for name, count in each.gone.items()}
    rows = {name: count for each in found for name, count in each.rows.items()}
    return LeftRows(exchange, gone, rows, pa.concat_tables(edges)) if gone or rows else None
