"""The commands by name: their line in the overview, and the module that is imported when a command is called.

Most commands need only some of the libraries, and the overview needs none of them.
"""

import gc
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands, in a module below `retable.cli`; `words` are the first words of its help."""

    panel: str
    module: str
    words: str


_RUN, _LOOK, _LOOK_AFTER, _TRY_OUT = "Run", "Look", "Look after", "Try out, without Spark"

COMMANDS: dict[str, Command] = {
    "init": Command(
        _RUN,
        "run.init",
        "Look at a folder of messages, or at topics of Kafka, and write a commented settings file.",
    ),
    "check": Command(
        _RUN,
        "run.check",
        "Connect to a source, list it, decode some messages, and say what each of its tables would become.",
    ),
    "baseline": Command(
        _RUN,
        "run.baseline",
        "Start a table from a full copy taken at a position: older changes lose, newer ones win, overlap is harmless.",
    ),
    "resync": Command(
        _RUN,
        "run.resync",
        "Start a table anew, empty, at a position: of what came before it nothing counts, of what came since all does.",
    ),
    "run": Command(_RUN, "run.stages", "Land, decode and replay a source, window by window."),
    "land": Command(
        _RUN, "run.stages", "Record the windows that are due, and keep the messages of one as bytes in bronze."
    ),
    "decode": Command(_RUN, "run.stages", "Decode one landed window into the change events of silver."),
    "replay": Command(_RUN, "run.stages", "Replay one decoded window into gold."),
    "schema import": Command(
        _RUN,
        "run.schema_import",
        "Import types, keys, order of columns, defaults and comments of a source's tables, as of a position.",
    ),
    "rows": Command(_LOOK, "look.gold", "Print the rows of a gold table."),
    "tables": Command(
        _LOOK,
        "look.gold",
        "List the gold tables; one that the settings no longer take is `retired`, and stays as it is.",
    ),
    "schema": Command(_LOOK, "look.gold", "Print the columns of a gold table, and what they are at the source."),
    "history": Command(
        _LOOK,
        "look.gold",
        "Print the schema changes of a gold table in the order of its source, and what became of each.",
    ),
    "status": Command(
        _LOOK,
        "look.status",
        "Print how far each source is, and what needs a person; `retable why SOURCE` says why one is not further.",
    ),
    "why": Command(
        _LOOK, "look.why", "Print the one cause why a source or a table is not complete, and the next step."
    ),
    "fresh": Command(
        _LOOK,
        "look.fresh",
        "Say whether a table, or every table of a source, is complete through T: ends with 0, or with 3 if not yet.",
    ),
    "plan": Command(_LOOK, "look.plan", "Print what is stale, held or behind, and what a run would do."),
    "verify": Command(
        "Verify",
        "verify.verify",
        "Verify a gold table: ends with 0 where nothing differs, with 4 where something does.",
    ),
    "diff": Command(
        "Verify",
        "verify.diff",
        "Print what changed in a gold table from state A to state B; rows are compared by key, without one as wholes.",
    ),
    "rebuild": Command(
        _LOOK_AFTER,
        "look_after.rebuild",
        "Make tables anew from all of silver, held or not, and swap them in; readers see the old rows until the end.",
    ),
    "upkeep": Command(
        _LOOK_AFTER,
        "look_after.upkeep",
        "Drop what retention lets go, compact files, expire snapshots, and remove files that no table knows.",
    ),
    "recover": Command(
        _LOOK_AFTER, "look_after.recover", "Make the catalog again from the tables that the warehouse has."
    ),
    "copy": Command(
        _LOOK_AFTER,
        "look_after.copies",
        "Copy the lake, as it is now, to another place, where it lives on by itself.",
    ),
    "backup": Command(
        _LOOK_AFTER,
        "look_after.copies",
        "Write a whole copy of a SQLite catalog, also while the lake is at work.",
    ),
    "migrate": Command(_LOOK_AFTER, "look_after.migrate", "Bring the lake of an older Retable to the present layout."),
    "accept-loss": Command(
        _LOOK_AFTER,
        "look_after.accept_loss",
        "Say that the lost positions held no change of tables: they no longer keep them from being complete.",
    ),
    "accept-rows": Command(
        _LOOK_AFTER,
        "look_after.accept_rows",
        "Say that rows in doubt are right as gold has them: they no longer keep a table from being complete.",
    ),
    "hold": Command(_LOOK_AFTER, "look_after.holds", "Tables that stopped at a position, and how they go on."),
    "quarantine": Command(
        _LOOK_AFTER,
        "look_after.quarantine",
        "Messages that could not be decoded, rows that could not be applied.",
    ),
    "shadow": Command(
        _LOOK_AFTER,
        "look_after.shadow",
        "Tables rebuilt beside gold: compared, then promoted or dropped.",
    ),
    "show-message": Command(
        _TRY_OUT,
        "try_out.show",
        "Print the change events of one message, as JSON; --format needs no settings.",
    ),
    "show-ddl": Command(_TRY_OUT, "try_out.show", "Print the schema changes of one statement, as JSON."),
    "simulate": Command(
        _TRY_OUT,
        "try_out.simulate",
        "Write a small shop's change messages, settings that read them, and its true rows to compare gold with.",
    ),
}


def overview() -> dict[str, TyperCommand]:
    """Give the commands as the overview prints them: without options and without effect."""
    return {
        name: TyperCommand(name, help=command.words, rich_help_panel=command.panel)
        for name, command in COMMANDS.items()
    }


def load_command(name: str) -> Any:
    """Import a command or a group of commands; its module has it in `app`."""
    group = typer.main.get_group(_import(f"retable.cli.{COMMANDS[name].module}").app)
    group.name = name
    return group.commands.get(name, group)


def _import(name: str) -> Any:
    """Import a module with the garbage collector off, which would scan all imported objects again and again."""
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()
