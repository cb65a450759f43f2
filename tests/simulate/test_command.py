"""`retable simulate` writes messages, settings and truth that belong together."""

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.decode.context import context_of
from retable.formats.registry import decode_message
from retable.land.objects.files import list_objects
from retable.land.objects.layouts import read_messages
from retable.model.window import SourceObject
from retable.settings.load import load_settings
from retable.simulate import FORMATS, simulate

Retable = Callable[..., Result]


@pytest.fixture
def retable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Retable:
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(app, args, prog_name="retable")


@pytest.mark.parametrize("source_format", FORMATS)
def test_settings_read_the_messages_that_were_written(retable: Retable, tmp_path: Path, source_format: str) -> None:
    start = ("--start", "2026-03-01T05:20:00Z")
    result = retable("simulate", "shop", "--format", source_format, "--changes", "80", *start)
    assert result.exit_code == 0, result.stderr
    settings = load_settings(tmp_path / "shop" / "retable.toml")
    source = settings.source("shop")
    objects = list_objects(source)
    assert sorted(item.key for item in objects) == [f"shop-2026-03-01T{hour:02}.jsonl" for hour in (5, 6, 7)]
    events = [
        event
        for item in objects
        for message in read_messages(source, SourceObject(0, item.key, "", item.size))
        if message is not None
        for event in decode_message(message, context_of(source, lambda table: settings.rules(table).keys))
    ]
    assert {event.source_format for event in events} == {source_format}
    assert {event.address.partition for event in events} == ({0} if FORMATS[source_format].by_offset else {0, 1, 2})


def test_the_truth_is_one_file_a_table_under_the_name_of_its_gold_table(retable: Retable, tmp_path: Path) -> None:
    retable("simulate", "shop", "--changes", "0", "--start", "2026-03-01T05:00:00Z")
    files = sorted(path.name for path in (tmp_path / "shop" / "truth").iterdir())
    tables = ("customers", "events", "order_lines", "orders", "stock")
    assert files == [f"gold_shop.{table}.jsonl" for table in tables]
    loaded = simulate(random.Random(1), 0, rows=25).truth()
    text = (tmp_path / "shop" / "truth" / "gold_shop.customers.jsonl").read_text(encoding="utf-8")
    assert text == "".join(f"{line}\n" for line in loaded.lines("customers"))
    assert {json.loads(line)["id"] for line in text.rstrip("\n").split("\n")} >= {"1", "2"}


def test_equal_seeds_write_equal_bytes(retable: Retable, tmp_path: Path) -> None:
    def content(name: str, seed: int) -> dict[str, bytes]:
        start = ("--start", "2026-03-01T05:00:00Z", "--changes", "60")
        assert retable("simulate", name, "--seed", str(seed), *start).exit_code == 0
        folder = tmp_path / name
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    first = content("a", 5)
    assert content("b", 5) == first
    assert content("c", 6) != first


def test_without_a_start_the_last_hour_is_the_last_full_one(
    retable: Retable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retable.cli.try_out.simulate.now", lambda: datetime(2026, 3, 1, 12, 34, tzinfo=UTC))
    result = retable("simulate", "shop", "--hours", "2", "--changes", "9")
    assert sorted(path.name for path in (tmp_path / "shop" / "landing").iterdir()) == [
        "shop-2026-03-01T10.jsonl",
        "shop-2026-03-01T11.jsonl",
    ]
    assert "retable run shop --to 2026-03-01T12:00:00Z" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("full",), "full is not empty"),
        (("file",), "file is a file"),
        (("shop", "--format", "canal_json", "--partitions", "2"), "only offsets order messages of canal_json"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_reason(
    retable: Retable, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    result = retable("simulate", *arguments)
    assert result.exit_code == 1
    assert words in result.stderr
    assert not (tmp_path / "shop").exists()
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["mine"]


def test_an_empty_folder_is_filled(retable: Retable, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    assert retable("simulate", "shop", "--changes", "3").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "shop").iterdir()) == ["landing", "retable.toml", "truth"]
