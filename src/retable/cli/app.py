"""The commands, by what a person wants, and the options that all of them know."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from retable.cli.ending import IMPORT, CommandLine
from retable.cli.look.fresh import fresh
from retable.cli.look.gold import history, rows, schema, tables
from retable.cli.look.plan import plan
from retable.cli.look.status import status
from retable.cli.look.why import why
from retable.cli.look_after import shadow
from retable.cli.look_after.accept_loss import accept_loss
from retable.cli.look_after.accept_rows import accept_rows
from retable.cli.look_after.copies import backup, copy
from retable.cli.look_after.holds import list_holds, release_hold
from retable.cli.look_after.migrate import migrate
from retable.cli.look_after.quarantine import (
    accept_quarantined,
    list_quarantine,
    redecode_quarantined,
    show_quarantined,
)
from retable.cli.look_after.rebuild import rebuild
from retable.cli.look_after.recover import recover
from retable.cli.look_after.upkeep import upkeep
from retable.cli.run.baseline import baseline
from retable.cli.run.check import check
from retable.cli.run.init import init
from retable.cli.run.resync import resync
from retable.cli.run.schema_import import import_schema
from retable.cli.run.stages import decode, land, replay, run
from retable.cli.try_out.show import show_ddl, show_message
from retable.cli.try_out.simulate import simulate
from retable.cli.verify.diff import diff
from retable.cli.verify.verify import verify

app = typer.Typer(
    cls=CommandLine,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"retable {version('retable')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings", help="The settings file, or a folder of them; else $RETABLE_SETTINGS, ./retable.toml."
        ),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Replay database change logs into Apache Iceberg tables.

    Begin with `retable init --from-files FOLDER` (or --from-kafka), then `retable run SOURCE`, then `retable tables`.
    """
    ctx.obj = settings


hold = typer.Typer(no_args_is_help=True, help="Tables that stopped at a position, and how they go on.")
hold.command("list")(list_holds)
hold.command("release")(release_hold)

quarantine = typer.Typer(
    no_args_is_help=True, help="Messages that could not be decoded, rows that could not be applied."
)
quarantine.command("list")(list_quarantine)
quarantine.command("show")(show_quarantined)
quarantine.command("redecode")(redecode_quarantined)
quarantine.command("accept")(accept_quarantined)

shadows = typer.Typer(no_args_is_help=True, help="Tables rebuilt beside gold: compared, then promoted or dropped.")
for command in (shadow.build, shadow.diff, shadow.promote, shadow.drop):
    shadows.command()(command)

_COMMANDS: dict[str, list[Callable[..., None]]] = {
    "Run": [init, check, baseline, resync, run, land, decode, replay],
    "Look": [rows, tables, schema, history, status, why, fresh, plan],
    "Verify": [verify, diff],
    "Look after": [rebuild, upkeep, recover, copy, backup, migrate, accept_loss, accept_rows],
    "Try out, without Spark": [show_message, show_ddl, simulate],
}
for panel, commands in _COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.command(IMPORT, rich_help_panel="Run")(import_schema)
for group, name in ((hold, "hold"), (quarantine, "quarantine"), (shadows, "shadow")):
    app.add_typer(group, name=name, rich_help_panel="Look after")
