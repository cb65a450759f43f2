"""A genuine stream that nothing interrupts: what gold and the record must be in spite of every fault."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from pyiceberg.table import Table
from pyspark.sql import SparkSession

from recorded import record_windows
from retable.decode.spark import decode
from retable.gold.read import list_gold, read_rows
from retable.gold.render import json_rows
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger, read_tables, scan
from retable.replay.spark import replay
from retable.session import build_session
from retable.settings.load import Settings, load_settings
from streams import CHECKPOINTS, SOURCE, canal_lines, checkpoint_cuts, write_objects

NOW = datetime(2026, 4, 1, tzinfo=UTC)
LAKE = '[lake]\ncatalog = "sqlite:///{catalog}"\nwarehouse = "{warehouse}"\n'
TABLES = '[tables."shop.customers"]\nformat_version = 2\n'
REPLAYED = CHECKPOINTS[:-1]
LEFT_BEHIND = ("retable_", "_retable_new_")

_WHEN = {"recorded_at", "quarantined_at"}
_FIELD_IDS = "columns"


@dataclass(frozen=True, slots=True)
class Uninterrupted:
    """A stream that is landed and decoded, and its replay up to each checkpoint: steps, then gold and the record."""

    folder: Path
    windows: dict[str, str]
    steps: dict[str, list[str]] = field(default_factory=dict)
    rows: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    gold: dict[str, dict[str, object]] = field(default_factory=dict)
    record: dict[str, dict[str, object]] = field(default_factory=dict)

    def before(self, checkpoint: str, folder: Path) -> Settings:
        """Settings of a lake of its own, in which all windows before the one of the checkpoint are replayed.

        The files of the tables are shared, and nobody changes one.
        """
        return copy_lake(self.folder / checkpoint, folder)

    def after(self, folder: Path) -> Settings:
        """Settings of a lake of its own, in which all windows are replayed."""
        return copy_lake(self.folder, folder)


def prepare(folder: Path, warehouse: Path, catalog: Path = Path("catalog.db")) -> Settings:
    """Write the stream as objects, and settings of an empty lake for it."""
    write_objects(canal_lines(), checkpoint_cuts(canal_lines()), folder / "landing")
    toml = LAKE.format(catalog=catalog, warehouse=warehouse) + TABLES + SOURCE.format(folder=folder / "landing")
    (folder / "retable.toml").write_text(toml, encoding="utf-8")
    return load_settings(folder / "retable.toml")


def record_all(lake: Lake) -> list[str]:
    """Record the windows of the checkpoints that are replayed."""
    source = lake.settings.source("erp")
    end = datetime(2026, 3, 1, len(REPLAYED) - 1, 1, tzinfo=UTC)
    return [window.name for window in record_windows(lake, source, lambda: list_objects(source), end, NOW)]


def replay_uninterrupted(folder: Path) -> Uninterrupted:
    settings = prepare(folder, folder / "warehouse")
    lake, source = open_lake(settings), settings.source("erp")
    session = build_session(settings, "retable tests")
    whole = Uninterrupted(folder, dict(zip(REPLAYED, record_all(lake), strict=True)))
    for window in whole.windows.values():
        land_window(session, lake, source, window, "whole", NOW)
        decode(session, lake, source, window, "whole", NOW)
    for checkpoint, window in whole.windows.items():
        copy_lake(folder, folder / checkpoint)
        steps = whole.steps[checkpoint] = []
        replay(session, lake, source, window, "whole", NOW, steps.append)
        whole.rows[checkpoint], whole.gold[checkpoint] = rows(lake), gold(lake)
        whole.record[checkpoint] = record(lake)
    return whole


def replay_again(session: SparkSession, lake: Lake, window: str, run_id: str) -> None:
    replay(session, lake, lake.settings.source("erp"), window, run_id, NOW)


def rows(lake: Lake) -> dict[str, list[str]]:
    """What a reader sees of every gold table now, by the table's identity."""
    return {table.state.identity: _rows(lake, table.name, all_columns=False) for table in list_gold(lake)}


def gold(lake: Lake) -> dict[str, object]:
    """Every gold table: name, columns, what it says of itself, rows with their sequences; without the ids of files."""
    return {
        table.state.identity: (
            table.name,
            table.columns,
            replace(
                table.state,
                columns=tuple(replace(column, field_id=0) for column in table.state.columns),
                applied=dict.fromkeys(table.state.applied, ""),
            ),
            _rows(lake, table.name, all_columns=True),
        )
        for table in list_gold(lake)
    }


def record(lake: Lake) -> dict[str, object]:
    """What the replays left for people, without the moment and Iceberg's own ids."""
    return {
        "ledger": {
            (row.window, row.stage, row.table): (row.counts, row.lowest, row.highest, row.identity)
            for row in read_ledger(lake, "erp")
        },
        "tables": [replace(row, recorded_at=NOW) for row in read_tables(lake, "erp")],
        "schema changes": _facts(lake, "ops.schema_changes"),
        "quarantine": _facts(lake, "quarantine.erp"),
    }


def assert_balanced(lake: Lake) -> None:
    """Every row that decode counted has one verdict of replay, and the last cut is gold as it is."""
    ledger = [row for row in read_ledger(lake, "erp") if row.table is None]
    decoded = {row.window: row.counts["rows"] for row in ledger if row.stage == "decode"}
    replayed = {row.window: row.counts.get("rows", 0) for row in ledger if row.stage == "replay"}
    assert replayed == {window: decoded[window] for window in replayed}
    cut = read_cuts(lake, "erp").at(max(replayed)).values()
    newest = {table.name: lake.load(table.name).metadata.current_snapshot_id for table in list_gold(lake)}
    assert {row.table: row.snapshot_id for row in cut} == newest


def left_behind(lake: Lake) -> list[str]:
    """The branches and columns of runs that did not end, on every table of gold, also one that is not begun yet."""
    found = []
    for table in gold_tables(lake):
        names = [*table.metadata.refs, *(column.name for column in table.schema().fields)]
        found += [f"{table.name()}: {name}" for name in names if name.startswith(LEFT_BEHIND)]
    return found


def gold_tables(lake: Lake) -> list[Table]:
    namespaces = [levels for levels in lake.catalog.list_namespaces() if levels[0].startswith("gold_")]
    return [lake.catalog.load_table(name) for levels in namespaces for name in lake.catalog.list_tables(levels)]


def _rows(lake: Lake, name: str, all_columns: bool) -> list[str]:
    return sorted(line for batch in read_rows(lake, name, all_columns=all_columns) for line in json_rows(batch))


def _facts(lake: Lake, name: str) -> list[str]:
    rows: Sequence[dict[str, object]] = scan(lake, lake.find(name)).to_pylist()
    return sorted(str([value for key, value in row.items() if key not in {*_WHEN, _FIELD_IDS}]) for row in rows)


def copy_lake(lake: Path, to: Path) -> Settings:
    """Copy settings and catalog, whatever of it still stands in the write-ahead log."""
    to.mkdir(exist_ok=True)
    (to / "retable.toml").write_text((lake / "retable.toml").read_text(encoding="utf-8"), encoding="utf-8")
    with closing(sqlite3.connect(lake / "catalog.db")) as old, closing(sqlite3.connect(to / "catalog.db")) as new:
        old.backup(new)
    return load_settings(to / "retable.toml")
