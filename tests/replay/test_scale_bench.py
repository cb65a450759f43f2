"""The bench of scale: its messages come to the rows that it compares gold with, and it sees what differs."""

import json
import tomllib
from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.scale.__main__ import Cost, check_memory, compare, settings_of
from bench.scale.classes import CLASSES, Made
from bench.scale.rows import COLUMNS, GONE, name, values
from laws.world import World
from retable.model.message import RawMessage
from retable.replay.batch import ranges
from retable.settings.load import Settings

ROWS = 96


def replayed(of: str) -> tuple[pa.Table, Made]:
    settings = Settings.model_validate(tomllib.loads(settings_of(of)), context={"folder": Path("/nowhere")})
    world, made, offset = World(settings), CLASSES[of].make(ROWS), 0
    for window in made.windows:
        messages = []
        for message in window():
            key = None if message.key is None else message.key.encode()
            messages.append(RawMessage("shop", message.partition, offset, 0, key, message.value.encode()))
            offset += 1
        world.replay(world.deliver(messages))
    found = world.gold()[CLASSES[of].gold]
    assert found.hold is None
    return pa.Table.from_pylist([json.loads(row, parse_float=Decimal) for row in found.rows]), made


@pytest.mark.parametrize("rows_at_once", [7, 40, ROWS])
@pytest.mark.parametrize("of", CLASSES)
def test_the_messages_of_a_class_come_to_its_rows(of: str, rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "ROWS_AT_ONCE", rows_at_once)
    rows, made = replayed(of)
    assert rows.num_rows >= ROWS // 4
    compare([rows.slice(0, 10), rows.slice(10)], made)


def test_the_classes_have_what_they_are_named_for() -> None:
    late = CLASSES["late"].make(2400)
    sizes = [sum(1 for _ in window()) for window in late.windows[1:]]
    assert sum(sizes) == 2400
    assert sizes != [100] * 24
    (told,) = CLASSES["decimal_keys"].make(ROWS).windows[1:]
    spelled = {message.value.split('"id":')[1].split(",")[0] for message in told()}
    assert any(each.endswith(".5") for each in spelled)
    assert any(each.endswith(".50") for each in spelled)
    (told,) = CLASSES["partitions"].make(ROWS).windows[1:]
    assert {message.partition for message in told()} == {0, 1, 2, 3}


@pytest.mark.parametrize("what", ["missing", "twice", "gone", "value"])
def test_what_differs_is_seen(what: str) -> None:
    made = CLASSES["plain"].make(ROWS)
    versions = made.table.versions
    ids = np.flatnonzero(versions != GONE)
    columns = {name(at): values(at, ids, versions[ids]) for at in range(1, COLUMNS)}
    rows = pa.table({"id": pa.array(ids), **columns})
    compare([rows], made)
    match what:
        case "missing":
            rows = rows.slice(1)
        case "twice":
            rows = pa.concat_tables([rows, rows.slice(0, 1)])
        case "gone":
            (gone, *_) = np.flatnonzero(versions == GONE)
            rows = pa.concat_tables([rows, rows.slice(0, 1).set_column(0, "id", pa.array([gone]))])
        case "value":
            rows = rows.set_column(3, "c3", pa.concat_arrays([pa.array(["other"]), rows["c3"].chunk(0).slice(1)]))
    with pytest.raises(RuntimeError):
        compare([rows], made)


@pytest.mark.parametrize(
    ("rows", "python_mb", "worker_mb", "who"),
    [
        (100_000, 1_600, 0, None),
        (100_000, 1_601, 0, "the driver"),
        (400_000, 1_600, 0, None),
        (400_000, 1_601, 0, "the driver"),
        (400_001, 101, 0, "the driver"),
        (4_000_000, 100, 1_600, None),
        (4_000_000, 100, 1_601, "a worker"),
    ],
)
def test_a_replay_that_needs_more_memory_than_is_said_fails(
    rows: int, python_mb: float, worker_mb: float, who: str | None
) -> None:
    cost = Cost(of="plain", rows=rows, seconds=1, processor=1, python_mb=python_mb, jvm_mb=500, worker_mb=worker_mb)
    with nullcontext() if who is None else pytest.raises(RuntimeError, match=who):
        check_memory(cost, rows)
