"""One round of a decision about a big window, with tasks: each task folds some ranges of the table's key hashes."""

from collections.abc import Sequence as Seq
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice

import pyarrow as pa

from retable.errors import TableError
from retable.fold.fold import Folded
from retable.fold.images import TableReader
from retable.fold.key_changes import FormerKey, former_key
from retable.gold.evolve import RewriteNeeded
from retable.gold.store import Exchange, NotHere
from retable.model.sequence import LOWEST, parse_sequence
from retable.replay.batch.ranges import BYTES_AT_ONCE, KeyRanges, ranges_of
from retable.replay.batch.row_batch import RemoteRows, Stretch, in_pieces
from retable.replay.batch.row_kinds import Hashes
from retable.replay.events.key_share import NotParted, OthersNeeded, SpelledTwice
from retable.replay.events.related import other_halves
from retable.replay.events.shares import EVENTS_AT_ONCE, are_hashed
from retable.replay.table.folding import Outcome, Round
from retable.replay.table.hold_rules import lifted_from, ordering_hold_at
from retable.replay.table.next_state import is_emptied
from retable.replay.table.replace import EventsMissed, first_failure
from retable.replay.table.table_replay import Change, LeftRows, TableReplay
from retable.replay.tasks.apart import is_rekeyed_from, sources_of
from retable.replay.tasks.doubts import have_twice
from retable.replay.tasks.fold_task import FoldTask
from retable.replay.tasks.halves import Met, check_keys_stay, meet
from retable.replay.tasks.links import all_linked, linked_in, with_links
from retable.replay.tasks.others import Others, others_of
from retable.replay.tasks.outcome import TaskOutcome, first_stop
from retable.replay.tasks.spread import SpreadTask
from retable.replay.tasks.stages import CarriedRows, StageTask
from retable.replay.tasks.task_rows import InSilver, Plain, RangeRows, ReaderFacts, Spread
from retable.schema_history.history import Hold

ROWS_A_TASK = 400_000
"""The largest number of rows of one task. A row that changes its key counts twice. Rows are in memory as columns."""
EVENTS_IN_TASK = 25_000
"""The largest number of rows that a task folds one by one at a time, because as objects they take about 10 kB each.

It is also the limit for all rows of a small table. Its tasks may run in the driver, whose memory grows with these rows.
"""


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
        raise NotParted(str(failure)) from failure
    foldings = [
        _Folding(of=part, evolved=evolved, plain=plain, window=window, exchange=exchange, left=left)
        for part, plain in parts
    ]
    if of.key_changes and is_rekeyed_from(of.reader, min(event.sequence for event in of.work.events)):
        found = _fold_stages(of, foldings[0], left)
        return _joined(of, evolved, exchange, found)
    try:
        found = _fold(of, foldings, [folding.by_key() for folding in foldings], left)
    except SpelledTwice:
        found = _fold(of, foldings, [folding.spread()[-1] for folding in foldings], left)
    return _joined(of, evolved, exchange, found)


def _fold_stages(of: Round, folding: "_Folding", left: set[str]) -> list[TaskOutcome]:
    """Let tasks fold the rows from before each change of the key, and then the others. Return the results of all tasks.

    A stage whose rows hold the table is the last one. Raise RewriteNeeded or OthersNeeded if this run does not replace
    all of gold's rows, because stages start without rows. Raise NotParted if the rows must be folded in the driver.
    """
    if not (of.work.replaces_all or of.work.state is None):
        if of.work.has_all:
            raise RewriteNeeded("its primary key changed")
        raise OthersNeeded("its primary key changes")
    folding = replace(folding, former=tuple(map(former_key, of.key_changes)))
    spread, carried, found = folding.spread(), None, list[TaskOutcome]()
    for number, key in enumerate(folding.former):
        tasks = folding.stages(number, spread[number], carried)
        made = of.rows.run(tasks, are_long=True)
        left.update(name for each in made for name in each.names())
        if any(each.failure is not None for each in made):
            raise NotParted(str(next(each.failure for each in made if each.failure is not None)))
        carried = CarriedRows(folding.exchange, tuple(name for each in made for name in each.rows), key.end)
        found += [replace(each, rows={}) for each in made]
        if any(each.folded.hold is not None or each.stop is not None for each in made):
            return found
    return [*found, *_fold(of, [replace(folding, carried=carried)], [spread[-1]], left)]


