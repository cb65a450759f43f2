"""A whole lake without Spark: a story landed, decoded and replayed in memory, and written down through pyiceberg."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.table import Table

from laws.story import Story, message
from laws.world import FIRST, HOUR, NOW, World
from retable.decode.silver import events_to_batch
from retable.formats.registry import find_format
from retable.gold.state import RUN_PROPERTY, GoldState, to_properties
from retable.land.bronze import to_batches
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import CutRow, LedgerRow, Stage
from retable.ledger.windows.contents import silver_files
from retable.ledger.write import append_rows
from retable.model.event import ROW_OPS, ChangeEvent
from retable.settings.load import load_settings
from verify.pure import standing

SETTINGS = """
[lake]
catalog = "sqlite:///catalog.db"
warehouse = "{warehouse}"

[sources.shop]
kind = "files"
format = "{format}"
path = "landing"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
"""
RUN = "run-1"


@dataclass(frozen=True, slots=True)
class Filled:
    """The lake, and the world whose tables it has."""

    lake: Lake
    world: World

    def table(self, name: str) -> Table:
        return self.lake.load(name)


def fill(folder: Path, story: Story) -> Filled:
    """Make the lake of a story of which every window is replayed."""
    world = story.world()
    for name in world.names:
        world.replay(name)
    source = "".join(f"{name} = {json.dumps(told)}\n" for name, told in story.known.source.items())
    tables = "".join(
        f"\n[tables.{json.dumps(name)}]\nkeys = {json.dumps(told.keys)}\ntypes = {{ {_types(told.types)} }}\n"
        for name, told in story.known.tables(story.history).items()
    )
    lake = _open(folder, SETTINGS.format(format=story.format, warehouse=folder / "lake") + source + tables)
    for number, name in enumerate(world.names):
        _write_window(lake, story, number, name)
    _write_gold(lake, world)
    return Filled(lake, world)


def copied(whole: Filled, folder: Path) -> Filled:
    """The same lake under a catalog of its own: the files of its tables are shared, and nobody changes one."""
    folder.mkdir(parents=True)
    settings = whole.lake.settings.lake
    with closing(sqlite3.connect(settings.catalog_file)) as old, closing(sqlite3.connect(folder / "catalog.db")) as new:
        old.backup(new)
    text = (settings.catalog_file.parent / "retable.toml").read_text(encoding="utf-8")
    return Filled(_open(folder, text), whole.world)


def _open(folder: Path, settings: str) -> Lake:
    (folder / "landing").mkdir(parents=True)
    (folder / "retable.toml").write_text(settings, encoding="utf-8")
    return open_lake(load_settings(folder / "retable.toml"))


def window_row(number: int, **other: Any) -> dict[str, Any]:
    """A window of the source with one object, as ops.windows has it."""
    start: datetime = FIRST + number * HOUR
    item = {"number": number, "key": f"{number}.jsonl", "etag": str(number), "size": 1}
    row = {"source": "shop", "ordinal": number, "start": start, "end": start + HOUR, "objects": [item]}
    row |= {"recorded_at": NOW, **other}
    return {**row, "window": f"{row['start']:%Y%m%dT%H%MZ}"}


def record(lake: Lake, *rows: dict[str, Any]) -> None:
    lake.ensure("ops.windows").append(pa.Table.from_pylist(list(rows), schema=OPS["ops.windows"].columns))


def _types(types: Any) -> str:
    return ", ".join(f"{json.dumps(column)} = {json.dumps(kind)}" for column, kind in types.items())


def _write_window(lake: Lake, story: Story, number: int, name: str) -> None:
    """Land and decode a window; the ledger says so."""
    record(lake, window_row(number))
    messages = [message(each.line()) for each in story.windows[number]]
    events = [event for each in story.windows[number] for event in story.events_of(each)]
    for batch in to_batches(messages, name, NOW):
        _append(lake, "bronze.shop", name, pa.Table.from_batches([batch]))
    if events:
        for kind in ("row", "schema", "note"):
            mine = [event for event in events if event.kind == kind]
            if mine:
                _append(lake, "silver.shop", name, pa.Table.from_batches([events_to_batch(name, mine)]))
    lake.ensure("quarantine.shop")
    source = lake.settings.source("shop")
    landed = {"objects": 1, "bytes": 1, "landed": len(messages)}
    append_rows(
        lake,
        [
            _ledger(name, "land", None, landed),
            _ledger(name, "decode", None, _counts(len(messages), events), find_format(source.format).version),
        ],
    )


def _counts(messages: int, events: list[ChangeEvent]) -> dict[str, int]:
    counts = {"landed": messages, "decoded": messages}
    counts |= {"events": len(events), "rows": sum(event.op in ROW_OPS for event in events)}
    for event in events:
        if event.op not in ROW_OPS:
            counts[f"notes:{event.op}"] = counts.get(f"notes:{event.op}", 0) + 1
    return counts


def _append(lake: Lake, name: str, window: str, rows: pa.Table) -> None:
    lake.ensure(name).append(rows, snapshot_properties={"retable.window": window})


def _write_gold(lake: Lake, world: World) -> None:
    """Write what the world's tables hold, and what a replay would have left in the record."""
    files = silver_files(lake, "shop")
    snapshots: dict[str, int | None] = {}
    states: dict[str, GoldState] = {}
    for name, state in world.states().items():
        rows = pa.Table.from_batches([standing(world.catalog.tables[name], state)])
        lake.catalog.create_namespace_if_not_exists(name.partition(".")[0])
        made = lake.catalog.create_table(name, rows.schema, lake.new_location("gold"))
        ids = {field.name: field.field_id for field in made.schema().fields}
        applied = {w: f"{files.get(w, 'empty')}:{told.rpartition(':')[2]}" for w, told in state.applied.items()}
        columns = tuple(replace(column, field_id=ids[column.gold]) for column in state.columns)
        states[name] = replace(state, columns=columns, applied=applied)
        if len(rows):
            made.append(rows, snapshot_properties={RUN_PROPERTY: RUN})
        with made.transaction() as change:
            change.set_properties(**to_properties(states[name]))
        current = lake.load(name).current_snapshot()
        snapshots[name] = None if current is None else current.snapshot_id
    append_rows(lake, [*world.tables.values()])
    rows_of: dict[str, dict[str, int]] = {name: {} for name in world.names}
    ledger = []
    golds = {state.identity: name for name, state in states.items()}
    for (window, identity), counts in world.counts.items():
        gold = golds[identity]
        for what, count in counts.items():
            rows_of[window][what] = rows_of[window].get(what, 0) + count
        ledger.append(_ledger(window, "replay", gold, counts, states[gold].applied.get(window), snapshots[gold]))
    for window in world.names:
        ledger.append(_ledger(window, "replay", None, rows_of[window], files.get(window, "empty")))
    append_rows(lake, ledger)
    last = world.names[-1]
    append_rows(
        lake,
        [
            CutRow(
                source="shop",
                window=last,
                revision=0,
                table=name,
                identity=s.identity,
                snapshot_id=snapshots[name],
                state=s.state,
                recorded_at=NOW,
            )
            for name, s in states.items()
        ],
    )


def _ledger(
    window: str,
    stage: Stage,
    table: str | None,
    counts: dict[str, int],
    identity: str | None = None,
    snapshot: int | None = None,
) -> LedgerRow:
    return LedgerRow(
        source="shop",
        window=window,
        stage=stage,
        table=table,
        counts=counts,
        lowest={},
        highest={},
        snapshot_id=snapshot,
        identity=identity,
        run_id=RUN,
        seconds=0.0,
        bytes=0,
        recorded_at=NOW,
    )
