"""What `ops` keeps of the past: less, and a promise goes on as it would from all of it."""

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.freshness.promises import TablePromises
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.tables import COMMITTED, OPS
from retable.ledger.read import last_promised, read_evidence, read_upkeep, read_watermarks
from retable.ledger.retained import goes_on
from retable.ledger.rows import EvidenceRow, OpsRow, UpkeepRow, WatermarkRow
from retable.ledger.write import append_rows
from retable.model.evidence import GRADES
from retable.model.window import window_name
from retable.settings.load import Settings
from retable.upkeep import system
from retable.upkeep.system import prune_past

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)

PROMISES = st.lists(
    st.tuples(
        st.sampled_from(["gold_shop.a", "gold_shop.b"]),
        st.sampled_from(GRADES),
        st.booleans(),
        st.none() | st.integers(0, 9),
    ),
    max_size=20,
)


@given(promised=PROMISES, bound=st.integers(0, 20))
def test_a_promise_goes_on_from_what_is_kept_as_from_all(promised: list[tuple], bound: int) -> None:
    rows = [
        _promise(table, grade, at, is_free, reached) for at, (table, grade, is_free, reached) in enumerate(promised)
    ]
    stays = goes_on(_table("ops.watermarks", rows)).to_pylist()
    least = window_name(NOW + bound * HOUR)
    kept = [row for row, goes in zip(rows, stays, strict=True) if goes or row.window >= least]
    before, after = TablePromises(rows), TablePromises(kept)
    for table in ("gold_shop.a", "gold_shop.b"):
        assert after.is_free(table) == before.is_free(table)
        assert after.watermarks(table) == before.watermarks(table)
        for last in (None, window_name(NOW + 9 * HOUR)):
            assert after.free_until(table, last) == before.free_until(table, last)


def test_old_rows_go_where_there_are_many_and_what_a_promise_goes_on_from_stays(
    lake_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system, "_MANY", 5)
    lake = open_lake(lake_settings)
    keep = lake.settings.lake.keep_ops
    assert keep is not None
    long_ago = NOW - keep - 10 * HOUR
    windows = [window_name(long_ago + at * HOUR) for at in range(8)]
    source = [replace(_promise("x", "row", 0, True, 0), table=None, window=window) for window in windows]
    quiet = replace(_promise("gold_shop.a", "row", 0, True, 3), window=windows[0])
    evidence = [_evidence(window, partition) for window in windows for partition in (0, 1)]
    done = [_done(long_ago + at * HOUR) for at in range(7)] + [_done(NOW)]
    append_rows(lake, [*source, quiet, *evidence, *done])
    for name, gone in (("ops.watermarks", 7), ("ops.evidence", 14), ("ops.upkeep", 7)):
        assert prune_past(lake, name, long_ago, "run") == 0
        assert prune_past(lake, name, NOW, "run") == gone
        assert prune_past(lake, name, NOW, "run") == 0
    assert last_promised(lake, "erp") == windows[-1]
    assert [row.table for row in read_watermarks(lake, "erp", of_tables=True)] == ["gold_shop.a"]
    assert [(row.window, row.partition) for row in read_evidence(lake, "erp")] == [(windows[-1], 0), (windows[-1], 1)]
    assert [row.recorded_at for row in read_upkeep(lake)] == [NOW]


def _promise(table: str, grade: str, at: int, is_free: bool, reached: int | None) -> WatermarkRow:
    return WatermarkRow(
        source="erp",
        table=table,
        grade=grade,
        window=window_name(NOW + at * HOUR),
        watermark=None if reached is None else NOW + reached * HOUR,
        epoch=0,
        evidence={},
        because=None if is_free else "HELD",
        recorded_at=NOW,
    )


def _evidence(window: str, partition: int) -> EvidenceRow:
    return EvidenceRow(
        source="erp",
        window=window,
        topic="shop",
        partition=partition,
        epoch=0,
        heartbeat=None,
        canary=None,
        row=NOW,
        ahead=0,
        recorded_at=NOW,
    )


def _done(at: datetime) -> UpkeepRow:
    counts = {"files": 1}
    return UpkeepRow(
        source="erp",
        table="gold_shop.a",
        before=counts,
        after=counts,
        done=counts,
        run_id="run",
        seconds=1.0,
        recorded_at=at,
    )


def _table(name: str, rows: list[OpsRow]) -> pa.Table:
    records = [{**asdict(row), COMMITTED: commit} for commit, row in enumerate(rows)]
    return pa.Table.from_pylist(records, schema=OPS[name].columns)
