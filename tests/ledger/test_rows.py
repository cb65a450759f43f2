"""What is written to ops is what is read from it, and the newest row wins."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from retable.errors import ConflictError
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import (
    read_actions,
    read_evidence,
    read_ledger,
    read_schema_changes,
    read_tables,
    read_watermarks,
)
from retable.ledger.rows import ActionRow, CutRow, EvidenceRow, LedgerRow, SchemaChangeRow, TableRow, WatermarkRow
from retable.ledger.write import append_rows

NOW = datetime(2026, 3, 1, 6, 0, 0, 123456, tzinfo=UTC)
W5, W6 = "20260301T0500Z", "20260301T0600Z"
LEDGER = LedgerRow(
    source="erp",
    window=W5,
    stage="replay",
    table="gold_shop.orders",
    counts={"rows": 3, "applied": 3},
    lowest={"t/0": "0.1.0"},
    highest={"t/0": "0.9.2"},
    snapshot_id=2**62,
    identity="abc",
    run_id="run 1",
    seconds=1.25,
    bytes=2**40,
    recorded_at=NOW,
)
CHANGE = SchemaChangeRow(
    source="erp",
    identity="id-1",
    table="gold_shop.orders",
    position="0.7.0",
    part="t/0",
    event_time_ms=None,
    window=W5,
    statement="ALTER TABLE `orders` ADD x int",
    meaning="{}",
    status="applied",
    reason=None,
    columns='{"x": 4}',
    recorded_at=NOW,
)
CUT = CutRow(
    source="erp",
    window=W5,
    revision=0,
    table="gold_shop.orders",
    identity="id-1",
    snapshot_id=7,
    state="live",
    recorded_at=NOW,
)
TABLE = TableRow(
    source="erp",
    identity="id-1",
    gold="gold_shop.orders",
    database="Shop",
    schema=None,
    table="Orders",
    state="held",
    hold='{"code": "ZERO_DATE"}',
    recorded_at=NOW,
)
ACTION = ActionRow("erp", "release", "gold_shop.orders", "because", "ann", NOW)
EVIDENCE = EvidenceRow(
    source="erp",
    window=W5,
    topic="t",
    partition=3,
    epoch=1,
    heartbeat=None,
    canary=NOW,
    row=NOW,
    ahead=2,
    recorded_at=NOW,
)
WATERMARK = WatermarkRow(
    source="erp",
    table=None,
    grade="row",
    window=W5,
    watermark=NOW,
    epoch=1,
    evidence={"t/3": NOW, "t/4": None},
    because=None,
    recorded_at=NOW,
)


@pytest.fixture
def lake(lake_settings) -> Lake:
    return open_lake(lake_settings)


def test_every_kind_of_row_reads_back_as_it_was_written(lake):
    append_rows(lake, [LEDGER, CHANGE, CUT, TABLE, ACTION, EVIDENCE, WATERMARK])
    assert read_ledger(lake, "erp") == [LEDGER]
    assert read_schema_changes(lake, "erp", "gold_shop.orders") == [CHANGE]
    assert read_cuts(lake, "erp").rows == [CUT]
    assert read_tables(lake) == [TABLE]
    assert read_actions(lake, "erp") == [ACTION]
    assert read_evidence(lake, "erp") == [EVIDENCE]
    assert read_watermarks(lake, "erp") == [WATERMARK]


def test_an_empty_lake_has_no_rows_and_reading_makes_no_tables(lake):
    assert (
        read_ledger(lake, "erp") == read_cuts(lake, "erp").rows == read_tables(lake) == read_schema_changes(lake) == []
    )
    assert lake.find("ops.ledger") is None


def test_rows_of_one_kind_are_one_commit(lake):
    append_rows(lake, [replace(LEDGER, window=W5), replace(LEDGER, window=W6), TABLE])
    assert len(lake.load("ops.ledger").snapshots()) == len(lake.load("ops.tables").snapshots()) == 1


def test_a_window_stage_and_table_has_the_row_that_was_committed_last(lake):
    other_stage, other_table = replace(LEDGER, stage="decode"), replace(LEDGER, table=None)
    append_rows(lake, [LEDGER, other_stage, other_table])
    append_rows(lake, [replace(LEDGER, run_id="run 2", recorded_at=NOW + timedelta(seconds=1))])
    append_rows(lake, [replace(LEDGER, run_id="late", recorded_at=NOW - timedelta(seconds=1))])
    rows = {(row.stage, row.table): row.run_id for row in read_ledger(lake, "erp")}
    assert rows == {
        ("replay", "gold_shop.orders"): "late",
        ("decode", "gold_shop.orders"): "run 1",
        ("replay", None): "run 1",
    }


def test_of_rows_of_one_instant_the_last_written_wins(lake):
    append_rows(lake, [replace(TABLE, state="live"), replace(TABLE, state="held")])
    assert read_tables(lake)[0].state == "held"
    for state in ("dropped", "live", "held", "live"):
        append_rows(lake, [replace(TABLE, state=state)])
        assert read_tables(lake)[0].state == state


def test_a_source_reads_its_own_rows_only(lake):
    append_rows(lake, [LEDGER, replace(LEDGER, source="crm' OR 1=1 --", window=W6)])
    assert [row.window for row in read_ledger(lake, "erp")] == [W5]
    assert [row.window for row in read_ledger(lake, "crm' OR 1=1 --")] == [W6]


def test_rows_are_read_from_a_least_value_on(lake):
    later = NOW + timedelta(hours=1)
    append_rows(lake, [LEDGER, EVIDENCE, WATERMARK])
    append_rows(lake, [replace(row, window=W6, recorded_at=later) for row in (LEDGER, EVIDENCE, WATERMARK)])
    for read in (read_ledger, read_evidence, read_watermarks):
        for least in ({"window": W6}, {"recorded_at": later}, {"window": W5, "recorded_at": later}):
            assert [row.window for row in read(lake, "erp", at_least=least)] == [W6]
    assert read_watermarks(lake, "erp", {"watermark": later}) == []
    assert len(read_watermarks(lake, "erp", {"watermark": NOW})) == 2


def test_many_commits_are_a_few_manifests_and_the_newest_row_still_wins(lake):
    for number in range(20):
        append_rows(lake, [replace(TABLE, gold=f"gold_shop.t{number}")])
        assert read_tables(lake)[0].gold == f"gold_shop.t{number}"
    table = lake.load("ops.tables")
    assert len(table.current_snapshot().manifests(table.io)) < 16


def test_a_schema_change_shows_what_became_of_it_last(lake):
    append_rows(lake, [replace(CHANGE, status="waiting"), replace(CHANGE, position="0.8.0")])
    append_rows(lake, [replace(CHANGE, recorded_at=NOW + timedelta(hours=1))])
    assert [(row.position, row.status) for row in read_schema_changes(lake)] == [
        ("0.8.0", "applied"),
        ("0.7.0", "applied"),
    ]


def test_eight_writers_at_once_lose_no_row(lake):
    lake.ensure("ops.ledger")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: append_rows(lake, [replace(LEDGER, window=f"w{at}")]), range(16)))
    assert len(read_ledger(lake, "erp")) == 16


def test_a_commit_that_loses_every_race_says_to_try_again(lake):
    table = lake.ensure("ops.ledger")
    with table.transaction() as transaction:
        transaction.set_properties({"commit.retry.num-retries": "0"})
    stale = lake.load("ops.ledger")
    append_rows(lake, [LEDGER])
    lake.catalog.load_table = lambda name: stale  # type: ignore[method-assign]  # a catalog that is behind
    with pytest.raises(ConflictError, match="another run committed first"):
        append_rows(lake, [LEDGER])
