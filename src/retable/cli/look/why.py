"""`retable why`: prints why a source or a table is not complete, and the next step."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from retable.cli.arguments import GradeOption, Json, SourceOrTable, instant, lake_of
from retable.cli.clock import now
from retable.cli.output import print_facts, print_json, say
from retable.freshness.catalog import ask_why, source_of
from retable.freshness.gate import Cause, Verdict, format_time

app = typer.Typer()

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_OTHERS = 20


@app.command()
def why(
    ctx: typer.Context,
    name: SourceOrTable,
    through: Annotated[
        datetime | None,
        typer.Option(
            "--through",
            metavar="T",
            parser=instant,
            help="The time through which it should be complete. Not given: the end of the last full window.",
        ),
    ] = None,
    grade: GradeOption = "row",
    as_json: Json = False,
) -> None:
    """Print why a source or a table is not complete, and the next step.

    The first cause must be removed first. Other causes follow, one line each; an alert names only the first cause.
    """
    lake = lake_of(ctx)
    moment = now()
    asked = through or moment - (moment - _EPOCH) % source_of(lake, name).every
    verdict, others = ask_why(lake, name, asked, grade)
    if as_json:
        print_json({**verdict_json(verdict, moment), "others": [_cause_json(each) for each in others]})
        return
    cause, standing = verdict.cause, verdict.standing
    print_facts(
        {
            "name": name if verdict.is_fresh or verdict.name == name else f"{verdict.name}, which delays {name}",
            "asked": f"complete through {format_time(asked)}",
            "verdict": "fresh" if verdict.is_fresh else "late",
            "watermark": None
            if standing.watermark is None
            else f"{format_time(standing.watermark)} ({standing.grade})",
            "cause": None if cause is None else f"{cause.code}: {cause.reason}",
            "next step": None if cause is None else cause.next_step,
        }
    )
    for other in others[:_MOST_OTHERS]:
        say(f"also {other.code}{f' ({other.table})' if other.table else ''}: {other.reason}")
    if len(others) > _MOST_OTHERS:
        say(f"and {len(others) - _MOST_OTHERS} more causes: --json shows all")


def verdict_json(verdict: Verdict, now: datetime) -> dict[str, object]:
    """Return a verdict (whether tables are complete through a time, or the cause if not) as a dictionary for JSON.

    `lag_seconds` in it is the age of the watermark at the time `now`; None if there is no watermark.
    """
    cause, standing = verdict.cause, verdict.standing
    return {
        "name": verdict.name,
        "through": format_time(verdict.through),
        "fresh": verdict.is_fresh,
        **standing_json(standing.watermark, standing.grade, now),
        "cause": None if cause is None else _cause_json(cause),
    }


def _cause_json(cause: Cause) -> dict[str, object]:
    return {
        "code": cause.code,
        "reason": cause.reason,
        "next_step": cause.next_step,
        "table": cause.table,
        "partition": cause.partition,
        "window": cause.window,
        "since": None if cause.since is None else format_time(cause.since),
    }


def standing_json(watermark: datetime | None, grade: str | None, now: datetime) -> dict[str, object]:
    """Return a watermark, its grade and its age at the time `now`, as a dictionary for JSON.

    If there is no watermark, all values are None.
    """
    return {
        "watermark": None if watermark is None else format_time(watermark),
        "grade": grade,
        "lag_seconds": None if watermark is None else (now - watermark) // timedelta(seconds=1),
    }
