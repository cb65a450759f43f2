"""Asks a person how each held table (stopped at a position) continues: one run per hold. Replays do not wait for it."""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import ApprovalOperator, HITLOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Context, CronTriggerTimetable, Param, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from retable.printable import printable
from retable_airflow.access import access_control, check_two, deciders, who_answered
from retable_airflow.act import ActOperator, check_conf
from retable_airflow.differences import code, inline
from retable_airflow.form import write_offers
from retable_airflow.lakes import Reference, lake_of, reference_of, settings_of

if TYPE_CHECKING:
    from retable.gold.state import GoldState
    from retable.ledger.lake.catalog import Lake
    from retable.settings.load import Settings

DOC = """\
Asks a person how one held table continues. The question shows what stopped the table, how many rows wait, and what each
answer does. The answer is carried out at once and stored with the name of the person. After **Leave it**, or without an
answer within {days} days, the table stays held; `retable hold release` still works. `watch_holds` triggers a run for
each hold. Settings: `{settings}`.
"""
WATCH_DOC = """\
Looks for held tables every few minutes, and triggers `decide_hold` once for each hold. Also finds the tables and the
recorded time that the form of `replay_window` offers. Settings: `{settings}`.
"""

LEAVE = "Leave it"
ANSWERS = {"approve": "Approve", "reject": "Reject", "retry": "Try again", "skip": "Leave it out", "rebuild": "Rebuild"}
"""The answers of a person, by the option of `retable hold release` that does the same."""

ANSWER_WITHIN = timedelta(days=3)
_EVERY_MINUTES = 5
_FOR_GOOD = ("approve", "skip")
"""Answers that change gold permanently."""
_FIRST = "{{ (ti.xcom_pull(task_ids='ask')['responded_by_user'] or {}).get('name') or 'A person' }}"
_ANSWER = "{{ ti.xcom_pull(task_ids='ask')['chosen_options'][0] }}"
_HOLD = Param(None, type=["null", "string"], title="Hold", description="The ID of the hold; `watch_holds` fills it in")
_TABLE = Param(None, type=["null", "string"], title="Table", description="A held table, as gold_shop.orders")


def decide_hold(settings: Reference | None = None) -> list[DAG]:
    """Return the DAGs `decide_hold`, which asks, and `watch_holds`, which finds holds. [] if there is no source."""
    reference = reference_of(settings)
    loaded = settings_of(reference)
    if not loaded.sources:
        return []
    return [_asking(reference, loaded), _watching(reference, loaded)]


def hold_id(state: "GoldState") -> str:
    """Return an ID for the hold of a table. It stays the same while the same cause holds the table at one position."""
    hold = state.hold
    facts = [state.source, state.identity] + (
        [] if hold is None else [hold.code, hold.position, hold.part, hold.statement]
    )
    return hashlib.sha256("\n".join(map(str, facts)).encode()).hexdigest()[:16]


class AskOperator(HITLOperator):
    """Asks a person how a held table continues, and offers only the answers that are possible for the hold.

    If no person answers in time, the answer is `LEAVE`, and the table stays held.
    """

    def __init__(self, **task: Any) -> None:
        # If an answer comes in the second in which the task begins to wait, Airflow may fail the task: ask again.
        again: dict[str, Any] = {"retries": 2, "retry_delay": timedelta(seconds=10)}
        options = [*ANSWERS.values(), LEAVE]
        super().__init__(**again, **task, options=options, defaults=[LEAVE], response_timeout=ANSWER_WITHIN)

    def execute(self, context: Context) -> Any:
        """Ask, and wait."""
        fitting = context["ti"].xcom_pull(task_ids="explain")["ways"]
        self.options = [*(ANSWERS[way] for way in fitting), LEAVE]
        return super().execute(context)


class ConfirmOperator(ApprovalOperator):
    """Asks a second person if the first answer changes gold permanently. For other answers it does nothing."""

    def execute(self, context: Context) -> Any:
        """Ask, and wait."""
        if _way(context["ti"].xcom_pull(task_ids="ask")) not in _FOR_GOOD:
            return None
        return super().execute(context)


def _confirm(loaded: "Settings") -> ConfirmOperator:
    return ConfirmOperator(
        task_id="confirm",
        subject="{{ params.table }}: " + _FIRST + " answered “" + _ANSWER + "”. Do you, a second person, agree?",
        body="{{ ti.xcom_pull(task_ids='explain')['markdown'] }}",
        defaults=[ApprovalOperator.REJECT],
        assigned_users=deciders(loaded),
        response_timeout=ANSWER_WITHIN,
        retries=2,
        retry_delay=timedelta(seconds=10),
    )


def _asking(settings: Reference, loaded: "Settings") -> DAG:
    with DAG(
        "decide_hold",
        schedule=None,
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        params={"table": _TABLE, "hold": _HOLD},
        access_control=access_control(loaded),
        tags=["retable", "decide_hold"],
        doc_md=DOC.format(days=ANSWER_WITHIN.days, settings=settings),
    ) as dag:

        @task(task_id="explain", retries=2, retry_delay=timedelta(seconds=10))
        def explain() -> dict[str, Any]:
            return _explain(settings, get_current_context())

        def words(context: Context) -> tuple[str, list[str]]:
            return _release_words(settings, context)

        ask = AskOperator(
            task_id="ask",
            subject="{{ params.table }} is held: how does it continue?",
            body="{{ ti.xcom_pull(task_ids='explain')['markdown'] }}",
            assigned_users=deciders(loaded),
        )
        act = ActOperator(task_id="act", job="command", words=words, settings=settings, report=_outcome)
        explain() >> ask >> act
        if loaded.airflow.second_person:
            ask >> _confirm(loaded) >> act
    return dag


