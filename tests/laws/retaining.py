"""Retention of a source in memory: floors and whose rows stay are the product's own, what goes is cut by hand."""

import pyarrow as pa

from laws.memory import _ROWS
from laws.world import World
from retable.gold.state import FLOOR_PROPERTY, floor_json
from retable.replay.batch.silver_rows import table_name
from retable.upkeep.retention import Floors, owners_of, plan_floors
from retable.upkeep.silver_rows import extents


def retain(world: World, count: int) -> Floors:
    """Drop what nothing needs of the first `count` windows; they are replayed, and so are all up to some later one."""
    dropped = world.names[:count]
    assert set(dropped) <= world.replayed
    tables = world._run("retention", lambda _: None)._scope_reader.tables()
    known = owners_of(tables.histories(), world.states(), world.settings)
    found = [(name, extents(pa.Table.from_pylist(_rows(world, name), _ROWS))) for name in dropped]
    through = next((n for n, name in enumerate(world.names) if name not in world.replayed), len(world.names)) - 1
    floors = plan_floors(found, known, through)
    for gold, floor in floors.raised.items():
        world.catalog.tables[gold].properties[FLOOR_PROPERTY] = floor_json(floor)
    for window in dropped:
        stay = {name for name, stay in floors.stays.items() if stay.holds(window)}
        kept = [each for each in _rows(world, window) if table_name(each) in stay]
        kept += [each for each in world.rows.silver[window] if each["kind"] == "schema"]
        # What is gone has the content with which it was replayed.
        world.rows.silver[window] = [*kept, {"kind": "note", "window": window}]
    world.kept_from = max(world.kept_from, (world.names[count:] or ["~"])[0])
    return floors


def _rows(world: World, window: str) -> list[dict[str, object]]:
    return [each for each in world.rows.silver[window] if each["kind"] == "row"]
