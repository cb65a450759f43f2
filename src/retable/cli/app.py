"""The commands, the options that all of them know, and how the process ends."""

import sys
import tempfile
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from retable.cli.holds import list_holds, release_hold
from retable.cli.init import init
from retable.cli.look import history, rows, schema, tables
from retable.cli.output import NeedsAttention, say
from retable.cli.quarantine import list_quarantine, show_quarantined
from retable.cli.run import decode, land, replay, run
from retable.cli.show import show_ddl, show_message
from retable.cli.status import status
from retable.errors import ConflictError, RetableError, Unbalanced

_USAGE = 2
_LONGEST_SURPRISE = 300
_ANYWHERE = {"--settings": 2, "--debug": 1}
_NEXT_STEP = {
    "QUARANTINE": "in a run such a message goes to quarantine with this reason, and the others go on",
    "HOLD": "in a run such a table is held with this reason, and the others go on",
    "RETRY": "try again",
}


class CommandLine(TyperGroup):
    """The commands with Retable's exit codes.

    0 done · 1 an error of the user's, usage included · 2 done, but something is held or quarantined · 3 try again ·
    70 a bug of ours. The options `--settings` and `--debug` may stand before or behind the command.
    """

    debug = False

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _hoisted(args))

    def invoke(self, ctx: Any) -> Any:
        self.debug = ctx.params["debug"]
        return super().invoke(ctx)

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            super().main(*args, **options)
        except SystemExit as end:
            raise SystemExit(1 if end.code == _USAGE else end.code) from None
        except NeedsAttention as end:
            say(str(end))
            sys.exit(2)
        except RetableError as error:
            _explain(error, self.debug)
            sys.exit(_exit_code(error))
        except Exception as error:  # noqa: BLE001  # the outermost door: nothing above it could say more
            _confess(error, self.debug)
            sys.exit(70)


def _hoisted(args: list[str]) -> list[str]:
    """Move the options that may stand anywhere to the front; behind `--` nothing is an option."""
    front: list[str] = []
    rest: list[str] = []
    at = 0
    while at < len(args) and args[at] != "--":
        count = _ANYWHERE.get(args[at], 1)
        taken = args[at].partition("=")[0] in _ANYWHERE
        (front if taken else rest).extend(args[at : at + count])
        at += count
    return [*front, *rest, *args[at:]]


def _explain(error: RetableError, debug: bool) -> None:
    what, _, next_step = error.message.partition("; ")
    say(f"error: {what}")
    if next_step := next_step or _NEXT_STEP.get(error.remedy, ""):
        say(f"       {next_step}")
    if debug:
        traceback.print_exception(error)


def _exit_code(error: RetableError) -> int:
    match error:
        case ConflictError():
            return 3
        case Unbalanced():
            return 70
    return 1


def _confess(error: Exception, debug: bool) -> None:
    say(f"error: unexpected {type(error).__name__}: {' '.join(str(error).split())[:_LONGEST_SURPRISE]}")
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="retable-", suffix=".txt", delete=False) as file:
            traceback.print_exception(error, file=file)
        where = f"is in {file.name} (--debug prints it)"
    except OSError:
        debug, where = True, "follows"
    say(f"       running again is safe; if it stays, please report it: the traceback {where}")
    if debug:
        traceback.print_exception(error)


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

    Begin with `retable init --from-files FOLDER`, then `retable run SOURCE`, then `retable tables`.
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

for panel, commands in {
    "Run": [init, run, land, decode, replay],
    "Look": [rows, tables, schema, history, status],
    "Try out, without Spark": [show_message, show_ddl],
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(hold, name="hold", rich_help_panel="Look after")
app.add_typer(quarantine, name="quarantine", rich_help_panel="Look after")
