"""`retable run`: runs all stages, window by window. `retable land`, `decode`, `replay`: one stage of one window."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Annotated, Any

import typer

from retable.cli.arguments import SourceName, WindowName, instant, lake_to_write
from retable.cli.clock import new_run, now
from retable.cli.interrupts import before_interrupts
from retable.cli.output import NeedsAttention, say
from retable.cli.patterns import warn_of_patterns
from retable.cli.progress import WindowProgress
from retable.cli.spark_log import spark_log
from retable.errors import SparkDied
from retable.freshness.blockers import beyond_budget
from retable.freshness.catalog import ask, record
from retable.freshness.gate import format_time
from retable.land.due import check_paused, inspect_arrivals
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import spark_died, spark_explained
from retable.ledger.quarantine import list_quarantined, read_accepted
from retable.ledger.read import read_stages
from retable.ledger.rows import Stage, StageReport
from retable.ledger.runs import begin_run
from retable.ledger.windows.empty import close_empty
from retable.ledger.windows.recording import read_ordinals, read_windows, record_windows
from retable.model.window import Window, opening, window_name, window_start
from retable.printable import amount
from retable.settings.load import Settings
from retable.settings.sources import Source

app = typer.Typer()

_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
_PATIENCE = 5.0
"""How many seconds to wait until a JVM that does not answer has ended. Then it is asked to stop."""


@app.command()
def run(
    ctx: typer.Context,
    source: SourceName,
    start: Annotated[
        datetime | None,
        typer.Option(
            "--from", metavar="T", parser=instant, help="The start. Not given: the first window that is not replayed."
        ),
    ] = None,
    end: Annotated[
        datetime | None, typer.Option("--to", metavar="T", parser=instant, help="The end. Not given: now.")
    ] = None,
) -> None:
    """Land, decode and replay a source, window by window.

    T is a time with its zone, as 2026-03-01T05:00:00Z. Without --to the current window is closed now, and later
    messages belong to the next one. To run a window again changes nothing.
    """
    if start is not None and end is not None and start >= end:
        raise typer.BadParameter("--from must be before --to")
    lake = lake_to_write(ctx)
    found = lake.settings.source(source)
    windows = _due(lake, found, start, end)
    if found.paused is not None:
        say(f"{source} is paused, and no new window is recorded: {found.paused}")
    if not windows:
        say(f"nothing to do: no window of {source} waits in this range; `retable status` shows the windows")
        _say_next(lake, found)
        return
    try:
        _run_windows(lake, found, windows)
    except NeedsAttention:
        warn_of_patterns(lake)
        raise
    warn_of_patterns(lake)


@app.command()
def land(ctx: typer.Context, source: SourceName, window: WindowName) -> None:
    """Record the windows that are due, and store the messages of one window in bronze.

    A landed window is landed again only if a file of it is missing or damaged.
    """
    lake = lake_to_write(ctx)
    found = lake.settings.source(source)
    check_paused(lake, found, window)
    _record(lake, found, window_start(window) + found.every)
    _run_stages(lake, found, window, ("land",))


@app.command()
def decode(ctx: typer.Context, source: SourceName, window: WindowName) -> None:
    """Decode one landed window into the change events of silver."""
    lake = lake_to_write(ctx)
    _run_stages(lake, lake.settings.source(source), window, ("decode",))


@app.command()
def replay(ctx: typer.Context, source: SourceName, window: WindowName) -> None:
    """Replay one decoded window into gold."""
    lake = lake_to_write(ctx)
    _run_stages(lake, lake.settings.source(source), window, ("replay",))


@contextmanager
def running_spark(settings: Settings) -> Iterator[Any]:
    """Start Spark for the `with` block, and yield the session. SparkDied if Spark's JVM ended during the block."""
    # Loading PySpark takes longer than most commands that do not need it, so only these commands load it.
    from retable.session import build_session, is_gone, kill, stop_session

    with spark_log() as log:
        with spark_explained(settings.lake):
            spark = build_session(settings, "retable", log)
        try:
            with before_interrupts(kill):
                yield spark
        except Exception as error:
            if not is_gone(_PATIENCE if isinstance(error, SparkDied) else 0):
                raise
            raise spark_died() from error
        finally:
            stop_session(spark)


def _record(lake: Lake, source: Source, until: datetime) -> None:
    record_windows(lake, source, lambda: inspect_arrivals(source, now()), until, now())


def _due(lake: Lake, source: Source, start: datetime | None, end: datetime | None) -> list[Window]:
    """Record windows and return those that overlap the range. Without `start`, begin at the first unreplayed window."""
    until = end or now()
    _record(lake, source, until)
    if start is None:
        replayed = read_stages(lake, source.name)["replay"]
        first = next((name for name in read_ordinals(lake, source.name) if name not in replayed), None)
    else:
        first = window_name(start - source.every)
    windows = [] if first is None else read_windows(lake, source.name, first)
    return [window for window in windows if window.start < until and (start is None or window.end > start)]


