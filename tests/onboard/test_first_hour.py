"""Eight hundred tables out of one dump, and their first hour: no key and no type is written by hand."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from laws.spark_world import open_lake_in
from laws.story import as_the_source_shows, shown
from laws.world import FIRST, HOUR, NOW
from onboard.schemas import shop, shops_dump
from recorded import record_windows
from retable.decode.spark import decode
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.write import append_rows
from retable.model.sequence import LOWEST
from retable.onboard.schema.dumps import read_dump
from retable.onboard.schema.imports import plan_import
from retable.simulate import ROW_KINDS, Delivery, History, deliver, simulate
from retable.simulate.designs import DESIGNS
from retable.simulate.streams import streamx_json
from retable.verify.bronze import against_bronze
from retable.verify.rows import Share

pytestmark = pytest.mark.slow

SHOPS, BUSY = 160, 4
"""Databases of five tables each, and in how many of them something happens in the first hour."""


def first_hour(number: int) -> tuple[History, list[str]]:
    """What a shop did, and the lines that tell it in streamx_json, which leaves types open."""
    chance = Random(number)
    history = simulate(chance, 15, kinds=ROW_KINDS, loaded=tuple(DESIGNS), database=shop(number))
    stream = streamx_json.write(history, streamx_json.Options(row_ids=False))
    (window,) = deliver(stream, chance, Delivery(windows=1), topic=shop(number))
    return history, [record.line() for record in window]


def test_eight_hundred_tables_come_out_of_a_dump_and_their_first_hour_is_right(
    spark: SparkSession, tmp_path: Path
) -> None:
    world = open_lake_in(tmp_path / "lake", "streamx_json", "")
    (tmp_path / "dump.sql").write_text("".join(shops_dump(SHOPS)), encoding="utf-8")
    plan = plan_import(world.lake, world.source, read_dump(tmp_path / "dump.sql"), LOWEST, "dump.sql", NOW)
    assert (len(plan.added), plan.unread) == (5 * SHOPS, ())
    append_rows(world.lake, plan.rows)
    hours = [first_hour(number) for number in range(BUSY)]
    lines = "".join(f"{line}\n" for _, mine in hours for line in mine)
    (tmp_path / "lake" / "landing" / "shop-2026-03-01T00.jsonl").write_text(lines, encoding="utf-8")
    due = record_windows(world.lake, world.source, lambda: list_objects(world.source), FIRST + HOUR, NOW)
    window = due[-1]
    land_window(world.session, world.lake, world.source, window.name, "run", NOW)
    decode(world.session, world.lake, world.source, window.name, "run", NOW)
    assert world.replay(window.name)
    gold = world.gold()
    for history, _ in hours:
        for name, table in history.truth().tables.items():
            if table.rows:
                assert as_the_source_shows(gold[f"gold_{history.database}.{name}"]) == shown(table)
    assert not world.replay(window.name)
    name = f"gold_{shop(0)}.customers"
    (tmp_path / "spill").mkdir()
    assert against_bronze(world.lake, name, tmp_path / "spill", Share()).is_equal
