"""A mart that waits until gold is complete through its interval, then reads one consistent cut.

Put it into your DAGs folder, next to the plugins of Retable, and name your own source, tables and mart.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from retable_airflow.freshness import FreshnessSensor

SETTINGS = Path(os.environ.get("RETABLE_SETTINGS") or "retable.toml").absolute()
SOURCE = "erp"
ORDERS, CUSTOMERS = "gold_shop.orders", "gold_shop.customers"
MART = "mart_shop.orders_per_customer"

DOC = f"""\
Counts the orders of each customer by the hour, into `{MART}`. *complete* waits until `{ORDERS}` and `{CUSTOMERS}` hold
everything that is older than the interval's end; it takes no worker slot, and fails after its deadline with what it
waited for. *build* then reads both tables as of one cut, so that no order lacks its customer.
"""


@task
def build(proof: dict[str, Any]) -> int:
    """Build the mart of one interval from the cut that `complete` proved; a repeated interval gives the same mart."""
    import pyarrow as pa

    from retable.gold.read import read_as_of, read_cut
    from retable.ledger.lake.catalog import open_lake
    from retable.settings.load import load_settings

    lake = open_lake(load_settings(SETTINGS))
    cut = read_cut(lake, SOURCE, proof["windows"][SOURCE])
    orders, customers = (read_as_of(lake, name, cut) for name in (ORDERS, CUSTOMERS))

    per_customer = orders.group_by("cust_id").aggregate([("order_no", "count_distinct"), ("amount", "sum")])
    per_customer = per_customer.rename_columns(["id", "orders", "amount"])
    mart = customers.select(["id"]).join(per_customer, "id", join_type="left outer").combine_chunks()
    through = pa.scalar(datetime.fromisoformat(proof["through"]), pa.timestamp("us", "UTC"))
    mart = mart.append_column("through", pa.repeat(through, len(mart)))

    lake.catalog.create_namespace_if_not_exists(MART.partition(".")[0])
    table = lake.catalog.create_table_if_not_exists(MART, mart.schema, lake.new_location("mart"))
    table.overwrite(mart, overwrite_filter=f"through = '{proof['through']}'")
    return len(mart)


with DAG(
    "build_marts",
    schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC"),
    start_date=datetime(2000, 1, 1, tzinfo=UTC),
    catchup=False,
    tags=["retable", "example"],
    doc_md=DOC,
):
    complete = FreshnessSensor(
        task_id="complete", tables=[ORDERS, CUSTOMERS], deadline=timedelta(hours=2), settings=SETTINGS
    )
    build(complete.output)  # type: ignore[arg-type]  # Airflow passes the value, not the reference
