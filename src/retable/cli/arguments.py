"""The arguments and options that several commands have, and functions that open the lake for a command."""

from datetime import datetime
from typing import Annotated

import typer

from retable.cli.output import say
from retable.ledger.lake.catalog import Lake, check_newest, open_lake, open_lake_to_read, runs_behind
from retable.ledger.lake.identity import older
from retable.ledger.runs import begin_run, end_run
from retable.model.evidence import Grade
from retable.settings.load import Settings, load_settings

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="A source of the settings.")]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="A gold table, as `retable tables` prints it: gold_shop.orders.")
]
SourceOrTable = Annotated[
    str, typer.Argument(metavar="SOURCE|TABLE", help="A source of the settings, or a gold table: gold_shop.orders.")
]
GradeOption = Annotated[Grade, typer.Option("--grade", help="The lowest grade of evidence that counts.")]
WindowName = Annotated[
    str, typer.Option("--window", metavar="W", help="A window, named by its start in UTC: 20260301T0500Z.")
]


def settings_of(ctx: typer.Context) -> Settings:
    """Load the settings that the option `--settings` or $RETABLE_SETTINGS names, or else ./retable.toml."""
    return load_settings(ctx.obj)


def lake_of(ctx: typer.Context) -> Lake:
    """Open the lake of the command's settings for reading. Print a warning if its catalog is older than its files."""
    lake = open_lake_to_read(settings_of(ctx))
    if behind := runs_behind(lake):
        say(f"warning: {older(lake.settings.lake, behind)}")
    return lake


def newest_lake(ctx: typer.Context) -> Lake:
    """Open the lake of the command's settings for reading.

    Raise CatalogMismatch if its catalog is lost, belongs to another lake, or is older than its files. A catalog is
    older if it was restored from a backup, for example.
    """
    lake = open_lake_to_read(settings_of(ctx))
    check_newest(lake)
    return lake


def lake_to_write(ctx: typer.Context) -> Lake:
    """Open the lake of the command's settings for writing, and record the start of a run in the lake.

    The run ends when the command ends. Raise CatalogMismatch if the catalog is not the newest one of the lake, or if an
    older Retable wrote the lake.
    """
    lake = open_lake(settings_of(ctx))
    begin_run(lake)
    ctx.call_on_close(lambda: end_run(lake))
    return lake


def instant(text: str) -> datetime:
    """Parse a time from the command line: ISO 8601 with a time zone. BadParameter for any other text."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a valid time; write it as 2026-03-01T05:00:00Z") from None
    if time.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no time zone; write {text}Z for UTC, or {text}+08:00")
    return time
