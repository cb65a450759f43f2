"""A lake knows itself: a catalog that is lost, old or another lake's is refused before anything is written."""

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from lakes import SettingsWriter
from retable.errors import CatalogMismatch
from retable.ledger.lake.catalog import Lake, close_lake, open_lake, open_lake_to_read, runs_behind
from retable.ledger.lake.identity import LAYOUT, RECORD, read_record
from retable.ledger.lake.tables import OPS
from retable.ledger.lake.warehouse import LAKE_TABLE, NAME_PROPERTY, Warehouse
from retable.ledger.runs import begin_run, counted
from retable.settings.load import Settings, load_settings

ACTION = {"source": "erp", "action": "look", "target": "erp", "reason": "", "who": "me", "recorded_at": None}


def act(settings: Settings, times: int = 1) -> None:
    """Write into a lake, as so many runs."""
    for _ in range(times):
        with counted(open_lake(settings)) as lake:
            lake.ensure("ops.actions").append(pa.Table.from_pylist([ACTION], schema=OPS["ops.actions"].columns))


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.name.endswith(("-wal", "-shm"))}


def copy_catalog(folder: Path, to: Path) -> None:
    to.mkdir(exist_ok=True)
    for file in (folder / "lake").glob("catalog.db*"):
        shutil.copy2(file, to)


def restore_catalog(folder: Path, copy: Path) -> None:
    for file in (folder / "lake").glob("catalog.db*"):
        file.unlink()
    for file in copy.iterdir():
        shutil.copy2(file, folder / "lake")


def empty(file: Path) -> None:
    file.write_bytes(b"")


