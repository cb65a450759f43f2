"""The demo's stream, cut into hours."""

import json
import tomllib

import pytest

import demo_source
from retable.config import load_settings


def _line(table: str, **row: str) -> str:
    change = {"table": table, "data": [row] if row else None}
    return json.dumps({"value": json.dumps(change)}) + "\n"


STREAM = [
    _line("orders", id="1"),
    _line("wl_marker", id="1", label="one"),
    _line("notes", text="one two"),
    _line("wl_marker", id="2", label="two"),
    _line("wl_marker"),
]


def test_an_hour_ends_with_the_marker_of_its_checkpoint() -> None:
    assert list(demo_source.cut(STREAM, ["one", "two"])) == [STREAM[:2], STREAM[2:]]


def test_another_table_that_says_a_checkpoints_name_ends_nothing() -> None:
    assert list(demo_source.cut(STREAM, ["two", "three"])) == [STREAM[:4], STREAM[4:]]


def test_every_line_of_the_real_stream_is_in_one_hour_of_the_last_full_ones(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path_factory.mktemp("demo") / "demo"
    monkeypatch.setattr(demo_source, "FOLDER", folder)
    monkeypatch.setattr(demo_source, "SETTINGS", folder / "retable.toml")
    source = load_settings(demo_source.prepare()).source("demo")
    objects = sorted(source.path.iterdir())
    assert len(objects) == len(demo_source.HOURS) >= 3
    assert objects[0].stem == f"{source.start:%Y-%m-%dT%H}"
    offsets = [json.loads(line)["offset"] for path in objects for line in path.read_text("utf-8").split("\n") if line]
    assert offsets == list(range(len(offsets)))
    assert len(offsets) > 1000


def test_the_demo_shows_the_settings_that_a_user_would_write() -> None:
    template = (demo_source.ROOT / "infra" / "settings" / "demo.toml").read_text("utf-8")
    assert tomllib.loads(template)["sources"]["demo"]["path"] == "landing"