def _fold(of: Round, foldings: "Seq[_Folding]", rows: Seq[RangeRows], left: set[str]) -> list[TaskOutcome]:
    """Let tasks fold the rows of each source table. Add the names of what tasks wrote to the exchange to `left`.

    Raise SpelledTwice if two tasks have the same key, because messages write it in two ways.
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
    if any(folding.have_twice(mine) for folding, mine in of_each):
        raise SpelledTwice
    return found


def are_by_key(work: TableReplay, reader: TableReader) -> bool:
    """Return whether the key hashes in silver can divide the rows among tasks.

    They can if every row has a hash of the table's key columns, and no key column is a float. Keys that messages write
    in several ways, such as 1.5 and 1.50, are found later.
    """
    is_floating = any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns)
    return are_hashed(work, reader) and all(each.is_hashed for each in sources_of(work)) and not is_floating


@dataclass(frozen=True, kw_only=True)
class _Folding:
    """Makes the tasks that fold the rows of one round, which are the rows of one source table."""

    of: Round
    evolved: Change
    plain: Plain | None
    window: str
    exchange: Exchange
    left: set[str]
    former: tuple[FormerKey, ...] = ()
    carried: CarriedRows | None = None

    @cached_property
    def stretches(self) -> tuple[Stretch, ...]:
        return tuple(stretch for source in sources_of(self.of.work) for stretch in source.stretches)

    @cached_property
    def ranges(self) -> tuple[KeyRanges, ...]:
        are_long = self.plain is None or bool(self.former)
        return tuple(_ranges(sources_of(self.of.work), self.of.rows.slots(are_long), are_long))

    @cached_property
    def facts(self) -> ReaderFacts:
        reader = self.of.reader
        # The `cut` function of a history cannot be sent to a task, and tasks do not need it.
        history = replace(reader.history, cut=None)
        return ReaderFacts(history, reader.keys, reader.source_format, reader.rules, self.shard, self.former)

    @property
    def shard(self) -> str | None:
        return self.of.work.batches[0].shard

    @cached_property
    def ordinals(self) -> dict[str, int]:
        counted = (ordinal for source in sources_of(self.of.work) for ordinal, _ in source.counts)
        return {self.of.work.windows[ordinal]: ordinal for ordinal in counted}

    def by_key(self) -> RangeRows:
        """Return the rows by the key hashes in silver. If these cannot divide the rows, let tasks divide them."""
        return InSilver(self.stretches) if are_by_key(self.of.work, self.of.reader) else self.spread()[-1]

    def spread(self) -> list[Spread]:
        """Let tasks divide the rows by hashes of their typed key values. Raise NotParted if this is not possible.

        Return the rows from before each change of the key (`former`), and those after the last one.
        """
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
        self.left.update(name for each in found for name, _ in each)
        return [
            Spread(self.exchange, tuple(name for name, _ in stage), all_linked(linked for _, linked in stage))
            for stage in zip(*found, strict=True)
        ]

    def stages(self, number: int, rows: Spread, carried: CarriedRows | None) -> list[StageTask]:
        """Return the tasks that fold the rows of a stage, one for each group of key ranges."""
        met = self.meet(rows)
        return [
            StageTask(
                stage=number,
                rows=rows,
                met=met,
                carried=carried,
                ranges=ranges,
                ordinals=self.ordinals,
                facts=self.facts,
                bounds=self.of.bounds,
                exchange=self.exchange,
            )
            for ranges in with_links(self.ranges, rows.linked)
        ]

    @property
    def has_partial_halves(self) -> bool:
        """Whether some updates come as two messages, and some rows have only some columns."""
        sources = sources_of(self.of.work)
        return any(source.has_halves for source in sources) and any(source.is_partial for source in sources)

    def meet(self, rows: RangeRows) -> Met:
        """Let tasks match the halves of updates, and find the halves that are in other windows."""
        of, met = self.of, Met(exchange=self.exchange)
        if self.has_partial_halves:
            check_keys_stay(of.rows, rows, self.ranges)
        elif any(source.has_halves for source in sources_of(of.work)):
            met = meet(of.rows, self.exchange, rows, self.ranges, self.plain, self.ordinals, self.shard, self.left)
        if of.work.state is None or of.work.mode == "rebuild":
            return met
        joined = [] if of.work.has_all else other_halves(of.work, {event.pair for event in met.alone})
        if any(event.partial for event in joined):
            raise OthersNeeded("the other messages of some of its updates have only some columns")
        waiting = frozenset(map(parse_sequence, of.work.state.pending))
        return replace(met, joined=tuple(joined), waiting=waiting)

    def tasks(self, rows: RangeRows) -> list[FoldTask]:
        """Return the tasks that fold these rows, one for each group of key ranges."""
        of, table, met = self.of, self.of.table, self.meet(rows)
        others = others_of(of.work, of.reader, of.rows, self.window, met.joined, self.shard)
        if others is not None and self.has_partial_halves:
            raise OthersNeeded("some rows are late, and updates in two messages are beside rows with only some columns")
        if others is not None and not isinstance(rows, InSilver):
            raise OthersNeeded("some rows are late, and the hashes of keys in silver do not find all rows of a key")
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
                carried=self.carried,
            )
            for ranges in with_links(self.ranges, self._linked(rows, others))
        ]

    def _linked(self, rows: RangeRows, others: Others | None) -> Hashes:
        """Return the hashes of the keys that must be folded together (`with_links`)."""
        found, store = list[Hashes](), self.of.rows
        if isinstance(rows, Spread):
            found.append(rows.linked)
        elif any(source.links_keys for source in sources_of(self.of.work)):
            found.append(linked_in(store, self.stretches))
        if others is not None and others.of_parts:
            found += [linked_in(store, (Stretch(others.window, name),)) for name in others.claims]
        return all_linked(found)

    def have_twice(self, found: Seq[TaskOutcome]) -> bool:
        """Return whether two of the tasks have the same key, by its hash."""
        names = [each.hashes for each in found if each.hashes is not None]
        return have_twice(self.of.rows, self.exchange, names, len(self.ranges))


def _joined(of: Round, evolved: Change, exchange: Exchange, found: Seq[TaskOutcome]) -> Outcome:
    """Join the results of tasks into the result of the round."""
    outcome = Outcome(folded=Folded(), evolved=evolved)
    if ordering_hold_at(of.work, of.reader.history, {place for each in found for place in each.places}) is not None:
        raise OthersNeeded("late rows and rows of other windows have no order")
    for each in found:
        if each.folded.hold is not None:
            outcome.stop(each.folded, [])
        if each.failure is not None:
            outcome.failure = first_failure(outcome.failure, each.failure)
        outcome.folded.add(each.folded)
    stop = first_stop(each.stop for each in found)
    if stop is not None and (outcome.hold is None or _is_before(stop, outcome.hold)):
        if unable := [each.failure for each in found if isinstance(each.failure, NotParted | NotHere)]:
            raise unable[0]
        outcome.hold = stop
    if outcome.hold is None and outcome.failure is None:
        outcome.left = _left_rows(exchange, found)
        if evolved.debts is not None:
            outcome.evolved = replace(evolved, debts=evolved.debts + sum(each.debts for each in found))
    return outcome


def _is_before(one: Hold, other: Hold) -> bool:
    return (one.position or LOWEST) <= (other.position or LOWEST)


def _ranges(sources: Seq[RemoteRows], slots: int, are_long: bool) -> list[KeyRanges]:
    """Return the key ranges of each task. A task folds its ranges one after the other.

    `are_long` is True if the rows are folded one by one.
    """
    rows, nbytes = sum(each.num_rows + each.moved for each in sources), sum(each.nbytes for each in sources)
    shares = ranges_of(rows, nbytes, EVENTS_IN_TASK if are_long or rows <= ROWS_A_TASK else EVENTS_AT_ONCE)
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
