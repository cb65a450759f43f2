"""The command line, and the options of all its commands."""

from pathlib import Path
from typing import Annotated

import typer

from retable.cli.ending import CommandLine

app = typer.Typer(
    cls=CommandLine,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"retable {version('retable')}")
        raise typer.Exit


@app.callback()
def options(
    ctx: typer.Context,
    settings: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            help="The settings file, or a folder of them. Not given: $RETABLE_SETTINGS, then ./retable.toml.",
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
