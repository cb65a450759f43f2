"""Files of ops written anew, without Spark."""

from datetime import UTC, datetime

import pyarrow as pa

from retable.ledger.lake.catalog import open_lake, widen
from retable.ledger.lake.tables import OPS
from retable.ledger.leases import LENGTH, standing_leases
from retable.settings.load import Settings
from retable.upkeep.inspection import TablePlace, facts_of
from retable.upkeep.system import compact_ops

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


def test_files_from_before_a_table_got_more_columns_are_written_with_those_from_after(lake_settings: Settings) -> None:
    lake, columns = open_lake(lake_settings), OPS["ops.leases"].columns
    old = pa.schema(list(columns)[:-2])
    lake.ensure("ops.windows")
    table = lake.catalog.create_table("ops.leases", old, lake.new_location("ops"))
    with table.update_spec() as spec:
        spec.add_identity("source")
    row = {"source": "erp", "target": "erp", "purpose": "replay", "until": NOW + LENGTH, "recorded_at": NOW}
    table.append(pa.Table.from_pylist([{**row, "holder": "old"}], schema=old))
    widen(lake, lake.load("ops.leases"))
    table = lake.load("ops.leases")
    table.append(pa.Table.from_pylist([{**row, "holder": "new", "window": "20260301T0400Z"}], schema=columns))
    files = facts_of(lake, TablePlace("ops.leases", "ops", None), table).files
    assert compact_ops(lake, table, {files[0].partition: files}, "run") == 2
    assert lake.load("ops.leases").inspect.files().num_rows == 1
    assert {(each.holder, each.window) for each in standing_leases(lake, "erp", NOW)} == {
        ("old", None),
        ("new", "20260301T0400Z"),
    }
