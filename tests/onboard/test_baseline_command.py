"""`retable baseline` before Spark starts: which table is meant, and what a copy must be."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from lakes import SettingsWriter
from onboard.schemas import many_dump
from retable.cli.app import app
from retable.cli.run.baseline import KnownTable, find_table, part_of, target_of
from retable.errors import InvalidSetting
from retable.gold.state import GoldState
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_baselines
from retable.model.event import TableName
from retable.model.sequence import Sequence

SOURCE = """
[sources.shop]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
"""


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    return open_lake(write_settings(SOURCE))


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: Lake) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.sql").write_text("".join(many_dump(5)), encoding="utf-8")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "copy.parquet")
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")


def test_a_table_that_nothing_told_of_is_not_found(retable: Callable[..., Result]) -> None:
    result = retable("baseline", "gold_shop.orders", "--from", "copy.parquet", "--at", "start")
    assert result.exit_code == 1
    assert "retable schema import SOURCE" in result.stderr


def test_a_table_of_a_dump_is_found_with_its_key_and_its_partition(retable: Callable[..., Result], lake: Lake) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    target = target_of(lake, find_table(lake, "gold_shop.order_lines"), Sequence(0, 12, 0), ("topic", 3))
    assert (target.table, target.keys) == (TableName("shop", None, "order_lines"), ("order_id", "line"))
    assert (target.part, target.position) == (("topic", 3), (0, 12, 0))


def test_a_table_whose_rows_came_from_several_partitions_needs_one_that_is_named(lake: Lake) -> None:
    orders, high_water = TableName("shop", None, "orders"), {"topic/1": Sequence(0, 7, 0), "topic/0": Sequence(0, 9, 0)}
    state = GoldState(source="shop", identity="i", table=orders, high_water=high_water)
    known = KnownTable(lake.settings.source("shop"), orders, state, "gold_shop.orders")
    with pytest.raises(InvalidSetting, match=r"\(topic/0, topic/1\).*--partition TOPIC/N; otherwise let the source"):
        part_of(lake, known, None)
    assert part_of(lake, known, "topic/1") == ("topic", 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "copy.parquet", "--at", "yesterday"), "is not a position"),
        (("--from", "copy.parquet", "--at", "0:1", "--partition", "topic"), "is not a partition"),
        (("--from", "copy.parquet", "--at", "0:1"), "--partition TOPIC/N: `retable check shop` lists the partitions"),
        (("--from", "copy.parquet", "--at", "start"), "--partition TOPIC/N"),
        (("--from", "copy.parquet", "--at", "0:1:0", "--partition", "topic/0"), "so write 0:1"),
        (("--from", "nothing.parquet", "--at", "0:1"), "there are no files at"),
        (("--from", "dump.sql", "--at", "0:1"), "is not a readable copy"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(
    retable: Callable[..., Result], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    result = retable("baseline", "gold_shop.orders", *options)
    assert result.exit_code == 1
    assert words in " ".join(result.stderr.split())
    assert not (tmp_path / "lake" / "silver").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--at", "0:1"), "--partition TOPIC/N"), (("--at", "0:1:5", "--partition", "topic/0"), "so write 0:1")],
)
def test_a_table_does_not_start_anew_where_nothing_orders(
    retable: Callable[..., Result], lake: Lake, options: tuple[str, ...], words: str
) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    result = retable("resync", "gold_shop.orders", "--reason", "it lost track", *options)
    assert result.exit_code == 1
    assert words in " ".join(result.stderr.split())
    assert not read_baselines(lake, "shop")
