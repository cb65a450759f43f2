"""`retable check`: what a source has and what a run would make of it, with nothing written."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from lakes import SettingsWriter
from onboard.schemas import shops_dump
from retable.cli.app import app
from retable.simulate import ROW_KINDS, Delivery, deliver, simulate, write_objects
from retable.simulate.designs import DESIGNS
from retable.simulate.streams import datahub_tuple

SOURCE = """
[sources.shop]
kind = "files"
format = "datahub_tuple"
path = "landing"
layout = "kafka_dump"
database = "shop000"
binary_encoding = "base64"
exclude = ["shop000.stock"]

[tables."shop000.orders"]
keys = ["id"]
"""


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_settings: SettingsWriter) -> Callable[..., Result]:
    write_settings(SOURCE)
    monkeypatch.chdir(tmp_path)
    chance = Random(3)
    history = simulate(chance, 60, kinds=ROW_KINDS, loaded=tuple(DESIGNS), database="shop000")
    write_objects(deliver(datahub_tuple.write(history), chance, Delivery(windows=2)), tmp_path / "landing")
    (tmp_path / "dump.sql").write_text("".join(shops_dump(2)), encoding="utf-8")
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")


def tables(result: Result) -> dict[str, dict[str, object]]:
    return {table["table"]: table for table in json.loads(result.stdout)["tables"]}


def test_what_nothing_tells_is_said_and_what_a_dump_tells_is_known(retable: Callable[..., Result]) -> None:
    before = retable("check", "shop", "--json")
    assert before.exit_code == 0, before.output
    orders, customers = tables(before)["shop000.orders"], tables(before)["shop000.customers"]
    assert (orders["key_from"], customers["key_from"]) == ("settings", "nothing")
    assert orders["gold"] == "gold_shop000.orders"
    assert not tables(before)["shop000.stock"]["taken"]
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    after = retable("check", "shop", "--json")
    customers = tables(after)["shop000.customers"]
    assert (customers["key_from"], customers["keys"]) == ("import", ["id"])
    assert customers["text_for_want_of_types"] == []
    assert json.loads(after.stdout)["silent"] == [f"shop001.{name}" for name in sorted(DESIGNS)]


def test_messages_that_do_not_decode_are_named_and_end_with_attention(
    retable: Callable[..., Result], tmp_path: Path
) -> None:
    line = json.dumps({"topic": "t", "partition": 0, "offset": 7, "timestamp": 0, "key": None, "value": "no json"})
    (tmp_path / "landing" / "shop-2026-03-02T00.jsonl").write_text(f"{line}\n", encoding="utf-8")
    result = retable("check", "shop")
    assert result.exit_code == 2
    assert "t/0@7" in result.stderr
    assert "shop000.orders" in result.stdout


def test_tables_that_go_into_one_are_no_clash_and_say_which(
    retable: Callable[..., Result], write_settings: SettingsWriter
) -> None:
    names = [f"shop000.{name}" for name in sorted(DESIGNS) if name != "stock"]
    for routed, clash in ((names[:2], None), (names[:1], names[0])):
        rules = "".join(f'[tables."{name}"]\nto = "{names[1]}"\n' for name in routed)
        write_settings(SOURCE.partition("[tables")[0] + rules)
        found = tables(retable("check", "shop", "--json"))
        assert [found[name]["gold"] for name in names[:2]] == [f"gold_{names[1]}"] * 2
        assert [found[name]["clashes_with"] for name in names[:2]] == [None, clash]


def test_looking_writes_nothing(retable: Callable[..., Result], tmp_path: Path) -> None:
    retable("check", "shop")
    assert not any((tmp_path / "lake").rglob("*.parquet"))


def test_a_pattern_that_matches_no_table_is_told_with_the_nearest(
    retable: Callable[..., Result], write_settings: SettingsWriter
) -> None:
    assert "warning" not in retable("check", "shop").stderr
    write_settings(f'{SOURCE}\n[tables."shop000.custmers"]\nkeys = ["id"]\n\n[tables."shop000.o*"]\nsla = "1h"\n')
    told = retable("check", "shop").stderr
    assert 'warning: [tables."shop000.custmers"] matches no known table; did you mean' in told
    assert told.count("warning") == 1


def test_hours_in_the_names_of_objects_that_no_setting_reads_are_told(
    retable: Callable[..., Result], write_settings: SettingsWriter
) -> None:
    told = retable("check", "shop").stderr
    assert "the names of its objects contain their hour, but `hour` is not set" in told
    (pattern,) = re.findall("`hour = '(.*)'`", told)
    write_settings(SOURCE.replace('layout = "kafka_dump"', f"layout = \"kafka_dump\"\nhour = '{pattern}'"))
    assert "contain their hour" not in retable("check", "shop").stderr
