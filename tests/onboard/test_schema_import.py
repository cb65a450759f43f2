"""`retable schema import`: kept once, shown as a difference from then on, and a run that needs no key and no type."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakes import SettingsWriter
from onboard.schemas import many, many_dump
from retable.cli.app import app
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_actions
from retable.model.sequence import LOWEST, Sequence
from retable.replay.inputs.imports import read_schema_imports
from retable.settings.load import Settings

SOURCE = """
[sources.shop]
kind = "files"
format = "debezium_json"
path = "landing"
layout = "kafka_dump"
exclude = ["shop.stock*"]
"""


@pytest.fixture
def settings(write_settings: SettingsWriter) -> Settings:
    return write_settings(SOURCE)


@pytest.fixture
def lake(settings: Settings) -> Lake:
    return open_lake(settings)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.sql"
    path.write_text("".join(many_dump(10)), encoding="utf-8")
    return path


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lake: Lake) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")


def test_the_first_import_is_kept_and_the_same_again_changes_nothing(
    retable: Callable[..., Result], dump: Path, lake: Lake
) -> None:
    first = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start", "--json")
    assert first.exit_code == 0, first.output
    told = json.loads(first.stdout)
    assert told["kept"]
    assert (len(told["added"]), told["left_out"]) == (8, 2)
    assert {each.table.table.table for each in read_schema_imports(lake, "shop").each} == {
        name for name in many(10) if not name.startswith("stock")
    }
    again = json.loads(retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start", "--json").stdout)
    assert (again["kept"], again["same"], again["added"], again["changed"]) == (False, 8, [], {})
    assert [action.action.split(" at ")[0] for action in read_actions(lake, "shop")] == ["schema import of 8 tables"]


def test_a_difference_is_shown_column_by_column_and_kept_when_it_is_asked_for(
    retable: Callable[..., Result], dump: Path, lake: Lake
) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    text = dump.read_text(encoding="utf-8")
    text = text.replace("`total` decimal(12,2) NOT NULL DEFAULT '0.00'", "`total` decimal(14,4) DEFAULT '0.00'", 1)
    text = text.replace("  `name` varchar(64) COLLATE utf8mb4_bin NOT NULL,\n", "  `nick` varchar(8),\n", 1)
    dump.write_text(f"{text}CREATE TABLE `more` (`id` int);\nDROP TABLE `order_lines`;\n", encoding="utf-8")
    shown = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:500")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        "+ shop.more",
        "~ shop.orders: column total: decimal(12,2) became decimal(14,4)",
        "~ shop.orders: column total: may be null now",
        "~ shop.customers: column nick varchar(8): added",
        "~ shop.customers: column name: gone",
        "- shop.order_lines: an earlier import declared it; it stays as it is",
    ]
    assert len(read_schema_imports(lake, "shop").each) == 8
    assert "--apply" in shown.stderr
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:500", "--apply")
    assert len(read_schema_imports(lake, "shop").each) == 11


def test_an_import_said_to_be_of_too_late_a_position_is_kept_again_as_of_an_earlier_one(
    retable: Callable[..., Result], dump: Path, lake: Lake
) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:9000")
    shown = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    assert "~ shop.orders: as of start, was 0:9000:0" in shown.stdout.splitlines()
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start", "--apply")
    assert {each.position for each in read_schema_imports(lake, "shop").each} == {LOWEST, Sequence(0, 9000, 0)}
    again = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:100", "--json")
    assert json.loads(again.stdout)["same"] == 8


def test_a_difference_is_from_the_import_in_force_at_the_position(retable: Callable[..., Result], dump: Path) -> None:
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    text = dump.read_text(encoding="utf-8")
    dump.write_text(text.replace("`total` decimal(12,2)", "`total` decimal(14,4)", 1), encoding="utf-8")
    retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:500", "--apply")
    between = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "0:400")
    assert between.stdout.splitlines() == ["~ shop.orders: column total: decimal(12,2) became decimal(14,4)"]


def test_what_is_not_understood_ends_with_attention_and_the_rest_is_kept(
    retable: Callable[..., Result], dump: Path, lake: Lake
) -> None:
    with dump.open("a", encoding="utf-8") as file:
        file.write("CREATE TABLE `strange` (`a` frob(1) ??);\n")
    result = retable("schema", "import", "shop", "--from", "dump.sql", "--at", "start")
    assert result.exit_code == 2
    assert "? line " in result.stdout
    assert "shop.strange" in result.stdout
    assert len(read_schema_imports(lake, "shop").each) == 8


def test_without_a_position_nothing_is_kept(retable: Callable[..., Result], dump: Path, lake: Lake) -> None:
    result = retable("schema", "import", "shop", "--from", "dump.sql")
    assert result.exit_code == 1
    assert "--at start" in result.stderr
    assert not read_schema_imports(lake, "shop").each


def test_the_place_in_the_binlog_is_debeziums_own_position(
    retable: Callable[..., Result], dump: Path, lake: Lake
) -> None:
    with dump.open("a", encoding="utf-8") as file:
        file.write("-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000003', MASTER_LOG_POS=154;\n")
    result = retable("schema", "import", "shop", "--from", "dump.sql", "--json")
    assert json.loads(result.stdout)["position"] == f"0:{3 * 2**40 + 154}:-1"


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        ("nowhere.sql", "is neither a file"),
        ("jdbc:mysql://u:secret@h/shop", "must not contain a password"),
        ("jdbc:mysql://h/shop?user=u&Password=secret", "must not contain a password"),
        ("jdbc:mysql://h/shop?user=u&pwd=secret", "must not contain a password"),
        ("jdbc:db2://h/shop", "cannot be read"),
    ],
)
def test_a_wrong_origin_is_named(retable: Callable[..., Result], origin: str, words: str) -> None:
    result = retable("schema", "import", "shop", "--from", origin, "--at", "start")
    assert result.exit_code == 1
    assert words in result.stderr
    assert "secret" not in result.stdout


def test_schema_of_a_table_is_still_a_command(retable: Callable[..., Result]) -> None:
    assert "gold_shop.orders" in retable("schema", "gold_shop.orders").stderr
