"""`retable recover`: a catalog made again from the warehouse's tables."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import Result

from retable.ledger.lake.catalog import Lake, close_lake, open_lake, runs_behind
from retable.ledger.lake.identity import RECORD
from retable.ledger.lake.tables import OPS
from retable.ledger.runs import counted
from retable.settings.load import Settings

Retable = Callable[..., Result]
ACTION = {"source": "erp", "action": "look", "target": "erp", "reason": "", "who": "me", "recorded_at": None}
ROWS = pa.Table.from_pylist([ACTION], schema=OPS["ops.actions"].columns)


def act(settings: Settings, times: int = 1) -> None:
    for _ in range(times):
        with counted(open_lake(settings)) as lake:
            lake.ensure("ops.actions").append(ROWS)
            lake.ensure("bronze.dump")


def actions(settings: Settings) -> int:
    lake = open_lake(settings)
    assert runs_behind(lake) == 0
    return int(lake.load("ops.actions").scan().count())


def lose(catalog: Path) -> None:
    catalog.unlink()


def empty(catalog: Path) -> None:
    catalog.write_bytes(b"")


def damage(catalog: Path) -> None:
    catalog.write_bytes(b"garbage" * 1000)


def truncate(catalog: Path) -> None:
    catalog.write_bytes(catalog.read_bytes()[:10_000])


@pytest.mark.parametrize("break_it", [lose, empty, damage, truncate])
def test_a_lake_whose_catalog_is_gone_comes_back_whole(
    settings: Settings, retable: Retable, tmp_path: Path, break_it: Callable[[Path], None]
) -> None:
    act(settings, 3)
    break_it(tmp_path / "lake" / "catalog.db")
    refused = retable("status")
    assert refused.exit_code == 1
    assert "retable recover" in refused.stderr
    shown = retable("recover", input="n\n")
    assert shown.exit_code == 1
    assert "ops.actions" in shown.stdout
    assert "not in the catalog" in shown.stdout
    done = retable("recover", "--yes")
    assert done.exit_code == 0, done.output
    assert actions(settings) == 3
    act(settings)
    assert actions(settings) == 4
    again = retable("recover", "--yes")
    assert "nothing to do" in again.stderr


def test_the_former_catalog_is_kept(settings: Settings, retable: Retable, tmp_path: Path) -> None:
    act(settings)
    shutil.copy2(tmp_path / "lake" / "catalog.db", tmp_path / "old.db")
    act(settings, 2)
    shutil.copy2(tmp_path / "old.db", tmp_path / "lake" / "catalog.db")
    assert "older than the warehouse" in retable("status").stderr
    done = retable("recover", "--yes")
    assert "ops.actions  the catalog is 2 commits older" in done.stdout
    (kept,) = (tmp_path / "lake").glob("catalog.db.before-*Z")
    assert kept.read_bytes() == (tmp_path / "old.db").read_bytes()
    assert actions(settings) == 3


def metadata(settings: Settings, table: str) -> list[Path]:
    lake = open_lake(settings)
    folder = Path(lake.load(table).location()) / "metadata"
    close_lake(lake)
    return sorted(folder.glob("*.metadata.json"))


def test_two_metadata_files_of_one_version_are_shown_and_one_is_chosen(
    settings: Settings, retable: Retable, tmp_path: Path
) -> None:
    act(settings, 2)
    newest = metadata(settings, "ops.actions")[-1]
    other = newest.with_name(newest.name[:6] + "0" * 8 + newest.name[14:])
    shutil.copy2(newest, other)
    assert actions(settings) == 2
    assert retable("recover").exit_code == 0, "the catalog tells which one counts"
    (tmp_path / "lake" / "catalog.db").unlink()
    shown = retable("recover", "--yes")
    assert shown.exit_code == 1
    assert {f"--take {newest}", f"--take {other}"} <= {line.strip() for line in shown.stderr.splitlines()}
    assert retable("recover", "--yes", "--take", str(newest)).exit_code == 0
    assert actions(settings) == 2


def test_a_file_of_a_lost_race_that_a_later_one_does_not_name_never_counts(
    settings: Settings, retable: Retable, tmp_path: Path
) -> None:
    act(settings, 3)
    before, newest = metadata(settings, "ops.actions")[-2:]
    shutil.copy2(before, before.with_name(before.name[:6] + "0" * 8 + before.name[14:]))
    (tmp_path / "lake" / "catalog.db").unlink()
    assert retable("recover", "--yes").exit_code == 0
    assert Path(open_lake(settings).load("ops.actions").metadata_location) == newest


def test_a_damaged_metadata_file_is_shown_with_the_one_before_it(
    settings: Settings, retable: Retable, tmp_path: Path
) -> None:
    act(settings, 3)
    before, newest = metadata(settings, "ops.actions")[-2:]
    newest.write_text(newest.read_text()[:700])
    shown = retable("recover", "--yes")
    assert shown.exit_code == 1
    assert f"{newest} is damaged" in shown.stderr
    assert f"--take {before}" in shown.stderr
    assert retable("recover", "--yes", "--take", str(before)).exit_code == 0
    assert actions(settings) == 2


def test_a_table_without_any_sound_metadata_is_named_and_left_out(
    settings: Settings, retable: Retable, tmp_path: Path
) -> None:
    act(settings)
    (only,) = metadata(settings, "bronze.dump")
    only.write_bytes(b"")
    (tmp_path / "lake" / "catalog.db").unlink()
    done = retable("recover", "--yes")
    assert done.exit_code == 0
    assert f"left out: every metadata file of {only.parents[1]} is damaged" in done.stderr
    assert "bronze.dump" not in open_lake(settings).names()
    assert actions(settings) == 1


def test_a_damaged_record_of_the_warehouse_is_written_again(
    settings: Settings, retable: Retable, tmp_path: Path
) -> None:
    act(settings, 2)
    record = tmp_path / "lake" / RECORD
    record.write_text(record.read_text()[:30])
    assert retable("status").exit_code == 1
    assert retable("recover", "--yes").exit_code == 0
    assert retable("status").exit_code == 0
    assert actions(settings) == 2


def test_tables_of_others_stay_in_the_catalog(settings: Settings, retable: Retable, tmp_path: Path) -> None:
    act(settings)
    lake = open_lake(settings)
    lake.catalog.create_namespace("marts")
    lake.catalog.create_table("marts.mine", ROWS.schema, location=str(tmp_path / "marts"))
    close_lake(lake)
    shutil.copy2(tmp_path / "lake" / "catalog.db", tmp_path / "old.db")
    act(settings)
    shutil.copy2(tmp_path / "old.db", tmp_path / "lake" / "catalog.db")
    assert retable("recover", "--yes").exit_code == 0
    assert "marts.mine" in open_lake(settings).names()


def test_a_lake_without_tables_has_nothing_to_recover(settings: Settings, retable: Retable) -> None:
    shown = retable("recover")
    assert (shown.exit_code, "has no tables" in shown.stderr) == (1, True)


def test_a_backup_into_a_folder_that_is_not_there_is_refused(retable: Retable, lake: Lake, tmp_path: Path) -> None:
    refused = retable("backup", f"{tmp_path}/saved/")
    assert (refused.exit_code, (tmp_path / "saved").exists()) == (1, False)
    assert "does not exist" in refused.stderr
    (tmp_path / "saved").mkdir()
    assert retable("backup", f"{tmp_path}/saved/").exit_code == 0
    assert len([*(tmp_path / "saved").iterdir()]) == 1
