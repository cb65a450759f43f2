"""A disk that is full: every stage says so, and runs as if nothing had been once there is room."""

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from faults.uninterrupted import NOW, Uninterrupted, assert_balanced, gold, left_behind, prepare, record_all, rows
from retable.decode.spark import decode
from retable.errors import EnvironmentFault
from retable.land.spark import land_window
from retable.ledger.lake.catalog import open_lake
from retable.replay.spark import replay
from retable.session import build_session

SIZE = "24m"
LITTLE = 96 << 10
"""Free bytes with which a stage stops on its way, if at all; with none it cannot begin."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode:
        pytest.fail(f"a full disk needs one of its own, and root to mount it: {done.stderr.strip()}", pytrace=False)
    yield place
    # Spark never closes a catalog that it opened.
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextmanager
def full(disk: Path, catalog: Path, room: int) -> Iterator[None]:
    """Fill a disk but for so many bytes, and leave none in what the catalog's log takes of it already."""
    with closing(sqlite3.connect(catalog)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    filler, left = disk / "filler", os.statvfs(disk)
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, left.f_bavail * left.f_frsize - room)
    yield
    filler.unlink()


@pytest.mark.parametrize("on_it", [("warehouse",), ("catalog",), ("warehouse", "catalog")], ids=" and ".join)
def test_a_full_disk_stops_every_stage_with_its_remedy_and_then_gold_is_the_same(
    on_it: tuple[str, ...], uninterrupted: Uninterrupted, disk: Path, tmp_path: Path
) -> None:
    warehouse, catalog = ((disk if name in on_it else tmp_path) / name for name in ("warehouse", "catalog"))
    settings = prepare(tmp_path, warehouse, catalog)
    lake, source = open_lake(settings), settings.source("erp")
    session = build_session(settings, "retable tests")
    record_all(lake)
    for checkpoint in ("cp0_preload", "cp1_dml"):
        window, before = uninterrupted.windows[checkpoint], rows(lake)
        for stage in (land_window, decode, replay):
            with full(disk, catalog, 0), pytest.raises(EnvironmentFault, match="space"):
                stage(session, lake, source, window, "no room", NOW)
            with full(disk, catalog, LITTLE), suppress(EnvironmentFault):
                stage(session, lake, source, window, "little room", NOW)
            for identity, seen in rows(lake).items():
                assert seen in (before.get(identity), uninterrupted.rows[checkpoint][identity]), identity
            stage(session, lake, source, window, "room", NOW)
        assert gold(lake) == uninterrupted.gold[checkpoint]
        assert_balanced(lake)
        assert left_behind(lake) == []
