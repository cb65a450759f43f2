"""Replays windows on demand: in place, or into a shadow (tables next to gold), which a person compares and approves."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import DAG, Context, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.execution_time.hitl import HITLUser

from retable.printable import printable
from retable_airflow.access import access_control, check_two, deciders, who_answered, who_asked
from retable_airflow.act import ActOperator, check_conf
from retable_airflow.differences import to_markdown, without_values
from retable_airflow.form import IN_PLACE, REFUSED, REPLAY_WINDOW, SHADOW, form, offers_of
from retable_airflow.lakes import Reference, lake_of, reference_of, settings_of

if TYPE_CHECKING:
    from retable.ledger.lake.catalog import Lake
    from retable.settings.load import Settings
    from retable.shadow.plan import Ask

DOC = """\
Replays windows of a source again, by hand. A form that cannot be carried out is refused before anything begins: the
task `refuse` and the note of the run say why.

**In place** runs the recorded windows again: land, decode, replay. A recorded window never changes, so this is harmless
at any time. It brings gold up to date with the present settings.

**Shadow** rebuilds the named tables next to gold, with these windows decoded again from bronze. It shows in counts how
they differ from gold: in the log and the return value of `compare`, and in the question of `approve`.
`retable shadow diff` shows the rows. After an approval, each gold table changes in one visible step and keeps its
identity. After a rejection, or without an answer within {hours} hours, the shadow is dropped and gold is unchanged. A
failed promotion leaves the shadow: clear `promote` when its cause is gone, or drop it by `retable shadow drop`.
Settings: `{settings}`.
"""

ANSWER_WITHIN = timedelta(hours=12)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def replay_window(settings: Reference | None = None) -> list[DAG]:
    """Return the DAG `replay_window`; [] if the settings have no source."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    sources = sorted(loaded.sources)
    if not sources:
        return []
    with DAG(
        REPLAY_WINDOW,
        schedule=None,
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        # A source has one shadow at a time.
        max_active_runs=1,
        access_control=access_control(loaded),
        params=form(sources, offers_of(reference)),
        tags=["retable", "replay_window"],
        doc_md=DOC.format(hours=ANSWER_WITHIN // timedelta(hours=1), settings=reference),
    ) as dag:
        _arrange(reference, deciders(loaded))
    return [dag]


def _arrange(settings: Reference, users: list[HITLUser] | None) -> None:
    @task.branch(task_id="check", retries=2, retry_delay=timedelta(seconds=10))
    def check() -> str:
        context = get_current_context()
        try:
            _check(settings, context)
        except AirflowFailException as error:
            context["ti"].xcom_push(key=REFUSED, value=printable(str(error)))
            return "refuse"
        return "in_place" if context["params"]["mode"] == IN_PLACE else "build"

    @task(task_id="refuse")
    def refuse() -> None:
        ti = get_current_context()["ti"]
        ti.task.log.error("%s", ti.xcom_pull(task_ids="check", key=REFUSED))
        # Airflow logs every exception with its stack trace, which says nothing about the form.
        sys.exit(1)

    # If the comparison fails, `drop` removes the shadow, whose build takes hours. So it is tried again.
    @task(task_id="compare", retries=2, retry_delay=timedelta(seconds=10))
    def compare() -> dict[str, Any]:
        return _compare(settings, get_current_context())

    @task(task_id="drop")
    def drop() -> list[str]:
        return _drop(settings, get_current_context())

    def promote_words(context: Context) -> tuple[str, list[str]]:
        return _promote_words(settings, context)

    def run_words(context: Context) -> tuple[str, list[str]]:
        return _run_words(settings, context)

    def build_words(context: Context) -> tuple[str, list[str]]:
        return _build_words(settings, context)

    in_place = ActOperator(task_id="in_place", job="command", words=run_words, settings=settings, report=_replayed)
    build = ActOperator(task_id="build", job="command", words=build_words, settings=settings, report=_built)
    approve = ApprovalOperator(
        task_id="approve",
        subject="Promote the shadow of {{ params.source }}? ({{ params.reason }})",
        body="{{ ti.xcom_pull(task_ids='compare')['markdown'] }}",
        defaults=[ApprovalOperator.REJECT],
        assigned_users=users,
        response_timeout=ANSWER_WITHIN,
        # If an answer comes in the second in which the task begins to wait, Airflow may fail the task: ask again.
        retries=2,
        retry_delay=timedelta(seconds=10),
    )
    promote = ActOperator(task_id="promote", job="command", words=promote_words, settings=settings, report=_promoted)
    chosen = check()
    chosen >> [in_place, refuse()]
    # A teardown task runs also after a failure, and does not decide the state of the run.
    clean = drop().as_teardown(setups=build)
    chosen >> build >> compare() >> approve >> promote >> clean


def _check(settings: Reference, context: Context) -> None:
    """Fail the run before anything begins, if its parameters are incomplete or do not fit the lake."""
    from retable.errors import RetableError
    from retable.shadow.plan import check_windows

    check_conf(context)
    asked = context["params"]
    if asked["mode"] == SHADOW and not asked["reason"]:
        raise AirflowFailException(f"fill in `reason` in the form of this run: a {SHADOW} needs it")
    if asked["mode"] == IN_PLACE and asked["tables"]:
        raise AirflowFailException(
            f"the mode {IN_PLACE} replays all tables of its windows: leave `tables` empty, or choose the mode {SHADOW}"
        )
    try:
        with lake_of(settings) as lake:
            if asked["mode"] == IN_PLACE:
                check_windows(lake, asked["source"], *_range(lake.settings, asked))
            else:
                _ask(lake, context)
                _check_free(lake, asked["source"])
    except RetableError as error:
        raise AirflowFailException(str(error)) from error


def _ask(lake: "Lake", context: Context) -> "Ask":
    from retable.shadow.plan import check_ask

    asked = context["params"]
    return check_ask(lake, asked["source"], asked["tables"] or [], *_range(lake.settings, asked))


def _range(settings: "Settings", asked: Mapping[str, Any]) -> tuple[str, str]:
    """Return the names of the first window to replay, and of the window after the last one.

    Raise AirflowFailException if the form does not give them.
    """
    from retable.model.window import window_name, window_start

    every = settings.source(asked["source"]).every
    window, times = asked["window"], [asked[name] for name in ("from", "to") if asked[name]]
    if window and times:
        raise AirflowFailException("fill in `window`, or `from` and `to`, but not both")
    if window:
        return window, window_name(window_start(window) + every)
    if len(times) < len(("from", "to")):
        raise AirflowFailException("fill in `from` and `to`, or `window`, in the form of this run")
    start, end = map(datetime.fromisoformat, times)
    return window_name(start - (start - _EPOCH) % every), window_name(end + (_EPOCH - end) % every)


def _check_free(lake: "Lake", source: str) -> None:
    from retable.shadow.lake import find_shadow

    if (standing := find_shadow(lake, source)) is not None:
        raise AirflowFailException(
            f"{source} already has a shadow, of {', '.join(standing.ask.tables)} ({standing.reason}): "
            f"run `retable shadow promote {source}` or `retable shadow drop {source}` first"
        )


def _run_words(settings: Reference, context: Context) -> tuple[str, list[str]]:
    from retable.model.window import window_start

    asked = context["params"]
    start, end = (window_start(name).isoformat() for name in _range(settings_of(settings), asked))
    return asked["source"], ["run", asked["source"], "--from", start, "--to", end]


def _build_words(settings: Reference, context: Context) -> tuple[str, list[str]]:
    asked = context["params"]
    tables = [word for table in asked["tables"] for word in ("--tables", table)]
    start, end = _range(settings_of(settings), asked)
    range_ = ["--from", start, "--to", end]
    return asked["source"], ["shadow", "build", asked["source"], *tables, *range_, "--reason", asked["reason"]]


def _promote_words(settings: Reference, context: Context) -> tuple[str, list[str]]:
    asked, first, second = context["params"], who_asked(context), who_answered(_answer(context))
    check_two(settings_of(settings), first, second, "approve")
    reason = f"{asked['reason']} (asked for by {first}, approved by {second})"
    return asked["source"], ["shadow", "promote", asked["source"], "--reason", reason]


def _answer(context: Context) -> dict[str, Any]:
    """Return the result of the task `approve`: the answer and its author. {} if no person was asked."""
    return context["ti"].xcom_pull(task_ids="approve") or {}


def _replayed(lake: "Lake", context: Context) -> dict[str, Any]:
    """Return the counts that the ledger now has for the windows, and the held tables of the source."""
    from retable.ledger.read import read_ledger, read_tables
    from retable.shadow.plan import check_windows

    asked = context["params"]
    windows = check_windows(lake, asked["source"], *_range(lake.settings, asked))
    since = {"window": windows[0]}
    rows = read_ledger(lake, asked["source"], at_least=since, until=windows[-1], stage="replay", of_tables=False)
    held = [row.gold for row in read_tables(lake, asked["source"]) if row.state == "held"]
    return {"windows": {row.window: row.counts for row in rows if row.window in windows}, "held": held}


def _built(lake: "Lake", context: Context) -> list[str]:
    """Return the names of the shadow tables that were built."""
    from retable.shadow.lake import the_shadow

    shadow = the_shadow(lake, context["params"]["source"])
    return [shadow.name_of(table) for table in shadow.ask.tables]


def _promoted(lake: "Lake", context: Context) -> list[str]:
    """Return the promoted tables. Fail if the shadow still exists, because then it was not promoted."""
    from retable.shadow.lake import find_shadow

    if find_shadow(lake, context["params"]["source"]) is not None:
        raise AirflowFailException(
            "Spark ended, but the shadow still exists: see Spark's own log, then clear this task"
        )
    return list(context["params"]["tables"])


def _compare(settings: Reference, context: Context) -> dict[str, Any]:
    """Return the differences between gold and the shadow, as JSON, and as Markdown for the question."""
    from retable.cli.look_after.shadow import difference_json, differences

    with lake_of(settings) as lake:
        source = lake.settings.source(context["params"]["source"]).name
        found = [without_values(difference_json(each)) for each in differences(lake, source)]
    text = to_markdown(found, source)
    context["ti"].task.log.info("%s", text)
    return {"markdown": text, "tables": found}


def _drop(settings: Reference, context: Context) -> list[str]:
    """Drop the shadow, unless a person approved it. An approved shadow is promoted, or `promote` can be cleared."""
    from retable.shadow.lake import drop_shadow

    if _answer(context).get("chosen_options") == [ApprovalOperator.APPROVE]:
        return []
    with lake_of(settings) as lake:
        return drop_shadow(lake, context["params"]["source"])