def _run_windows(lake: Lake, source: Source, windows: list[Window]) -> None:
    """Run all stages of these windows in order. Consecutive empty windows need only one commit, and no Spark."""
    reports: list[StageReport] = []
    with ExitStack() as stack:
        progress = stack.enter_context(WindowProgress(len(windows)))
        spark: Any = None
        number = 0
        for is_empty, stretch in groupby(windows, key=lambda window: window.is_empty):
            found = list(stretch)
            this = new_run()
            if is_empty:
                progress.skip(number + 1, found)
                close_empty(lake, found, this.id, this.now)
                record(lake, source, now())
            else:
                spark = spark or stack.enter_context(running_spark(lake.settings))
                for at, window in enumerate(found, start=number + 1):
                    reports += run_window(lake, source, at, window.name, _STAGES, spark, progress)
            number += len(found)
    _say_how_far(lake, source)
    _say_next(lake, source)
    call_attention(lake, source, reports)


def _run_stages(lake: Lake, source: Source, window: str, stages: tuple[Stage, ...]) -> None:
    with WindowProgress(1) as progress, running_spark(lake.settings) as spark:
        reports = run_window(lake, source, 1, window, stages, spark, progress)
    call_attention(lake, source, reports)


def run_window(
    lake: Lake,
    source: Source,
    number: int,
    window: str,
    stages: tuple[Stage, ...],
    spark: Any,
    progress: WindowProgress,
) -> list[StageReport]:
    """Run these stages of one window, each as a separate run, and return the report of each stage.

    `number` is the number of the window in this command, for `progress`. `spark` is the Spark session.
    """
    entry_points = _entry_points(progress.step, checks=stages == ("land",))
    reports = []
    for stage in stages:
        progress.begin(number, window, stage)
        this = new_run()
        begin_run(lake)
        reports.append(entry_points[stage](spark, lake, source, window, this.id, this.now))
        progress.done(reports[-1])
    if "replay" in stages:
        record(lake, source, now())
    return reports


def _entry_points(on_progress: Callable[[str], None], checks: bool) -> dict[Stage, Callable[..., StageReport]]:
    # Spark's entry points load PySpark, as above.
    from retable.decode.spark import decode as decode_window
    from retable.land.spark import land_window
    from retable.replay.spark import replay as replay_window

    return {
        "land": partial(land_window, checks=checks),
        "decode": decode_window,
        "replay": partial(replay_window, on_progress=on_progress),
    }


def _say_how_far(lake: Lake, source: Source) -> None:
    standing = ask(lake, [source.name], now(), "row").standing
    if standing.watermark is not None:
        say(f"{source.name} is complete through {format_time(standing.watermark)} ({standing.grade})")


def _say_next(lake: Lake, source: Source) -> None:
    """Print when the next window can be recorded, if this time is in the future."""
    last = next(reversed(read_ordinals(lake, source.name)), None)
    opens = None if last is None or source.paused is not None else opening(last, source.every, now())
    if opens is not None:
        say(f"the next window of {source.name}, {window_name(opens)}, can be recorded from {format_time(opens)} on")


def call_attention(lake: Lake, source: Source, reports: list[StageReport]) -> None:
    """Raise NeedsAttention if these runs held a table, or if a window has more in quarantine than `quarantine_budget`.

    `reports` are the reports of the runs. Messages and rows that a person accepted as lost do not count.
    """
    held = sorted({table for report in reports for table in report.held})
    waiting = 0
    for window in {report.window for report in reports}:
        stages = {report.stage for report in reports if report.window == window}
        mine = [report.counts for report in reports if report.window == window]
        refused = sum(counts.get(name, 0) for counts in mine for name in ("quarantined", "rejected"))
        refused -= _count_accepted(lake, source, window, stages) if refused else 0
        landed = max(counts.get("landed", 0) for counts in mine)
        waiting += 0 if source.quarantine_budget.allows(refused, landed) else refused
    _end(held, waiting)


def call_attention_to_rebuilt(lake: Lake, source: Source, reports: list[StageReport], held: Sequence[str]) -> None:
    """Raise NeedsAttention after rebuilds if `held` names tables, or if a window has too much in quarantine.

    `reports` are the reports of the rebuilds. If one of them counts refused rows, each window of the source is compared
    with its limit, the setting `quarantine_budget`. The number of each window comes from the quarantine table, because
    the report of a rebuild has only the total of all windows.
    """
    refused = any(report.counts.get(name) for report in reports for name in ("quarantined", "rejected"))
    _end(held, beyond_budget(lake, source) if refused else 0)


def _end(held: Sequence[str], waiting: int) -> None:
    words = []
    if held:
        words.append(f"held: {', '.join(held)}; `retable hold list` says why")
    if waiting:
        what = amount(waiting, "message or row", "messages or rows")
        words.append(f"quarantined: {what}; `retable quarantine list` says which")
    if words:
        raise NeedsAttention("done, but " + "; ".join(words))


def _count_accepted(lake: Lake, source: Source, window: str, stages: set[Stage]) -> int:
    accepted = read_accepted(lake, source.name)
    rows = list_quarantined(lake, source.name, window) if accepted else []
    return sum(row.stage in stages and row.id in accepted for row in rows)
