"""The arguments that several commands take, and what the first of them opens."""

from datetime import datetime
from typing import Annotated

import typer

from retable.config import Settings, load_settings
from retable.ledger.catalog import Lake, open_lake
from retable.model.evidence import Grade

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="A source of the settings.")]
TableArgument = Annotated[
    str, typer.Argument(metavar="TABLE", help="A gold table, as `retable tables` prints it: gold_shop.orders.")
]
SourceOrTable = Annotated[
    str, typer.Argument(metavar="SOURCE|TABLE", help="A source of the settings, or a gold table: gold_shop.orders.")
]
GradeOption = Annotated[Grade, typer.Option("--grade", help="The lowest kind of evidence that is accepted.")]
WindowName = Annotated[
    str, typer.Option("--window", metavar="W", help="A window, named by its start in UTC: 20260301T0500Z.")
]


def settings_of(ctx: typer.Context) -> Settings:
    """Load the settings that `--settings` or the environment names."""
    return load_settings(ctx.obj)


def lake_of(ctx: typer.Context) -> Lake:
    """Open the lake of these settings."""
    return open_lake(settings_of(ctx))


def instant(text: str) -> datetime:
    """Read a time as the command line takes it: ISO 8601 with a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time; write it as 2026-03-01T05:00:00Z") from None
    if time.tzinfo is None:
        raise typer.BadParameter(f"{text!r} has no zone; write {text}Z for UTC, or {text}+08:00")
    return time
