"""The Airflow task that records watermarks (up to which time tables are complete), and the sensor that waits for one.

Both read the catalog through pyiceberg, without a JVM. A waiting sensor uses no worker slot.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator, BaseSensorOperator, Context
from airflow.sdk.exceptions import AirflowFailException, AirflowSensorTimeout, TaskDeferralTimeout, TaskDeferred
from airflow.triggers.base import BaseTrigger, TriggerEvent

from retable.errors import EnvironmentFault, NotFound, RetableError, SettingsError
from retable.model.evidence import GRADES, Grade
from retable.model.window import window_start
from retable_airflow.assets import announce, cut_asset, tables_alias
from retable_airflow.lakes import Reference, address_of, lake_of
from retable_airflow.looks import Looks

if TYPE_CHECKING:
    from retable.freshness.gate import FreshnessStanding
    from retable.ledger.lake.catalog import Lake

_GRACE = timedelta(minutes=5)
"""If no triggerer runs, the scheduler ends a sensor this long after its deadline."""

_looks = Looks()


def fresh(source: str, settings: Reference | None = None) -> BaseOperator:
    """Return the task that records the watermarks of a source after the stages of a run. The task does not wait."""
    return _FreshOperator(
        task_id="fresh", source=source, settings=settings, outlets=[cut_asset(source), tables_alias(source)]
    )


class FreshnessSensor(BaseSensorOperator):
    """Waits in the triggerer until gold tables are complete through a time.

    `tables` is a gold table, a source (which means all of its tables), or a list of tables and sources. `through` is
    the time; its default is the end of the run's data interval. `grade` is the lowest accepted grade of evidence.
    `deadline` is the longest time to wait, in seconds or as a timedelta. If it is None, Airflow's `timeout` is used.
    After this time the task fails. Its error names the partition, evidence or table that it waited for. If `settings`
    is None, $RETABLE_SETTINGS of the sensor's machine is used.

    The result is a dict with `through`, `watermark`, `grade` and `windows`. `windows` has, by source, the first window
    that proved that all these tables are complete. The consistent cut of that window contains all their changes before
    `through`, also changes that a hold or a repeated replay delayed.
    """

    template_fields: Sequence[str] = ("tables", "through")

    def __init__(
        self,
        *,
        tables: str | Sequence[str],
        through: datetime | str | None = None,
        grade: Grade = "row",
        deadline: timedelta | float | None = None,
        settings: Reference | None = None,
        **task: Any,
    ) -> None:
        if grade not in GRADES:
            raise ValueError(f"grade is {grade!r}, which is not a grade of evidence; give one of {', '.join(GRADES)}")
        super().__init__(**task if deadline is None else {**task, "timeout": deadline})
        self.tables = tables
        self.through = through
        self.grade: Grade = grade
        self.settings = settings

    def execute(self, context: Context) -> dict[str, object]:
        """Check whether the tables are complete. If not, wait in the triggerer, without a worker slot."""
        return self._look(context, datetime.now(UTC) + timedelta(seconds=self.timeout))

    def look_again(self, context: Context, event: dict[str, str], until: str) -> dict[str, object]:
        """Check again after the trigger fired, because the tables may have changed since.

        `event` is that of the trigger, and `until` the time at which the task fails.
        """
        if "error" in event:
            raise AirflowFailException(event["error"])
        return self._look(context, datetime.fromisoformat(until))

    def resume_execution(self, next_method: str, next_kwargs: dict[str, Any] | None, context: Context) -> Any:
        """Continue the task after a wait in the triggerer. Airflow calls this.

        If the scheduler ended the wait, check once more, so that the error names the cause and not only a timeout.
        """
        try:
            return super().resume_execution(next_method, next_kwargs, context)
        except AirflowSensorTimeout as error:
            if not isinstance(error.__cause__, TaskDeferralTimeout):
                raise
            return self._look(context, datetime.now(UTC))

    def _look(self, context: Context, until: datetime) -> dict[str, object]:
        through = _time(context.get("data_interval_end") if self.through is None else self.through)
        question = Question(str(address_of(self.settings)), _names(self.tables), through, self.grade)
        try:
            answer = question.ask()
        except EnvironmentFault:
            raise
        except SettingsError as error:
            raise AirflowFailException(str(error)) from error
        if answer.report is None and datetime.now(UTC) >= until:
            raise AirflowSensorTimeout(answer.words)
        self.log.info(answer.words)
        if answer.report is not None:
            return answer.report
        self.log.info("waiting until %s", until.isoformat(timespec="seconds"))
        raise self._deferral(question, until)

    def _deferral(self, question: "Question", until: datetime) -> TaskDeferred:
        left = max(until - datetime.now(UTC), timedelta(0))
        return TaskDeferred(
            trigger=FreshnessTrigger(**question.to_json(), until=until.isoformat(), poll=self.poke_interval),
            method_name="look_again",
            kwargs={"until": until.isoformat()},
            timeout=left + timedelta(seconds=self.poke_interval) + _GRACE,
        )


class FreshnessTrigger(BaseTrigger):
    """Airflow's trigger of a waiting `FreshnessSensor`. It checks every `poll` seconds whether tables are complete.

    It fires when they are complete, at the time `until`, or if an error needs a person. It has no state except its
    arguments, so another triggerer can continue it after a restart.
    """

    def __init__(self, settings: str, names: list[str], through: str, grade: Grade, until: str, poll: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
        self.settings = settings
        self.names = names
        self.through = through
        self.grade = grade
        self.until = until
        self.poll = poll

    def serialize(self) -> tuple[str, dict[str, Any]]:
        names = ("settings", "names", "through", "grade", "until", "poll")
        return f"{__name__}.{type(self).__qualname__}", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        question = Question(self.settings, self.names, datetime.fromisoformat(self.through), self.grade)
        until = datetime.fromisoformat(self.until)
        while (left := (until - datetime.now(UTC)).total_seconds()) > 0:
            # A trigger that fires before the task is recorded as deferred may be missed.
            await asyncio.sleep(min(self.poll, left))
            try:
                if await asyncio.to_thread(question.is_answered):
                    break
            except SettingsError as error:
                if not isinstance(error, EnvironmentFault):
                    yield TriggerEvent({"error": str(error)})  # type: ignore[no-untyped-call]  # Airflow leaves it untyped
                    return
                self.log.warning("the check failed, and will be repeated: %s", error)
            except RetableError as error:
                self.log.warning("the check failed, and will be repeated: %s", error)
        yield TriggerEvent({})  # type: ignore[no-untyped-call]  # Airflow leaves it untyped


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a `Question`, as a text for the log.

    `report` is the result of the sensor, or None if the tables are not complete yet.
    """

    words: str
    report: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a sensor: are gold tables, or all tables of sources, complete through a time?

    A name in `names` is a gold table or a source. `grade` is the lowest grade of evidence that counts. A table that
    does not exist yet is not complete. A source that the settings do not have is an error.
    """

    settings: str
    names: list[str]
    through: datetime
    grade: Grade

    def ask(self) -> Answer:
        """Read the catalog and return whether the tables are complete, or why they are not.

        Raise SettingsError if a person must change something first.
        """
        from retable.freshness.catalog import ask, reached_at

        with lake_of(self.settings) as lake:
            self._check_sources(lake)
            try:
                verdict = ask(lake, self.names, self.through, self.grade)
            except NotFound as error:
                return Answer(str(error))
            if not verdict.is_fresh:
                return Answer(verdict.words)
            reached = reached_at(lake, self.names, self.through, self.grade)
            through = self.through.isoformat()
            return Answer(verdict.words, {"through": through, **_standing(verdict.standing), "windows": reached})

    def is_answered(self) -> bool:
        """Return whether the tables are complete. This needs fewer reads of the catalog than `ask`.

        It first checks how complete the sources are, from reads that all sensors of this triggerer share.
        """
        from retable.freshness.catalog import ask, reaches

        lines = _looks.lines(self.settings, self.names)
        if lines is None or not all(reaches(line, self.grade, self.through) for line in lines):
            return False
        with lake_of(self.settings) as lake:
            try:
                return ask(lake, self.names, self.through, self.grade).is_fresh
            except NotFound:
                return False

    def to_json(self) -> dict[str, Any]:
        """Return the question as arguments of a `FreshnessTrigger`."""
        return {
            "settings": self.settings,
            "names": self.names,
            "through": self.through.isoformat(),
            "grade": self.grade,
        }

    def _check_sources(self, lake: "Lake") -> None:
        for name in self.names:
            if "." not in name:
                lake.settings.source(name)


class _FreshOperator(BaseOperator):
    def __init__(self, *, source: str, settings: Reference | None, **task: Any) -> None:
        super().__init__(**task)
        self.source = source
        self.settings = settings

    def execute(self, context: Context) -> dict[str, object]:
        """Record the watermarks and update the assets. If the source is late, the task succeeds and logs the cause."""
        from retable.freshness.catalog import record
        from retable.freshness.gate import judge
        from retable_airflow.stage import window_of

        window = window_of(context)
        with lake_of(self.settings) as lake:
            source = lake.settings.source(self.source)
            facts = record(lake, source, datetime.now(UTC))
            end = window_start(window) + source.every
            verdict = judge([facts], end, "row")
            changed = announce(context, lake, self.source, window, end, facts)
        self.log.info(verdict.words)
        return {"window": window, "fresh": verdict.is_fresh, **_standing(verdict.standing), "changed": changed}


def _standing(standing: "FreshnessStanding") -> dict[str, object]:
    watermark = standing.watermark
    return {"watermark": None if watermark is None else watermark.isoformat(), "grade": standing.grade}


def _names(tables: str | Sequence[str]) -> list[str]:
    names = [tables] if isinstance(tables, str) else list(tables)
    if not names:
        raise AirflowFailException(
            "the sensor has no table to wait for, because `tables` is empty: name a gold table or a source"
        )
    return names


def _time(through: object) -> datetime:
    """Parse the time `through`, which is a datetime or a rendered template.

    AirflowFailException if it is empty or has no time zone. It is empty if the run has no data interval.
    """
    if not through:
        raise AirflowFailException(
            "this run has no data interval: give the sensor a time, `through`, or trigger the run with a logical date"
        )
    try:
        time = through if isinstance(through, datetime) else datetime.fromisoformat(str(through))
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise AirflowFailException(f"through is {through!r}, which is not a time with a zone, as 2026-03-01T06:00:00Z")
    return time
