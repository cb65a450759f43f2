"""Gold in memory against its source's messages: what `retable verify --against bronze` does, without a lake."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from laws.memory import Table
from laws.story import Story, tell
from laws.world import World
from retable.decode.silver import events_to_batch
from retable.gold.rows import sequence_type, to_column
from retable.gold.state import SEQUENCE_COLUMN, GoldState, RetentionFloor
from retable.ledger.counts import LedgerRows
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.inputs.known import known_tables
from retable.replay.inputs.rules import SourceRules
from retable.simulate import Delivery
from retable.upkeep.silver_rows import extents
from retable.verify.decoded import read_statements
from retable.verify.findings import Verification
from retable.verify.rebuild import SourceHistory, names_of
from retable.verify.rows import Gold, Share, compare_rows
from retable.verify.spill import Spill

WHOLE = Share()
MOST_SEEDS = 100
_NAME = ("database", "schema", "table")


def first_story(
    wanted: Callable[[Mapping[str, GoldState]], object], source_format: str, delivery: Delivery, kinds: tuple[str, ...]
) -> Story:
    """The first of the stories of the seeds from 0 on whose tables, when all is replayed, are as wanted."""
    for seed in range(MOST_SEEDS):
        story = tell(seed, source_format, delivery, 50, kinds)
        world = story.world()
        for name in world.names:
            world.replay(name)
        if wanted(world.states()):
            return story
    raise LookupError(f"none of {MOST_SEEDS} stories is as wanted")


class Verifier:
    """Verifies the tables of a world that delivered all of a story; bronze lacks its first `dropped` windows."""

    def __init__(self, story: Story, world: World, dropped: int = 0) -> None:
        self._world = world
        self._dropped = world.names[:dropped]
        self._batches = {
            window: events_to_batch(window, [event for record in records for event in story.events_of(record)])
            for window, records in zip(world.names, story.windows, strict=True)
        }
        self._names = {
            window: [_row_name(record) for record in batch.select(["kind", *_NAME]).to_pylist()]
            for window, batch in self._batches.items()
        }
        records = [
            record
            for batch in self._batches.values()
            for record in batch.filter(pc.equal(batch.column("kind"), "schema")).to_pylist()
        ]
        self._statements, self._system = read_statements(records, world.source)

    def every(self, share: Share = WHOLE) -> dict[str, Verification]:
        """The report on each table."""
        return {name: self.verify(name, share) for name in self._world.states()}

    def verify(self, name: str, share: Share = WHOLE) -> Verification:
        state = self._world.states()[name]
        told = self._told(state)
        names = names_of(told, state)
        if self._dropped:
            told = replace(told, floor=self.floor(name), remembered=state.inferred)
        with TemporaryDirectory() as folder:
            events, rows = Spill(Path(folder) / "events"), Spill(Path(folder) / "rows")
            for window in sorted(told.replayed - set(self._dropped)):
                events.write(self._rows_of(window, names))
            rows.write(standing(self._world.catalog.tables[name], state))
            columns = tuple((column.gold, column.type) for column in state.columns)
            return compare_rows(told, Gold(name, state, columns, rows), events, share)

    def floor(self, name: str) -> RetentionFloor | None:
        """Up to where messages of a table that count are gone."""
        state = self._world.states()[name]
        names = names_of(self._told(state), state)
        last: dict[str, Sequence] = {}
        for window in self._dropped:
            for extent in extents(pa.Table.from_batches([self._rows_of(window, names)])).values():
                last |= {part: max(place, last.get(part, place)) for part, place in extent.last.items()}
        return RetentionFloor(last, -1).above(state.truncated_at)

    def _rows_of(self, window: str, names: Collection[TableName]) -> pa.RecordBatch:
        return self._batches[window].filter(pa.array([name in names for name in self._names[window]], pa.bool_()))

    def _told(self, state: GoldState) -> SourceHistory:
        world = self._world
        known = known_tables(world.tables.values(), LedgerRows(world.read_counted), world.kept_from)
        held = {window for (window, i), counts in world.counts.items() if i == state.identity and _is_held(counts)}
        is_whole = state.hold is not None and state.hold.position is None
        return SourceHistory(
            SourceRules(world.settings, world.source, self._system, tuple(world.decisions)),
            self._statements,
            {window: number for number, window in enumerate(world.names)},
            frozenset(world.replayed - (held if is_whole else set())),
            known,
        )


def standing(table: Table, state: GoldState) -> pa.RecordBatch:
    """The rows of a table in memory, as a scan of gold gives them."""
    columns = [(column.field_id, column.gold, column.type) for column in state.columns]
    arrays = [to_column([table.value(row, number) for row in table.rows], kind) for number, _, kind in columns]
    members = [{**row[1]._asdict(), "part": row[2]} for row in table.rows]
    arrays.append(pa.array(members, sequence_type(table.with_part)))
    return pa.RecordBatch.from_arrays(arrays, names=[*(name for _, name, _ in columns), SEQUENCE_COLUMN])


def _is_held(counts: dict[str, int]) -> bool:
    return counts["rows"] > 0 and counts.get("held", 0) == counts["rows"]


def _row_name(record: dict[str, str]) -> TableName | None:
    return TableName(*(record[part] for part in _NAME)) if record["kind"] == "row" else None
