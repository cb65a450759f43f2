"""Replay windows on demand: in place, or next to gold, so that a person sees the difference before it counts."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Context, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.execution_time.hitl import HITLUser

from retable_airflow.access import access_control, check_two, deciders, who_answered, who_asked
from retable_airflow.act import ActOperator, check_conf
from retable_airflow.differences import to_markdown, without_values
from retable_airflow.lakes import Reference, lake_of, reference_of, settings_of

if TYPE_CHECKING:
    from retable.ledger.lake.catalog import Lake
    from retable.shadow.plan import Ask

DOC = """\
Replays windows of a source again, by hand.

**In place** runs the recorded windows again: land, decode, replay. A recorded window never changes, so this is harmless
at any time. It brings gold up to date with the present settings.

**Shadow** rebuilds the named tables next to gold, with these windows decoded again from bronze. It shows in counts how
they differ from gold: in the log and the return value of `compare`, and in the question of `approve`.
`retable shadow diff` shows the rows. After an approval, each gold table changes in one visible step and keeps its
identity. After a rejection, or without an answer within {hours} hours, the shadow is dropped and gold is unchanged. A
failed promotion leaves the shadow: clear `promote` when its cause is gone, or drop it by `retable shadow drop`.
Settings: `{settings}`.
"""

IN_PLACE, SHADOW = "in place", "shadow"
ANSWER_WITHIN = timedelta(hours=12)
_WINDOW = r"^\d{8}T\d{4}Z$"


def replay_window(settings: Reference | None = None) -> list[DAG]:
    """Make the DAG; none if the settings have no source."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    sources = sorted(loaded.sources)
    if not sources:
        return []
    with DAG(
        "replay_window",
        schedule=None,
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        # A source has one shadow at a time.
        max_active_runs=1,
        access_control=access_control(loaded),
        params=_form(sources),
        tags=["retable", "replay_window"],
        doc_md=DOC.format(hours=ANSWER_WITHIN // timedelta(hours=1), settings=reference),
    ) as dag:
        _arrange(reference, deciders(loaded))
    return [dag]


def _form(sources: list[str]) -> dict[str, Any]:
    start = "The first window, by its start in UTC: 20260301T0500Z"
    return {
        "source": Param(sources[0], enum=sources, title="Source"),
        "tables": Param(
            [],
            type="array",
            items={"type": "string"},
            title="Tables",
            description="For a shadow: one per line, as gold_shop.orders; in place replays all tables of the windows",
        ),
        "from": Param(None, type=["null", "string"], pattern=_WINDOW, title="From", description=start),
        "to": Param(
            None,
            type=["null", "string"],
            pattern=_WINDOW,
            title="To",
            description="The window after the last one; it is not replayed",
        ),
        "mode": Param(IN_PLACE, enum=[IN_PLACE, SHADOW], title="Mode"),
        "reason": Param("", type="string", title="Reason", description="The reason; it is stored with your name"),
    }


def _arrange(settings: Reference, users: list[HITLUser] | None) -> None:
    @task.branch(task_id="check", retries=2, retry_delay=timedelta(seconds=10))
    def check() -> str:
        context = get_current_context()
        _check(settings, context)
        return "in_place" if context["params"]["mode"] == IN_PLACE else "build"

    # A build takes hours, and `drop` follows a failed comparison.
    @task(task_id="compare", retries=2, retry_delay=timedelta(seconds=10))
    def compare() -> dict[str, Any]:
        return _compare(settings, get_current_context())

    @task(task_id="drop")
    def drop() -> list[str]:
        return _drop(settings, get_current_context())

    def promote_words(context: Context) -> tuple[str, list[str]]:
        return _promote_words(settings, context)

    in_place = ActOperator(task_id="in_place", job="command", words=_run_words, settings=settings, report=_replayed)
    build = ActOperator(task_id="build", job="command", words=_build_words, settings=settings, report=_built)
    approve = ApprovalOperator(
        task_id="approve",
        subject="Promote the shadow of {{ params.source }}? ({{ params.reason }})",
        body="{{ ti.xcom_pull(task_ids='compare')['markdown'] }}",
        defaults=[ApprovalOperator.REJECT],
        assigned_users=users,
        response_timeout=ANSWER_WITHIN,
        # A scheduler that learns late that a task waits takes an answer of that second for a failure: ask again.
        retries=2,
        retry_delay=timedelta(seconds=10),
    )
    promote = ActOperator(task_id="promote", job="command", words=promote_words, settings=settings, report=_promoted)
    chosen = check()
    chosen >> in_place
    # A teardown runs whatever happened before, and does not decide the state of the run.
    clean = drop().as_teardown(setups=build)
    chosen >> build >> compare() >> approve >> promote >> clean


def _check(settings: Reference, context: Context) -> None:
    """Refuse what cannot be done, with what would be right, before anything begins."""
    from retable.errors import RetableError
    from retable.shadow.plan import check_windows

    check_conf(context)
    asked = context["params"]
    missing = [name for name in ("from", "to", "reason") if not asked[name]]
    if missing:
        raise AirflowFailException(f"fill in {', '.join(missing)}")
    if asked["mode"] == IN_PLACE and asked["tables"]:
        raise AirflowFailException(
            f"in place replays all tables of its windows: leave `tables` empty, or choose the mode {SHADOW}"
        )
    try:
        with lake_of(settings) as lake:
            if asked["mode"] == IN_PLACE:
                check_windows(lake, lake.settings.source(asked["source"]).name, asked["from"], asked["to"])
            else:
                _ask(lake, context)
                _check_free(lake, asked["source"])
    except RetableError as error:
        raise AirflowFailException(str(error)) from error


def _ask(lake: "Lake", context: Context) -> "Ask":
    from retable.shadow.plan import check_ask

    asked = context["params"]
    return check_ask(lake, asked["source"], asked["tables"], asked["from"], asked["to"])


def _check_free(lake: "Lake", source: str) -> None:
    from retable.shadow.lake import find_shadow

    if (standing := find_shadow(lake, source)) is not None:
        raise AirflowFailException(
            f"{source} already has a shadow, of {', '.join(standing.ask.tables)} ({standing.reason}): "
            f"`retable shadow promote {source}` or `retable shadow drop {source}` first"
        )


def _run_words(context: Context) -> tuple[str, list[str]]:
    asked = context["params"]
    return asked["source"], ["run", asked["source"], "--from", _time(asked["from"]), "--to", _time(asked["to"])]


def _build_words(context: Context) -> tuple[str, list[str]]:
    asked = context["params"]
    tables = [word for table in asked["tables"] for word in ("--tables", table)]
    range_ = ["--from", asked["from"], "--to", asked["to"]]
    return asked["source"], ["shadow", "build", asked["source"], *tables, *range_, "--reason", asked["reason"]]


def _promote_words(settings: Reference, context: Context) -> tuple[str, list[str]]:
    asked, first, second = context["params"], who_asked(context), who_answered(_answer(context))
    check_two(settings_of(settings), first, second, "approve")
    reason = f"{asked['reason']} (asked for by {first}, approved by {second})"
    return asked["source"], ["shadow", "promote", asked["source"], "--reason", reason]


def _answer(context: Context) -> dict[str, Any]:
    """The answer to `approve`, and its author; nothing if no person was asked."""
    return context["ti"].xcom_pull(task_ids="approve") or {}


def _time(window: str) -> str:
    from retable.model.window import window_start

    return window_start(window).isoformat()


def _replayed(lake: "Lake", context: Context) -> dict[str, Any]:
    """What the ledger has of the windows now."""
    from retable.ledger.read import read_ledger, read_tables
    from retable.shadow.plan import check_windows

    asked = context["params"]
    windows = check_windows(lake, asked["source"], asked["from"], asked["to"])
    since = {"window": windows[0]}
    rows = read_ledger(lake, asked["source"], at_least=since, until=windows[-1], stage="replay", of_tables=False)
    held = [row.gold for row in read_tables(lake, asked["source"]) if row.state == "held"]
    return {"windows": {row.window: row.counts for row in rows if row.window in windows}, "held": held}


def _built(lake: "Lake", context: Context) -> list[str]:
    """The tables that exist next to gold now."""
    from retable.shadow.lake import the_shadow

    shadow = the_shadow(lake, context["params"]["source"])
    return [shadow.name_of(table) for table in shadow.ask.tables]


def _promoted(lake: "Lake", context: Context) -> list[str]:
    """The tables that were promoted; a shadow that still exists was not."""
    from retable.shadow.lake import find_shadow

    if find_shadow(lake, context["params"]["source"]) is not None:
        raise AirflowFailException(
            "Spark ended, but the shadow still exists: see Spark's own log, then clear this task"
        )
    return list(context["params"]["tables"])


def _compare(settings: Reference, context: Context) -> dict[str, Any]:
    """The differences as facts, and as the text for a person's decision."""
    from retable.cli.look_after.shadow import difference_json, differences

    with lake_of(settings) as lake:
        source = lake.settings.source(context["params"]["source"]).name
        found = [without_values(difference_json(each)) for each in differences(lake, source)]
    text = to_markdown(found, source)
    context["ti"].task.log.info("%s", text)
    return {"markdown": text, "tables": found}


def _drop(settings: Reference, context: Context) -> list[str]:
    """Drop the shadow, unless it was approved: then it is gone, or `promote` failed and can be cleared."""
    from retable.shadow.lake import drop_shadow

    if _answer(context).get("chosen_options") == [ApprovalOperator.APPROVE]:
        return []
    with lake_of(settings) as lake:
        return drop_shadow(lake, context["params"]["source"])
