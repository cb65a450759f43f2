"""The demo's second source, a simulated shop with late and repeated messages, its truth, and the mart on top of it."""

import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path

from retable.gold.names import gold_table
from retable.gold.read import gold_states, read_rows
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake
from retable.model.event import TableName
from retable.simulate import (
    ROW_KINDS,
    Clock,
    Delivery,
    History,
    Truth,
    deliver,
    hour_cuts,
    simulate,
    streamx_json,
    write_objects,
)

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "dags" / "build_marts.py"

SOURCE = "shop"
DATABASE = "webshop"
HOURS = 2
MART = "mart_webshop.orders_per_customer"

DELIVERY = Delivery(partitions=3, late=0.05, repeated=0.05)
"""Each message goes to a random partition, so the halves of an update are apart. 5% are late and 5% are repeated."""

OWN = {
    'SOURCE = "erp"': f'SOURCE = "{SOURCE}"',
    '"gold_shop.orders", "gold_shop.customers"': f'"gold_{DATABASE}.orders", "gold_{DATABASE}.customers"',
    '"mart_shop.orders_per_customer"': f'"{MART}"',
    'group_by("cust_id")': 'group_by("customer")',
    '("order_no", "count_distinct")': '("id", "count_distinct")',
    '("amount", "sum")': '("total", "sum")',
    "deadline=timedelta(hours=2)": "deadline=timedelta(minutes=1)",
}
"""The texts of the example DAG that a user must replace (source, tables, mart, …), with their values for the demo."""

SCHEMA_CHANGES = ("add_column", "rename_column", "widen_column", "drop_column", "move_column", "relax")

_SEED = 48
_ACTIONS = 300
_LOADED_ROWS = 25
_KINDS = (*ROW_KINDS * 16, *("insert", "insert_many") * 32, *SCHEMA_CHANGES * 3)
_MOST_LINES = 20


def play(first: datetime) -> History:
    """Run the shop for `HOURS` hours from `first` on and return its history. Only `first` changes it."""
    length, start = timedelta(hours=HOURS) // timedelta(milliseconds=1), _milliseconds(first)
    clock = Clock(start, length // (_ACTIONS + 1), start + length)
    return simulate(random.Random(_SEED), _ACTIONS, kinds=_KINDS, rows=_LOADED_ROWS, clock=clock, database=DATABASE)


def write_landing(folder: Path, first: datetime) -> None:
    """Write the messages of each hour as a file. The last message is a heartbeat, which proves the last hour's end."""
    stream = streamx_json.write(play(first), streamx_json.Options(updates="halves", row_ids=False))
    cuts = hour_cuts(stream, _milliseconds(first), HOURS)
    write_objects(deliver(stream, random.Random(_SEED), DELIVERY, cuts=cuts, topic=SOURCE), folder, first, SOURCE)


def _milliseconds(time: datetime) -> int:
    return int(time.timestamp()) * 1000


def differences(lake: Lake, truth: Truth) -> dict[str, list[str]]:
    """Return, by gold name, rows that gold and the shop have in different numbers: at most 20 per table."""
    expected = {gold_table(lake.settings.lake, TableName(DATABASE, None, name)): name for name in truth.names()}
    published = {name for name, state in gold_states(lake).items() if state.source == SOURCE}
    found = {name: list(islice(_compare(lake, name, truth, expected[name]), _MOST_LINES)) for name in expected}
    missing = {name: ["gold has no such table"] for name in expected.keys() - published}
    surplus = {name: ["only gold has this table"] for name in published - expected.keys()}
    return {name: lines for name, lines in (found | missing | surplus).items() if lines}


def _compare(lake: Lake, gold: str, truth: Truth, table: str) -> Iterator[str]:
    if lake.find(gold) is None:
        return
    theirs = Counter(truth.lines(table))
    mine = Counter(line for batch in read_rows(lake, gold) for line in json_rows(batch))
    for line in sorted(mine.keys() | theirs.keys()):
        if mine[line] != theirs[line]:
            yield f"gold has {mine[line]}, the shop {theirs[line]}: {line}"


# --- the mart --------------------------------------------------------------------------------------------------------
def write_mart_dag(folder: Path) -> None:
    """Copy the example DAG into a folder, with the shop's tables in it, as the docstring of the DAG asks its users."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for theirs, ours in OWN.items():
        if text.count(theirs) != 1:
            raise ValueError(f"{EXAMPLE} has {theirs} {text.count(theirs)} times, not once")
        text = text.replace(theirs, ours)
    folder.mkdir(parents=True)
    (folder / EXAMPLE.name).write_text(text, encoding="utf-8")


MartRow = tuple[Decimal, int | None, Decimal | None]
"""A customer's id, the number of orders and the sum of their amounts. Without an order, both are None."""


def mart_truth(truth: Truth) -> list[MartRow]:
    """Return the expected rows of the mart, from the contents of the shop, ordered by customer."""
    totals: dict[str, list[Decimal]] = {str(row["id"]): [] for row in truth.rows("customers")}
    for row in truth.rows("orders"):
        if (customer := str(row["customer"])) in totals:
            totals[customer].append(Decimal(str(row["total"])))
    counted = (
        (Decimal(id_), len(each) or None, sum(each, Decimal()) if each else None) for id_, each in totals.items()
    )
    return sorted(counted, key=_customer)


def mart_rows(lake: Lake, through: datetime) -> list[MartRow]:
    """Return the mart's rows of the interval that ends at `through`, ordered by customer."""
    rows = lake.load(MART).scan(f"through = '{through.isoformat()}'").to_arrow().to_pylist()
    return sorted(((row["id"], row["orders"], row["amount"]) for row in rows), key=_customer)


def _customer(row: MartRow) -> Decimal:
    return row[0]
