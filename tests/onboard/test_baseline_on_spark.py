"""A full copy on Spark and Iceberg: landed in pieces, broken off and gone on with, then held against bronze."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from laws.spark_world import gold_of, open_lake_in
from laws.story import as_the_source_shows, shown
from laws.world import FIRST, HOUR, NOW
from onboard.schemas import shops_dump
from onboard.test_baseline import copied
from recorded import record_windows
from retable.decode.spark import decode
from retable.land.objects.source import objects_of
from retable.land.spark import land_window
from retable.ledger.read import read_baselines
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.sequence import LOWEST, Sequence
from retable.model.window import window_name
from retable.onboard.baseline.copies import CsvForm, open_copy
from retable.onboard.baseline.pieces import Target, land_baseline
from retable.onboard.schema.dumps import read_dump
from retable.onboard.schema.imports import plan_import
from retable.replay.spark import replay_piece
from retable.shadow.difference import compare_shadow
from retable.shadow.lake import shadow_lake
from retable.shadow.plan import check_ask
from retable.shadow.spark import build, promote
from retable.simulate import ROW_KINDS, Delivery, deliver, simulate
from retable.simulate.designs import DESIGNS
from retable.simulate.streams import streamx_json
from retable.verify.bronze import against_bronze
from retable.verify.rows import Share

pytestmark = pytest.mark.slow


class BrokenOff(Exception):
    """The copy could not be read to its end."""


def test_a_copy_that_broke_off_is_gone_on_with_and_gold_is_the_source(spark: SparkSession, tmp_path: Path) -> None:
    world = open_lake_in(tmp_path / "lake", "streamx_json", "")
    (tmp_path / "dump.sql").write_text("".join(shops_dump(1)), encoding="utf-8")
    imported = plan_import(world.lake, world.source, read_dump(tmp_path / "dump.sql"), LOWEST, "dump.sql", NOW)
    append_rows(world.lake, imported.rows)
    chance = Random(5)
    history = simulate(chance, 25, rows=8, kinds=ROW_KINDS, loaded=tuple(DESIGNS), database="shop000")
    stream = streamx_json.write(history, streamx_json.Options(row_ids=False))
    (records,) = deliver(stream, chance, Delivery(windows=1))
    lines = "".join(f"{record.line()}\n" for record in records)
    (tmp_path / "lake" / "landing" / "shop-2026-03-01T00.jsonl").write_text(lines, encoding="utf-8")
    due = record_windows(world.lake, world.source, objects_of(world.source).list, FIRST + HOUR, NOW)
    land_window(world.session, world.lake, world.source, due[-1].name, "run", NOW)
    decode(world.session, world.lake, world.source, due[-1].name, "run", NOW)
    world.replay(due[-1].name)

    _, content = copied(history.truth().tables["customers"])
    pq.write_table(content, tmp_path / "customers.parquet")
    copy = open_copy(str(tmp_path / "customers.parquet"), CsvForm())
    assert content.num_rows >= 7
    told = world.session.table("lake.silver.shop").where("kind = 'row'").selectExpr("max(sequence.hi) AS hi").first()
    assert told is not None
    customers, at = TableName("shop000", None, "customers"), Sequence(0, int(told.hi), 0)
    target = Target(
        source="shop",
        source_format="streamx_json",
        table=customers,
        position=at,
        part=None,
        keys=("id",),
        spellings=("digits",),
    )

    def broken() -> Iterator[pa.RecordBatch]:
        yield from (batch.slice(0, 7) for batch in copy.batches())
        raise BrokenOff

    with pytest.raises(BrokenOff):
        land_baseline(world.lake, target, replace(copy, batches=broken), NOW, lambda _: None, most=3)
    landed = [row.window for row in read_baselines(world.lake, "shop")]
    assert len(landed) == 1
    assert not world.replay(due[-1].name)
    pieces = land_baseline(world.lake, target, copy, NOW, lambda _: None, most=3)
    assert [piece.window for piece in pieces][:1] == landed
    assert [piece.last for piece in pieces] == [*[False] * (len(pieces) - 1), True]
    for piece in pieces:
        replay_piece(world.session, world.lake, world.source, piece.window, "run", NOW)
    name = "gold_shop000.customers"
    assert as_the_source_shows(world.gold()[name]) == shown(history.truth().tables["customers"])
    before = world.digest()
    for piece in land_baseline(world.lake, target, copy, NOW, lambda _: None, most=3)[:1]:
        replay_piece(world.session, world.lake, world.source, piece.window, "run", NOW)
    assert not world.replay(due[-1].name)
    assert world.digest() == before
    (tmp_path / "spill").mkdir()
    report = against_bronze(world.lake, name, tmp_path / "spill", Share())
    assert (report.findings, report.is_equal) == ((), True)
    world.rebuild(name)
    assert as_the_source_shows(world.gold()[name]) == shown(history.truth().tables["customers"])

    ask = check_ask(world.lake, "shop", [name], due[-1].name, window_name(FIRST + HOUR))
    shadow = build(world.session, world.lake, ask, "to see", "ann", "build", NOW, lambda _: None)
    beside = compare_shadow(world.lake, shadow, name, tmp_path / "spill")
    assert (beside.is_equal, beside.held, beside.rows.right) == (True, None, beside.rows.left)
    assert as_the_source_shows(gold_of(shadow_lake(world.lake, "shop"))[shadow.name_of(name)]) == shown(
        history.truth().tables["customers"]
    )
    promote(world.session, world.lake, "shop", "looked at", "ann", "promote", NOW, lambda _: None)
    assert as_the_source_shows(world.gold()[name]) == shown(history.truth().tables["customers"])
