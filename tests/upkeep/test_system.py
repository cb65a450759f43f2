"""Files of ops written anew, without Spark."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retable.ledger.lake.catalog import open_lake, widen
from retable.ledger.lake.tables import OPS
from retable.ledger.leases import LENGTH, standing_leases
from retable.ledger.read import read_tables
from retable.ledger.rows import TableRow
from retable.ledger.write import append_rows
from retable.settings.load import Settings
from retable.upkeep.inspection import TablePlace, facts_of
from retable.upkeep.system import compact_ops

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize("is_newer_there", [True, False])
def test_files_from_before_a_table_got_more_columns_are_written_with_those_from_after(
    lake_settings: Settings, is_newer_there: bool
) -> None:
    lake, columns = open_lake(lake_settings), OPS["ops.leases"].columns
    old = pa.schema(list(columns)[:-2])
    lake.ensure("ops.windows")
    table = lake.catalog.create_table("ops.leases", old, lake.new_location("ops"))
    with table.update_spec() as spec:
        spec.add_identity("source")
    row = {"source": "erp", "target": "erp", "purpose": "replay", "until": NOW + LENGTH, "recorded_at": NOW}
    table.append(pa.Table.from_pylist([{**row, "holder": "old"}], schema=old))
    added = {"window": "20260301T0400Z"} if is_newer_there else {}
    if is_newer_there:
        widen(lake, table)
        table = lake.load("ops.leases")
    table.append(pa.Table.from_pylist([{**row, "holder": "new", **added}], schema=columns if is_newer_there else old))
    widen(lake, table)
    files = facts_of(lake, TablePlace("ops.leases", "ops", None), lake.load("ops.leases")).files
    assert compact_ops(lake, table, {files[0].partition: files}, "run") == 2
    assert lake.load("ops.leases").inspect.files().num_rows == 1
    assert {(each.holder, each.window) for each in standing_leases(lake, "erp", NOW)} == {
        ("old", None),
        ("new", added.get("window")),
    }


ROW = TableRow(
    source="erp",
    identity="a",
    gold="gold_shop.a",
    database="shop",
    schema=None,
    table="a",
    state="live",
    hold=None,
    recorded_at=NOW,
)
CLOCKS = st.integers(-24, 24).map(lambda hours: NOW + timedelta(hours=hours))
ACTS = st.lists(st.none() | st.tuples(st.sampled_from("ab"), st.sampled_from(["erp", "crm"]), CLOCKS), max_size=8)


@settings(deadline=None, max_examples=25)
@given(acts=ACTS, many=st.booleans())
def test_the_row_that_was_committed_last_counts_whatever_clocks_said_and_however_files_were_written_anew(
    acts: list[tuple[str, str, datetime] | None], many: bool
) -> None:
    with TemporaryDirectory() as folder:
        places = {"catalog": f"sqlite:///{folder}/c.db", "warehouse": f"{folder}/w"}
        lake = open_lake(Settings.model_validate({"lake": places}))
        newest: dict[tuple[str, str], str] = {}
        for number, act in enumerate(acts):
            if act is None:
                if (table := lake.find("ops.tables")) is not None:
                    files = facts_of(lake, TablePlace("ops.tables", "ops", None), table).files
                    groups = {at: tuple(f for f in files if f.partition == at) for at in {f.partition for f in files}}
                    compact_ops(lake, table, groups, "run")
                continue
            identity, source, clock = act
            row = replace(ROW, identity=identity, source=source, recorded_at=clock)
            rows = [replace(row, gold=f"t{number}.{at}") for at in (0, 1)]
            append_rows(lake, rows if many else rows[1:])
            newest[source, identity] = f"t{number}.1"
            found = [*read_tables(lake, "erp"), *read_tables(lake, "crm")]
            assert {(row.source, row.identity): row.gold for row in found} == newest


def test_rows_that_were_written_anew_say_by_which_commit_they_came(lake_settings: Settings) -> None:
    lake = open_lake(lake_settings)
    for number in range(3):
        append_rows(lake, [replace(ROW, gold=f"t{number}")])
    table = lake.load("ops.tables")
    files = facts_of(lake, TablePlace("ops.tables", "ops", None), table).files
    compact_ops(lake, table, {files[0].partition: files}, "run")
    rows = lake.load("ops.tables").scan().to_arrow().to_pylist()
    assert [(row["gold"], row["committed"]) for row in rows] == [("t2", 3), ("t1", 2), ("t0", 1)]
