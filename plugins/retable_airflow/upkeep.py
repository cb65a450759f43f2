"""Compacts tables, expires snapshots and applies retention once a day: one task per source, and one for `ops`."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, Context, CronTriggerTimetable, Param, get_current_context, task

from retable_airflow.access import access_control
from retable_airflow.act import ActOperator, check_conf
from retable_airflow.lakes import Reference, reference_of, settings_of

if TYPE_CHECKING:
    from retable.ledger.lake.catalog import Lake

DOC = """\
Works table by table. Drops old windows if `retention` is set, compacts files, expires snapshots that no consistent cut,
tag or reader needs, and removes files that belong to no table. No row that a reader of gold sees changes. A table that
a replay works on is skipped until the next day. Both use the pool `retable_spark`, so on a small machine they never run
at once. `ops.upkeep` and the return values of the tasks show what was done.

**By hand:** trigger it with `tables` for only these tables, such as `gold_shop.orders` or `ops.ledger`.
Settings: `{settings}`.
"""

TABLES = Param(
    [],
    type="array",
    items={"type": "string"},
    title="Tables",
    description="One per line, as gold_shop.orders or ops.ledger; empty: all",
)
_OPS = "ops"
_LONGEST = timedelta(days=7)
"""The longest time that a run can take, for the search of its rows in ops.upkeep."""


def keep_tables(settings: Reference | None = None) -> list[DAG]:
    """Return the DAG `keep_tables`; [] if the settings have no source."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    sources = sorted(loaded.sources)
    if not sources:
        return []
    with DAG(
        "keep_tables",
        schedule=CronTriggerTimetable("30 2 * * *", timezone="UTC"),
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        access_control=access_control(loaded),
        default_args={"retries": 1, "retry_delay": timedelta(minutes=10)},
        params={"tables": TABLES},
        tags=["retable", "keep_tables"],
        doc_md=DOC.format(settings=reference),
    ) as dag:
        # A failure of one source does not stop the other sources; the pool limits how many tasks run at once.
        _check() >> [_keep(name, reference) for name in (*sources, _OPS)]
    return [dag]


@task(task_id="check", retries=2, retry_delay=timedelta(seconds=10))
def _check() -> None:
    check_conf(get_current_context())


def _keep(name: str, settings: Reference) -> ActOperator:
    """Return the task for the tables of one source or of `ops`. It is skipped if no requested table belongs to it."""

    def words(context: Context) -> tuple[str, list[str]]:
        return "" if name == _OPS else name, _chosen(name, settings, context)

    return ActOperator(
        task_id=f"keep__{name}",
        job="upkeep",
        words=words,
        settings=settings,
        report=_effect,
    )


def _chosen(name: str, settings: Reference, context: Context) -> list[str]:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

    from retable.errors import NotFound
    from retable.upkeep.inspection import choose, places
    from retable_airflow.lakes import lake_of

    with lake_of(settings) as lake:
        try:
            asked = choose(places(lake), context["params"].get("tables") or ())
        except NotFound as error:
            raise AirflowFailException(str(error)) from error
    mine = [place.name for place in asked if (place.source or _OPS) == name]
    if not mine:
        raise AirflowSkipException(f"none of the requested tables belongs to {name}")
    return mine if context["params"].get("tables") else [name]


def _effect(lake: "Lake", context: Context) -> list[dict[str, Any]]:
    """Return what this run did to each table, from ops.upkeep."""
    from retable.ledger.read import read_upkeep

    rows = read_upkeep(lake, {"recorded_at": datetime.now(UTC) - _LONGEST})
    mine = [row for row in rows if row.run_id == context["run_id"]]
    return [{"table": row.table, "before": row.before, "after": row.after, "done": row.done} for row in mine]
