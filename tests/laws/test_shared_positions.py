"""Changes of a table without a key that share a position: each counts, and tasks come to what one process comes to."""

import json
from itertools import permutations

import msgspec
import pytest

from formats.debezium_messages import POSTGRES, message
from formats.events import streamx
from laws.test_bulk import in_tasks
from laws.world import World, make_settings
from retable.model.message import RawMessage
from retable.replay.batch import row_batch
from retable.replay.table.deciding import Deciding


def change(place: int, op: str, before: int | None, after: int | None) -> RawMessage:
    images = {side: None if key is None else {"id": key} for side, key in (("before", before), ("after", after))}
    return streamx({"id": "LONG"}, op=op, sequenceId=str(place), keys=None, **images)


LOADED = [change(at, "INSERT", None, at) for at in (1, 2, 3)]
SHARED = {
    "updates to one row": [change(5, "UPDATE", 1, 9), change(5, "UPDATE", 2, 9)],
    "an insert and an update to its row": [change(5, "INSERT", None, 9), change(5, "UPDATE", 2, 9)],
    "rows of a full load": [change(-1, "INSERT", None, each) for each in (9, 9, 4)],
}


@pytest.mark.parametrize("case", SHARED)
@pytest.mark.parametrize("rows", [1, 2])
def test_gold_does_not_depend_on_who_folds(case: str, rows: int) -> None:
    window = [*SHARED[case], change(6, "INSERT", None, 7), change(7, "INSERT", None, 8)]
    found = []
    for by_tasks in (False, True):
        world = World(make_settings("streamx_json"))
        world.replay(world.deliver([msgspec.structs.replace(each, offset=at) for at, each in enumerate(LOADED)]))
        with pytest.MonkeyPatch.context() as patch:
            if by_tasks:
                in_tasks(patch, rows)
                patch.setattr(row_batch, "_FEW_ROWS", 0)
            else:
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            world.replay(
                world.deliver([msgspec.structs.replace(each, offset=10 + at) for at, each in enumerate(window)])
            )
        (gold,) = world.gold().values()
        found.append((sorted(json.loads(row)["id"] for row in gold.rows), world.counts))
    assert found[0] == found[1]


def copied(offset: int, ident: int, weight: str) -> RawMessage:
    """A row of a COPY: PostgreSQL logs many rows in one record, so they have one position."""
    row = {"id": ident, "w": weight}
    payload = {"before": None, "after": row, "source": POSTGRES, "op": "c", "ts_ms": 1_700_000_000_123}
    return message({**payload, "transaction": None}, None, "erp.shop.t", offset)


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_all_rows_of_a_copy_count_in_any_order_and_a_redelivery_does_not(order: tuple[int, ...]) -> None:
    rows = [copied(10, 1, "1.5"), copied(11, 2, "NaN"), copied(12, 3, "1.5")]
    again = [copied(20, 1, "1.5"), copied(21, 2, "NaN")]
    world = World(make_settings("debezium_json", {"shop.*": {"types": {"id": "int", "w": "double"}}}))
    names = [world.deliver([rows[0]]), world.deliver([rows[1]]), world.deliver([rows[2], *again])]
    for number in order:
        world.replay(names[number])
    (gold,) = world.gold().values()
    assert sorted(json.loads(row)["id"] for row in gold.rows) == [1, 2, 3]
    duplicates = sum(counts.get("duplicate", 0) for counts in world.counts.values())
    assert duplicates == 2 or [*order] != sorted(order)
