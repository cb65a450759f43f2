"""Makes Airflow assets: one for each source (its consistent cuts), and one for each gold table.

Gold tables are created during a run, so their asset events come through an asset alias. An event starts the DAGs that
are scheduled on the table's asset or on the alias.
"""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from airflow.sdk import Asset, AssetAlias, Context

if TYPE_CHECKING:
    from retable.freshness.gate import SourceFacts
    from retable.ledger.lake.catalog import Lake


def cut_asset(source: str) -> Asset:
    """Return the asset for the consistent cuts of a source (one snapshot of every gold table at a window).

    The last task of each run, `fresh`, adds an event to this asset.
    """
    return Asset(name=f"retable_cut_{source}", uri=f"retable://cut/{source}", group="retable")


def tables_alias(source: str) -> AssetAlias:
    """Return the asset alias for all gold tables of a source. A run adds an asset event for each changed table."""
    return AssetAlias(name=f"retable_tables_{source}", group="retable")


def table_asset(gold: str) -> Asset:
    """Return the asset of a gold table, such as `gold_shop.orders`."""
    name = quote(gold, safe="._-$")
    return Asset(name=name, uri=f"retable://gold/{name}", group="retable")


def announce(
    context: Context, lake: "Lake", source: str, window: str, end: datetime, facts: "SourceFacts"
) -> list[str]:
    """Record asset events for the source's consistent cut and for the gold tables that this run changed.

    Return the names of these tables. `end` is the end of the run's window, and `facts` says how complete the tables
    are.
    """
    events: Any = context["outlet_events"]
    events[cut_asset(source)].extra = {"window": window, **_standing(facts, None, end), **_counts(lake, source, window)}
    began = context["dag_run"].start_date
    changed = _changed(lake, source, window, context["run_id"], began) if began else {}
    for gold, extra in changed.items():
        events[tables_alias(source)].add(
            table_asset(gold), extra={"window": window, **extra, **_standing(facts, gold, end)}
        )
    return sorted(changed)


def _changed(lake: "Lake", source: str, window: str, run_id: str, since: datetime) -> dict[str, dict[str, Any]]:
    """Return the gold tables for which this try of the run, which began at `since`, wrote a snapshot.

    A replay without changes writes no snapshot. Each table has its last snapshot and its counts.
    """
    from retable.ledger.read import read_ledger

    lately = {"recorded_at": since - timedelta(days=1)}
    replayed = read_ledger(lake, source, at_least=lately, stage="replay", of_tables=True)
    rows = [row for row in replayed if row.run_id == run_id]
    found: dict[str, dict[str, Any]] = {}
    for gold in sorted({row.table for row in rows if row.table}):
        table = lake.find(gold)
        snapshots = [] if table is None else table.snapshots()
        mine = [
            snapshot
            for snapshot in snapshots
            if snapshot.timestamp_ms >= since.timestamp() * 1000
            and snapshot.summary is not None
            and snapshot.summary.additional_properties.get("retable.run", "").partition("/")[0] == run_id
        ]
        if mine:
            counts = next((row.counts for row in rows if row.table == gold and row.window == window), {})
            found[gold] = {"snapshot_id": str(mine[-1].snapshot_id), "counts": counts}
    return found


def _counts(lake: "Lake", source: str, window: str) -> dict[str, Any]:
    from retable.ledger.read import read_ledger

    whole = [row for row in read_ledger(lake, source, window) if row.table is None]
    return {"counts": {name: count for row in whole for name, count in row.counts.items()}}


def _standing(facts: "SourceFacts", table: str | None, end: datetime) -> dict[str, Any]:
    from retable.freshness.gate import format_time, standing_of

    if table is not None and table not in facts.blockers:
        return {}
    standing = standing_of(facts, table, "row")
    late = standing.watermark is None or standing.watermark < end
    return {"watermark": standing.watermark and format_time(standing.watermark), "grade": standing.grade, "late": late}
