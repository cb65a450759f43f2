"""`retable fresh`: says whether a table is complete through a time. Exit code 0 is yes, 3 is not yet."""

import time
from datetime import datetime
from typing import Annotated

import typer

from retable.cli.arguments import GradeOption, Json, SourceOrTable, instant, newest_lake
from retable.cli.clock import now
from retable.cli.look.why import verdict_json
from retable.cli.output import print_json, say
from retable.errors import Late
from retable.freshness.catalog import ask

app = typer.Typer()

_POLL_SECONDS = 15


@app.command()
def fresh(
    ctx: typer.Context,
    table: SourceOrTable,
    through: Annotated[
        datetime,
        typer.Option(
            "--through", metavar="T", parser=instant, help="The time T: everything before it must be in gold."
        ),
    ],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is complete. Each new cause is printed.")] = False,
    grade: GradeOption = "row",
    as_json: Json = False,
) -> None:
    """Say whether a table, or every table of a source, is complete through T. Exit code 0: yes, 3: not yet."""
    lake = newest_lake(ctx)
    verdict = ask(lake, [table], through, grade)
    said = None
    while wait and verdict.cause is not None:
        cause = (verdict.cause.code, verdict.cause.partition, verdict.cause.window)
        if cause != said:
            say(verdict.words)
        said = cause
        time.sleep(_POLL_SECONDS)
        verdict = ask(lake, [table], through, grade)
    if as_json:
        print_json(verdict_json(verdict, now()))
    if not verdict.is_fresh:
        raise Late(verdict.words)
    say(verdict.words)
