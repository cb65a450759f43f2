"""The example of a gated downstream: it waits for its tables, and reads them as of one cut."""

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from feeding import EACH, Feed, at, name
from lakes import SettingsWriter
from published import publish
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.rows import CutRow
from retable.ledger.write import append_rows
from retable.model.event import TableName

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "dags"
PROOF: dict[str, Any] = {"through": "2026-03-01T06:00:00+00:00", "windows": {"erp": name(5)}}


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    """A lake in which two customers and three orders make a cut, behind which an order and a customer follow."""
    lake = open_lake(write_settings(EACH.replace("sources.dump", "sources.erp")))
    Feed(lake, "erp").windows(6)
    customers = publish(lake, TableName("shop", None, "customers"), {"id": "long"}, [(1,), (2,)], source="erp")
    columns = {"order_no": "long", "cust_id": "long", "amount": "decimal(10,2)"}
    rows = [(10, 1, Decimal("1.50")), (11, 1, Decimal("2.25")), (12, 9, Decimal("7.00"))]
    orders = publish(lake, TableName("shop", None, "orders"), columns, rows, source="erp")
    for table in (customers, orders):
        found = lake.load(table)
        snapshot = found.current_snapshot()
        assert snapshot is not None
        append_rows(
            lake,
            [
                CutRow(
                    source="erp",
                    window=name(5),
                    revision=0,
                    table=table,
                    identity=table,
                    snapshot_id=snapshot.snapshot_id,
                    state="live",
                    recorded_at=at("06:00"),
                )
            ],
        )
        found.append(found.scan().to_arrow())
    return lake


@pytest.fixture
def dag(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DAG:
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    bag = DagBag(str(EXAMPLES))
    assert bag.import_errors == {}
    return bag.dags["build_marts"]


def test_the_mart_is_built_behind_the_gate(dag: DAG) -> None:
    complete = dag.get_task("complete")
    assert complete.downstream_task_ids == {"build"}
    assert (complete.grade, complete.timeout) == ("row", timedelta(hours=2).total_seconds())


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
def test_the_mart_counts_what_the_cut_holds_and_the_same_interval_again_is_the_same(dag: DAG, lake: Lake) -> None:
    build = dag.get_task("build").python_callable
    for _ in range(2):
        assert build(PROOF) == 2
        rows = lake.load("mart_shop.orders_per_customer").scan().to_arrow().sort_by("id").to_pylist()
        assert rows == [
            {"id": 1, "orders": 2, "amount": Decimal("3.75"), "through": at("06:00")},
            {"id": 2, "orders": None, "amount": None, "through": at("06:00")},
        ]
