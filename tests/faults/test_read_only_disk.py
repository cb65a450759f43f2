"""A lake on a disk that is mounted read-only, as of a copy or a snapshot: it is read like any other."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.runs import begin_run, counted
from retable.settings.load import load_settings

SETTINGS = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"

[sources.dump]
kind = "files"
format = "canal_json"
path = "dump"
layout = "lines"
"""
ACTION = {"source": "dump", "action": "look", "target": "x", "reason": "", "who": "me", "recorded_at": None}
ROWS = pa.Table.from_pylist([ACTION], schema=OPS["ops.actions"].columns)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    subprocess.run(["mount", "-t", "tmpfs", "retable", str(tmp_path)], check=True)
    try:
        (tmp_path / "retable.toml").write_text(SETTINGS, encoding="utf-8")
        monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
        yield tmp_path
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def read_only(disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)


@pytest.fixture
def retable() -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(app, words, prog_name="retable")


def test_status_reads_a_lake_on_a_read_only_disk(disk: Path, retable: Callable[..., Result]) -> None:
    with counted(open_lake(load_settings())) as lake:
        lake.ensure("ops.actions").append(ROWS)
    read_only(disk)
    for words in (["status"], ["tables"], ["hold", "list"]):
        assert retable(*words).exit_code == 0, words
    refused = retable("run", "dump")
    assert refused.exit_code == 1
    assert "read-only" in refused.stderr


def test_commits_that_cannot_be_finished_on_a_read_only_disk_are_told(
    disk: Path, retable: Callable[..., Result]
) -> None:
    lake = open_lake(load_settings())
    begin_run(lake)
    for name in ("catalog.db", "catalog.db-wal"):
        (disk / name).write_bytes((disk / "lake" / name).read_bytes())
    lake.catalog.close()
    for name in ("catalog.db", "catalog.db-wal"):
        (disk / "lake" / name).write_bytes((disk / name).read_bytes())
    read_only(disk)
    refused = retable("status")
    assert refused.exit_code == 1
    assert "read-only disk" in refused.stderr
    assert "catalog.db-wal has commits" in refused.stderr
