"""The bench of the record makes a lake that every one of its measurements can use, and that the project finds right."""

from pathlib import Path

import pytest

from bench.history import MEASURED, SOURCE, Shape, make, settings_in, write_settings
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import open_lake_to_read
from retable.ledger.read import read_ledger, read_stages, read_tables
from retable.ledger.windows.recording import read_windows

SHAPE = Shape(30, tables=6, busy=2, statements=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    make(folder, SHAPE)
    write_settings(folder)
    return folder


def test_the_record_is_that_of_so_many_windows(folder: Path) -> None:
    lake = open_lake_to_read(settings_in(folder))
    windows, done = read_windows(lake, SOURCE), read_stages(lake, SOURCE)
    assert len(windows) == len(done["land"]) == len(done["decode"]) == SHAPE.windows
    assert len(done["replay"]) == SHAPE.windows - 1
    counted = [row for row in read_ledger(lake, SOURCE, stage="replay") if row.table is not None]
    assert len(counted) == (SHAPE.windows - 1) * SHAPE.busy
    assert len(read_tables(lake, SOURCE)) == SHAPE.tables
    assert len(read_cuts(lake, SOURCE).at(windows[-1].name)) == SHAPE.tables


@pytest.mark.parametrize("what", [name for name in MEASURED if name != "status"])
def test_each_measurement_runs(folder: Path, what: str) -> None:
    MEASURED[what](folder)
    if what == "replay":
        lake = open_lake_to_read(settings_in(folder))
        assert len(read_stages(lake, SOURCE)["replay"]) == SHAPE.windows