def _watching(settings: Reference, loaded: "Settings") -> DAG:
    with DAG(
        "watch_holds",
        schedule=CronTriggerTimetable(f"*/{_EVERY_MINUTES} * * * *", timezone="UTC"),
        start_date=datetime(2000, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        access_control=access_control(loaded),
        dagrun_timeout=timedelta(minutes=15),
        tags=["retable", "decide_hold"],
        doc_md=WATCH_DOC.format(settings=settings),
    ) as dag:

        @task(task_id="look")
        def look() -> list[dict[str, Any]]:
            return held_tables(settings)

        @task(task_id="offer")
        def offer() -> None:
            write_offers(settings)

        offer()
        trigger = TriggerDagRunOperator.partial(
            task_id="ask",
            trigger_dag_id="decide_hold",
            # A hold that was asked about is not asked about again, whatever the answer.
            skip_when_already_exists=True,
        )
        trigger.expand_kwargs(look())
    return dag


def held_tables(settings: Reference) -> list[dict[str, Any]]:
    """Return, for each held table, the run of `decide_hold` to trigger: a dictionary of run ID and parameters."""
    from retable.gold.read import gold_states, is_retired

    with lake_of(settings) as lake:
        # A table with damaged metadata is left out: no answer can let it continue.
        states = gold_states(lake, lambda _: None)
        held = {name: state for name, state in states.items() if state.hold is not None and not is_retired(lake, state)}
        mine = {name: state for name, state in held.items() if state.source in lake.settings.sources}
    return [
        {"trigger_run_id": f"hold__{hold_id(state)}", "conf": {"table": name, "hold": hold_id(state)}}
        for name, state in sorted(mine.items())
    ]


def _explain(settings: Reference, context: Context) -> dict[str, Any]:
    """Return the text of the question: what stopped the table, and what each answer does.

    The run is skipped if the hold is gone.
    """
    check_conf(context)
    name = context["params"]["table"]
    if not name:
        raise AirflowFailException(
            "the parameter `table` is empty: name the held table, as gold_shop.orders; `retable hold list` shows them"
        )
    with lake_of(settings) as lake:
        state = _standing(lake, name, context["params"]["hold"])
        words = _answers(lake, name, state)
    hold = state.hold
    assert hold is not None
    lines = [f"**{inline(name)}** is held at {inline(hold.position or 'its first row')} ({inline(hold.code)}):"]
    lines += [code(hold.words)] + ([code(hold.shown_statement)] if hold.shown_statement else [])
    for way, told in words.items():
        lines.append(f"**{ANSWERS[way]}**\n\n{code(told)}")
    lines.append(f"**{LEAVE}**: the table stays held. Other ways: {inline(hold.remedy.replace('TABLE', name))}")
    return {"markdown": "\n\n".join(lines), "ways": list(words), "hold": hold_id(state), "source": state.source}


def _standing(lake: "Lake", name: str, asked: str | None) -> "GoldState":
    """Return the state of a held table. Skip the run if the table has no hold, or another hold than `asked`."""
    from retable.errors import NotFound
    from retable.gold.read import find_gold

    try:
        _, state = find_gold(lake, name)
    except NotFound as error:
        raise AirflowFailException(str(error)) from error
    if state.hold is None or (asked and hold_id(state) != asked):
        raise AirflowSkipException(f"{name} is no longer held for the reason of this run: there is nothing to decide")
    return state


def _answers(lake: "Lake", name: str, state: "GoldState") -> dict[str, str]:
    """Return the effect of each possible answer, in the words of `retable hold release`."""
    from retable.replay.release import count_waiting, fitting_ways, plan_release, spoken_dialect

    hold = state.hold
    assert hold is not None
    source = lake.settings.source(state.source)
    waiting = count_waiting(lake, source.name, name)
    ways = [way for way in fitting_ways(hold) if way in ANSWERS]
    plans = {
        way: plan_release(name, state, hold, way, None, waiting, lambda: spoken_dialect(lake, source)) for way in ways
    }
    # The first lines repeat what is shown above.
    shown = 1 + bool(hold.shown_statement)
    return {way: "\n".join(plan.words[shown:]) for way, plan in plans.items()}


def _release_words(settings: Reference, context: Context) -> tuple[str, list[str]]:
    asked, answer = (context["ti"].xcom_pull(task_ids=name) for name in ("explain", "ask"))
    way, first = _way(answer), who_answered(answer)
    name = context["params"]["table"]
    if way is None:
        raise AirflowSkipException(f"{name} stays held, because the answer was “{LEAVE}”")
    with lake_of(settings) as lake:
        _standing(lake, name, asked["hold"])
    reason = f"decided in Airflow by {first}"
    if way in _FOR_GOOD and (loaded := settings_of(settings)).airflow.second_person:
        second = who_answered(context["ti"].xcom_pull(task_ids="confirm"))
        check_two(loaded, first, second, "confirm")
        reason += f", confirmed by {second}"
    return asked["source"], ["hold", "release", name, f"--{way}", "--yes", "--reason", reason]


def _way(answer: dict[str, Any]) -> str | None:
    """Return the option of `retable hold release` for an answer; None if the table stays held."""
    (chosen,) = answer["chosen_options"]
    return next((way for way, words in ANSWERS.items() if words == chosen), None)


def _outcome(lake: "Lake", context: Context) -> dict[str, Any]:
    """Return the state of the table after the release, and the code of its hold if it is held again."""
    from retable.gold.read import find_gold

    _, state = find_gold(lake, context["params"]["table"])
    if state.hold is not None:
        context["ti"].task.log.warning("the table is held again: %s", printable(state.hold.words))
    return {"state": state.state, "held_again": None if state.hold is None else state.hold.code}
