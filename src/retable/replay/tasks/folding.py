"""One round of deciding about a big window in tasks: each folds some ranges of keys, and leaves what comes of them."""

from collections.abc import Sequence as Seq
from dataclasses import dataclass

import pyarrow as pa

from retable.errors import TableError
from retable.fold.fold import Folded
from retable.fold.images import TableReader
from retable.gold.evolve import RewriteNeeded
from retable.gold.store import Exchange, RowStore
from retable.model.sequence import Sequence
from retable.replay.batch.ranges import BYTES_AT_ONCE, KeyRanges, has_twice, ranges_of
from retable.replay.batch.row_batch import RemoteRows
from retable.replay.events.related import late_events
from retable.replay.events.shares import EVENTS_AT_ONCE, NotParted, check_parted
from retable.replay.table.folding import Outcome, Round
from retable.replay.table.hold_rules import ordering_hold_at
from retable.replay.table.replace import EventsMissed
from retable.replay.table.table_replay import LeftRows, TableReplay
from retable.replay.tasks.fold_task import FoldTask, Plain, TaskOutcome
from retable.replay.tasks.others import AreKeyedSo, Others

ROWS_A_TASK = 400_000
"""More rows than this are two tasks: a task has those of silver in memory as columns, twice this where keys move."""

_WRITTEN_SO = frozenset({"string"})
"""The types of keys of which equal ones have equal hashes, however they are written."""


def check_in_tasks(work: TableReplay, reader: TableReader, window: str) -> None:
    """NotParted unless tasks can decide: of a table with a key, where rows need no more of others than their keys'."""
    rows = [batch.source for batch in work.batches if isinstance(batch.source, RemoteRows)]
    if len(rows) < len(work.batches) or not reader.keys or not all(each.is_simple for each in rows):
        raise NotParted
    if any(reader.columns[at].type.kind in ("float", "double") for at in reader.key_columns):
        raise NotParted
    check_parted(work, reader)
    if any(event.partial for event in work.events) and _since(work, window) is not None:
        raise NotParted


def _since(work: TableReplay, window: str) -> Sequence | None:
    """The lowest sequence of a late row of the window; None where none is late."""
    late = () if work.replaces_all else late_events(work, window)
    return min((event.sequence for event in late), default=None)


def _others(work: TableReplay, store: RowStore, window: str) -> Others | None:
    """The other windows of a table, where some rows are late. NotParted where these name another key."""
    if work.state is None or (since := _since(work, window)) is None:
        return None
    until = work.windows[work.horizon]
    windows = [name for name in work.ordinals if name <= until and name not in work.applied]
    rows = store.big_table(windows, work.claims.keys(), since)
    keys = work.events[0].keys or ()
    asked = [AreKeyedSo(piece, tuple(work.claims), keys) for piece in rows.pieces(store.slots())]
    if not all(store.run(asked)):
        raise NotParted
    return Others(
        window=rows,
        claims=work.claims,
        ordinals={name: work.ordinals[name] for name in windows},
        marks=work.state.high_water,
        again=window in work.state.applied,
    )


@dataclass(frozen=True, slots=True)
class _HasTwice:
    """Says whether a key is among those that two tasks left: it is written in two ways."""

    exchange: Exchange
    names: tuple[str, ...]

    def __call__(self) -> bool:
        return has_twice(pa.concat_tables([self.exchange.get(name) for name in self.names]))


def fold_in_tasks(of: Round, plain: Plain | None, window: str, exchange: Exchange, left: set[str]) -> Outcome:
    """Fold the rows of a round where they are; the names of what tasks left in the exchange are added to `left`.

    NotParted where the rows have to come here.
    """
    work, table, reader, store = of.work, of.table, of.reader, of.rows
    outcome = Outcome(folded=Folded())
    try:
        evolved = outcome.evolved = of.evolve()
    except (RewriteNeeded, EventsMissed, TableError) as failure:
        raise NotParted from failure
    if evolved.truncations and not work.replaces_all:
        raise NotParted
    sources = [batch.source for batch in work.batches if isinstance(batch.source, RemoteRows)]
    others = _others(work, store, window)
    finder = None if table.is_empty or work.replaces_all else store.key_finder(work.gold)
    ordinals = {work.windows[ordinal]: ordinal for source in sources for ordinal, _ in source.counts}
    stretches = tuple(stretch for source in sources for stretch in source.stretches)
    tasks = [
        FoldTask(
            stretches=stretches,
            ranges=ranges,
            ordinals=ordinals,
            history=reader.history,
            keys=reader.keys,
            source_format=reader.source_format,
            rules=reader.rules,
            plain=plain,
            bounds=of.bounds,
            evolution=evolved.evolution,
            with_part=table.has_part(),
            finder=finder,
            exchange=exchange,
            others=others,
        )
        for ranges in _ranges(sources, store.slots())
    ]
    found = store.run(tasks)
    left |= {name for each in found for name in each.names()}
    places = {place for each in found for place in each.places}
    if ordering_hold_at(work, reader.history, places) is not None:
        raise NotParted
    for each in found:
        if each.folded.hold is not None:
            outcome.stop(each.folded, [])
        outcome.failure = outcome.failure or each.failure
        outcome.folded.add(each.folded)
    if outcome.hold is None and outcome.failure is None:
        touched = tuple(name for each in found for name in each.touched)
        kinds = {reader.columns[at].type.kind for at in reader.key_columns}
        if len(touched) > 1 and not kinds <= _WRITTEN_SO and store.run([_HasTwice(exchange, touched)])[0]:
            raise NotParted
        outcome.left = _joined(exchange, found)
    return outcome


def _ranges(sources: Seq[RemoteRows], slots: int) -> list[KeyRanges]:
    """The ranges of each task; each of these is folded by itself."""
    rows, nbytes = sum(each.num_rows + each.moved for each in sources), sum(each.nbytes for each in sources)
    shares = ranges_of(rows, nbytes, EVENTS_AT_ONCE)
    tasks = min(max(-(-rows // ROWS_A_TASK), -(-nbytes // BYTES_AT_ONCE)), shares)
    tasks = min(-(-tasks // slots) * slots, shares)
    each = -(-shares // tasks)
    return [KeyRanges(at * each, at * each + each, tasks * each) for at in range(tasks)]


def _joined(exchange: Exchange, found: Seq[TaskOutcome]) -> LeftRows | None:
    edges = [each.edges for each in found if each.edges is not None]
    if not edges:
        return None
    gone = {name: count for each in found for name, count in each.gone.items()}
    rows = {name: count for each in found for name, count in each.rows.items()}
    return LeftRows(exchange, gone, rows, pa.concat_tables(edges)) if gone or rows else None
