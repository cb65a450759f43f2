"""A data file that changed on the disk ends a run with its name, and no table takes anything from it."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from lakes import CANAL_LINES, FreshLake, SettingsWriter
from retable.decode.spark import decode
from retable.errors import DamagedFile
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.windows.recording import record_windows
from retable.settings.load import Settings

NOW, WINDOW = datetime(2026, 3, 2, tzinfo=UTC), "20260301T0500Z"
ROW = (
    '{"id":1,"database":"shop","table":"t","pkNames":["id"],"isDdl":false,"type":"INSERT","es":1772341200000,'
    '"ts":1772341200123,"sql":"","sqlType":{"id":-5,"c":12},"mysqlType":{"id":"bigint","c":"text"},'
    '"data":[{"id":"%d","c":"%x"}],"old":null}'
)


def change(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.fixture
def landed(write_settings: SettingsWriter, lake_on_spark: Callable[[Settings], FreshLake], tmp_path: Path) -> FreshLake:
    world = lake_on_spark(write_settings(CANAL_LINES))
    chance, folder = Random(1), tmp_path / "in"
    folder.mkdir()
    rows = [ROW % (number, chance.getrandbits(99)) for number in range(300)]
    (folder / "2026-03-01T05.jsonl").write_text("\n".join(rows), encoding="utf-8")
    source = world.settings.source("erp")
    record_windows(world.lake, source, lambda: list_objects(source), NOW, NOW)
    land_window(world.spark, world.lake, source, WINDOW, "run-1", NOW)
    return world


def test_a_window_whose_bronze_is_damaged_is_not_decoded_and_silver_stays(landed: FreshLake) -> None:
    spark, lake, settings = landed
    decode(spark, lake, settings.source("erp"), WINDOW, "run-2", NOW)
    silver = lake.load("silver.erp").scan().to_arrow()
    (task,) = lake.load("bronze.erp").scan().plan_files()
    path = Path(task.file.file_path.removeprefix("file:"))
    change(path, path.stat().st_size // 2)
    with pytest.raises(DamagedFile, match="CRC checksum verification failed") as caught:
        decode(spark, lake, settings.source("erp"), WINDOW, "run-3", NOW)
    assert caught.value.facts == {"path": task.file.file_path, "window": WINDOW}
    assert lake.load("silver.erp").scan().to_arrow() == silver


def test_what_spark_reads_is_compared_with_its_checksums(fresh_lake: FreshLake) -> None:
    spark, lake, settings = fresh_lake
    chance = Random(1)
    rows = pa.table({"id": range(400), "weight": [chance.random() for _ in range(400)]})
    lake.catalog.create_namespace("ops")
    table = lake.catalog.create_table("ops.sample", rows.schema)
    table.append(rows)
    (task,) = table.scan().plan_files()
    path = Path(task.file.file_path.removeprefix("file://"))
    change(path, 3000)
    with pytest.raises(DamagedFile, match="CRC checksum verification failed"), spark_explained(settings.lake):
        spark.table("lake.ops.sample").toArrow()
    path.unlink()
    with pytest.raises(DamagedFile, match="is missing") as caught, spark_explained(settings.lake):
        spark.table("lake.ops.sample").toArrow()
    assert caught.value.facts == {"path": task.file.file_path}