def make_anew(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE notes (text)")


def test_a_lake_has_one_identity_in_both_places_and_counts_its_runs(lake_settings: Settings) -> None:
    act(lake_settings, 3)
    lake, warehouse = open_lake(lake_settings), Warehouse(lake_settings.lake)
    record = read_record(warehouse)
    assert record is not None
    assert (record.layout, record.place) == (LAYOUT, str(lake_settings.lake.warehouse))
    # One when it begins, one when it ends.
    assert record.run == 6
    assert lake.load(LAKE_TABLE).properties["retable.lake.id"] == record.id
    assert runs_behind(lake) == 0
    assert lake.load("ops.actions").properties[NAME_PROPERTY] == "ops.actions"


def test_who_only_reads_a_lake_makes_nothing(lake_settings: Settings, tmp_path: Path) -> None:
    before = files(tmp_path)
    lake = open_lake_to_read(lake_settings)
    assert (lake.names(), runs_behind(lake), files(tmp_path)) == ([], 0, before)


@pytest.mark.parametrize("lose", [Path.unlink, empty, make_anew])
def test_an_empty_catalog_over_a_full_warehouse_is_refused_and_nothing_is_made(
    lake_settings: Settings, tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    act(lake_settings)
    catalog = tmp_path / "lake" / "catalog.db"
    lose(catalog)
    before = files(tmp_path)
    with pytest.raises(CatalogMismatch, match="has no tables, but the warehouse .* has 2 runs.*retable recover"):
        open_lake(lake_settings)
    with pytest.raises(CatalogMismatch, match="has no tables"):
        runs_behind(open_lake_to_read(lake_settings))
    assert files(tmp_path) == before


def test_an_empty_catalog_over_a_warehouse_of_an_older_retable_is_refused(
    lake_settings: Settings, tmp_path: Path
) -> None:
    open_lake(lake_settings).ensure("ops.actions")
    (tmp_path / "lake" / "catalog.db").unlink()
    with pytest.raises(CatalogMismatch, match="has no tables, but the warehouse"):
        open_lake(lake_settings)


def test_an_older_catalog_is_refused_for_writing_and_told_to_readers(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    copy_catalog(tmp_path, tmp_path / "copy")
    act(lake_settings, 2)
    restore_catalog(tmp_path, tmp_path / "copy")
    before = files(tmp_path)
    with pytest.raises(CatalogMismatch, match="is older than the warehouse .* by 4 runs.*retable recover"):
        open_lake(lake_settings)
    assert runs_behind(open_lake_to_read(lake_settings)) == 4
    assert files(tmp_path) == before


def test_a_catalog_that_is_put_back_while_a_run_goes_on_ends_that_run(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    copy_catalog(tmp_path, tmp_path / "copy")
    lake = open_lake(lake_settings)
    begin_run(lake)
    lake.catalog.close()
    restore_catalog(tmp_path, tmp_path / "copy")
    with pytest.raises(CatalogMismatch, match="older than the warehouse"):
        begin_run(lake)


def test_a_catalog_that_is_ahead_of_the_warehouse_is_healthy(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    record = tmp_path / "lake" / RECORD
    before = record.read_bytes()
    act(lake_settings)
    record.write_bytes(before)
    act(lake_settings)
    assert json.loads(record.read_text())["run"] == 6


def test_a_catalog_copied_after_a_run_has_all_of_it(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings, 2)
    shutil.copy2(tmp_path / "lake" / "catalog.db", tmp_path / "catalog.db")
    for file in (tmp_path / "lake").glob("catalog.db*"):
        file.unlink()
    shutil.copy2(tmp_path / "catalog.db", tmp_path / "lake" / "catalog.db")
    lake = open_lake(lake_settings)
    assert lake.load("ops.actions").scan().count() == 2


@pytest.fixture
def elsewhere(write_settings: SettingsWriter, tmp_path: Path) -> Callable[[str, str], Settings]:
    """Settings with another catalog or another warehouse."""

    def write(catalog: str, warehouse: str) -> Settings:
        path = tmp_path / "other.toml"
        path.write_text(f'[lake]\ncatalog = "sqlite:///{catalog}"\nwarehouse = "{warehouse}"\n', encoding="utf-8")
        return load_settings(path)

    return write


def test_a_copied_lake_is_refused_until_somebody_says_what_it_is(
    lake_settings: Settings, tmp_path: Path, elsewhere: Callable[[str, str], Settings]
) -> None:
    act(lake_settings)
    shutil.copytree(tmp_path / "lake", tmp_path / "copy")
    with pytest.raises(CatalogMismatch, match="was copied or moved from .*lake, .*--as moved.*--as copy"):
        open_lake(elsewhere("copy/catalog.db", "copy"))


def test_a_lake_may_be_named_by_another_path(
    lake_settings: Settings, tmp_path: Path, elsewhere: Callable[[str, str], Settings]
) -> None:
    act(lake_settings)
    (tmp_path / "link").symlink_to(tmp_path / "lake")
    act(elsewhere("link/catalog.db", "link"))
    act(lake_settings)


@pytest.mark.parametrize("is_made", [True, False])
def test_the_catalog_of_another_warehouse_is_refused(
    lake_settings: Settings, tmp_path: Path, elsewhere: Callable[[str, str], Settings], is_made: bool
) -> None:
    act(lake_settings)
    if is_made:
        act(elsewhere("other/catalog.db", "other"))
    with pytest.raises(CatalogMismatch, match="belongs to"):
        open_lake(elsewhere("lake/catalog.db", "other"))


def test_a_lake_of_a_newer_retable_is_refused(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    record = tmp_path / "lake" / RECORD
    record.write_text(json.dumps({**json.loads(record.read_text()), "layout": LAYOUT + 1}))
    with pytest.raises(CatalogMismatch, match="was written by a newer Retable"):
        open_lake(lake_settings)


def test_a_damaged_record_is_named(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    record = tmp_path / "lake" / RECORD
    record.write_text(record.read_text()[:40])
    with pytest.raises(CatalogMismatch, match=f"{RECORD} is damaged.*retable recover"):
        open_lake(lake_settings)


@pytest.mark.parametrize("damage", [Path.unlink, empty])
def test_a_catalog_that_names_a_record_which_is_gone_is_told_as_old(
    lake_settings: Settings, damage: Callable[[Path], None]
) -> None:
    act(lake_settings)
    lake = open_lake(lake_settings)
    damage(Path(lake.load(LAKE_TABLE).metadata_location))
    with pytest.raises(
        CatalogMismatch, match="ops.lake that cannot be used: the file .*metadata.json .*retable recover"
    ):
        runs_behind(open_lake_to_read(lake_settings))


def test_a_lake_of_an_older_retable_gets_its_identity_and_its_tables_their_names(lake_settings: Settings) -> None:
    lake = open_lake(lake_settings)
    lake.ensure("ops.actions")
    with lake.load("ops.actions").transaction() as change:
        change.remove_properties(NAME_PROPERTY)
    act(lake_settings)
    assert lake.load("ops.actions").properties[NAME_PROPERTY] == "ops.actions"
    assert read_record(Warehouse(lake_settings.lake)) is not None


def test_a_lake_of_an_older_retable_gets_none_from_an_old_catalog(lake_settings: Settings, tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([ACTION], schema=OPS["ops.actions"].columns)
    lake = open_lake(lake_settings)
    lake.ensure("ops.actions").append(rows)
    close_lake(lake)
    copy_catalog(tmp_path, tmp_path / "copy")
    lake.load("ops.actions").append(rows)
    lake.catalog.close()
    restore_catalog(tmp_path, tmp_path / "copy")
    with pytest.raises(CatalogMismatch, match="is older than the warehouse: ops.actions"):
        begin_run(open_lake(lake_settings))


def test_runs_that_begin_at_once_never_let_a_number_go_back(lake_settings: Settings) -> None:
    begin_run(open_lake(lake_settings))

    def watch(lake: Lake) -> set[int]:
        behind = set()
        for _ in range(8):
            begin_run(lake)
            behind.add(runs_behind(lake))
        return behind

    with ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(watch, [open_lake(lake_settings) for _ in range(3)]))
    assert seen == [{0}] * 3


@pytest.mark.skipif(os.name != "posix", reason="the permissions of POSIX")
def test_a_lake_on_a_read_only_disk_is_read(lake_settings: Settings, tmp_path: Path) -> None:
    act(lake_settings)
    for path in [tmp_path / "lake", *(tmp_path / "lake").glob("catalog.db*")]:
        path.chmod(0o555)
    denied = os.access(tmp_path / "lake", os.W_OK)
    try:
        lake = open_lake_to_read(lake_settings)
        assert (runs_behind(lake), lake.load("ops.actions").scan().count()) == (0, 1)
        assert denied or "immutable=1" in lake.catalog.properties["uri"]
    finally:
        (tmp_path / "lake").chmod(0o755)
