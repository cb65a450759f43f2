"""What a replay leaves for people: it says all of a run that died, and nothing twice."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from retable.fold.fold import Reject
from retable.gold.state import GoldState
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_schema_changes
from retable.ledger.rows import LedgerRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.record import change_rows, quarantine_rejects, window_rows
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.history import AppliedChange, ChangeStatus, NameSpan, TableHistory
from retable.schema_history.statement import Statement
from retable.settings.load import Settings

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
W5, W6 = "20260301T0500Z", "20260301T0600Z"
ORDERS = TableName("shop", None, "orders")
WHOLE = LedgerRow(
    source="erp",
    window=W5,
    stage="replay",
    table=None,
    counts={},
    lowest={},
    highest={},
    snapshot_id=None,
    identity="silver 1",
    run_id="run",
    seconds=1.0,
    bytes=0,
    recorded_at=NOW,
)
COUNTED = replace(WHOLE, table="gold_shop.orders", counts={"rows": 2, "applied": 2}, identity="silver 1:settings")


@pytest.fixture
def lake(lake_settings: Settings) -> Lake:
    return open_lake(lake_settings)


def test_a_window_is_recorded_anew_where_it_holds_something_else_though_it_counts_the_same() -> None:
    done = replace(WHOLE, counts=COUNTED.counts)
    assert window_rows(WHOLE, [W5], [], [COUNTED], set()) == [done]
    assert window_rows(WHOLE, [W5], [done, COUNTED], [], set()) == []
    anew = replace(WHOLE, identity="silver 2")
    assert window_rows(anew, [W5], [done, COUNTED], [COUNTED], set()) == [replace(done, identity="silver 2")]


def test_what_other_windows_held_stays_when_their_counts_change() -> None:
    earlier = replace(WHOLE, counts=COUNTED.counts)
    whole, counted = replace(WHOLE, window=W6, identity=None), replace(COUNTED, counts={"rows": 2, "held": 2})
    assert window_rows(whole, [W5, W6], [earlier, COUNTED], [counted], set()) == [
        replace(earlier, counts=counted.counts),
        whole,
    ]


def test_a_retired_table_counts_in_a_window_only_where_it_was_replayed_there_now() -> None:
    retired = replace(COUNTED, table="gold_shop.retired")
    done = replace(WHOLE, counts=COUNTED.counts)
    assert window_rows(WHOLE, [W5], [COUNTED, retired], [], set(), {"gold_shop.retired"}) == [done]
    twice = {name: 2 * count for name, count in COUNTED.counts.items()}
    assert window_rows(WHOLE, [W5], [COUNTED], [retired], set(), {"gold_shop.retired"}) == [replace(done, counts=twice)]


def _outcome(change: AppliedChange) -> ReplayResult:
    history = TableHistory(
        identity="shop.orders@base", spans=(NameSpan(ORDERS, None, None),), epochs=(), changes=(change,)
    )
    return ReplayResult(
        gold="gold_shop.orders",
        state=GoldState(source="erp", identity=history.identity, table=ORDERS),
        snapshot=1,
        history=history,
    )


def _reject(offset: int) -> Reject:
    at = Sequence(0, offset, 0)
    event = RowEvent("INSERT", None, "{}", None, None, at, None, 6, "t", 0, offset, 0, None, None, counted=True)
    return Reject(event, "BAD_VALUE", "no number")


@pytest.mark.parametrize("apart", ["a schema each", "a name that the one had before the other"])
def test_rows_that_did_not_fit_one_table_stay_whatever_comes_of_another(lake: Lake, apart: str) -> None:
    if apart == "a schema each":
        spans = [(NameSpan(TableName("erp", schema, "orders"), None, None),) for schema in ("hr", "fin")]
    else:
        renamed, old, new = (
            Sequence(0, 5, 0),
            TableName("shop", None, "orders_old"),
            TableName("shop", None, "orders_gho"),
        )
        spans = [
            (NameSpan(ORDERS, None, renamed), NameSpan(old, renamed, None)),
            (NameSpan(new, None, renamed), NameSpan(ORDERS, renamed, None)),
        ]
    one, other = (TableHistory(identity=f"{number}@base", spans=each, epochs=()) for number, each in enumerate(spans))

    def left(*replayed: tuple[TableHistory, list[Reject]]) -> list[int]:
        quarantine_rejects(lake, "erp", W5, replayed, NOW)
        return sorted(lake.load("quarantine.erp").scan().to_arrow()["offset"].to_pylist())

    assert left((one, [_reject(4)]), (other, [_reject(7), _reject(8)])) == [4, 7, 8]
    assert left((one, [])) == [7, 8]
    assert left((other, [_reject(8)])) == [8]
    assert left((one, [_reject(4)])) == [4, 8]


def test_a_refused_statement_stays_with_its_table_though_a_later_run_had_nothing_to_do_there(lake: Lake) -> None:
    refused = Statement(position=Sequence(0, 7, 0), part=None, table=ORDERS, text="ALTER TABLE orders …", changes=())
    no_table = Statement(position=Sequence(0, 8, 0), part=None, table=None, text="GRANT …", changes=())
    windows = {refused: W5, no_table: W5}
    told: list[tuple[Statement, ChangeStatus, str | None]] = [
        (refused, "refused", "not a widening"),
        (no_table, "nothing", None),
    ]
    change = AppliedChange(refused.position, None, refused.text, (), "refused", "not a widening")
    rows = change_rows(lake, "erp", windows, [_outcome(change)], NOW, told)
    assert [(row.identity, row.statement) for row in rows] == [
        ("shop.orders@base", refused.text),
        ("", no_table.text),
    ]
    append_rows(lake, rows)
    assert change_rows(lake, "erp", windows, [], NOW, told) == []
    assert len(read_schema_changes(lake, "erp")) == 2
