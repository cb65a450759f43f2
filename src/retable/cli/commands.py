"""The commands by name: the text of each in the overview, and the module that is imported when it is called.

Modules are imported late because most commands need only some of the libraries, and the overview needs none of them.
"""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer.main
from typer.core import TyperCommand


@dataclass(frozen=True, slots=True)
class Command:
    """A command, or a group of commands, in the overview (the list that `retable --help` prints).

    `panel` is the heading under which the overview lists the command. `module` is the module that defines it, without
    `retable.cli.`. `words` is the text beside its name in the overview.
    """

    panel: str
    module: str
    words: str


_RUN, _LOOK, _LOOK_AFTER, _TRY_OUT = "Run", "Look", "Look after", "Try out, without Spark"

COMMANDS: dict[str, Command] = {
    "get-jars": Command(_RUN, "run.jars", "Get the jars that Spark needs, and compare them with their pinned digests."),
    "init": Command(
        _RUN,
        "run.init",
        "Read some messages of a folder or of topics of Kafka, and write a settings file with comments.",
    ),
    "check": Command(
        _RUN,
        "run.check",
        "Connect to a source, decode some of its messages, and show what each table would become.",
    ),
    "baseline": Command(
        _RUN,
        "run.baseline",
        "Start a table from a full copy that was taken at a position. Only later changes are applied to it.",
    ),
    "resync": Command(
        _RUN,
        "run.resync",
        "Start a table again, empty, at a position. No change before the position counts, every change after it does.",
    ),
    "run": Command(_RUN, "run.stages", "Land, decode and replay a source, window by window."),
    "land": Command(
        _RUN, "run.stages", "Record the windows that are due, and store the messages of one window in bronze."
    ),
    "decode": Command(_RUN, "run.stages", "Decode one landed window into the change events of silver."),
    "replay": Command(_RUN, "run.stages", "Replay one decoded window into gold."),
    "schema import": Command(
        _RUN,
        "run.schema_import",
        "Import types, keys, column order, defaults and comments of a source's tables, valid from a position.",
    ),
    "rows": Command(_LOOK, "look.gold", "Print the rows of a gold table, ordered by key."),
    "tables": Command(
        _LOOK,
        "look.gold",
        "List the gold tables. A table that the settings no longer include is `retired` and does not change.",
    ),
    "schema": Command(
        _LOOK, "look.gold", "Print the columns of a gold table with their names and types at the source."
    ),
    "history": Command(
        _LOOK,
        "look.gold",
        "Print the schema changes of a gold table in the order of its source, each with its status.",
    ),
    "status": Command(
        _LOOK,
        "look.status",
        "Print how far each source is, and what needs a person. `retable why SOURCE` explains a delay.",
    ),
    "why": Command(_LOOK, "look.why", "Print why a source or a table is not complete, and the next step."),
    "fresh": Command(
        _LOOK,
        "look.fresh",
        "Say whether a table, or every table of a source, is complete through T. Exit code 0: yes, 3: not yet.",
    ),
    "plan": Command(_LOOK, "look.plan", "Print what is stale, held or not yet replayed, and what a run would do."),
    "verify": Command(
        "Verify",
        "verify.verify",
        "Verify a gold table, or all of a source. Exit code 0: nothing differs, 4: something differs.",
    ),
    "diff": Command(
        "Verify",
        "verify.diff",
        "Print what changed in a gold table from state A to state B. Rows are compared by key, or whole without one.",
    ),
    "rebuild": Command(
        _LOOK_AFTER,
        "look_after.rebuild",
        "Replay tables again from all of silver and swap them in. Readers see the old rows until the end.",
    ),
    "upkeep": Command(
        _LOOK_AFTER,
        "look_after.upkeep",
        "Drop rows that retention no longer keeps, compact files, expire snapshots, and remove orphan files.",
    ),
    "recover": Command(_LOOK_AFTER, "look_after.recover", "Restore the catalog from the tables in the warehouse."),
    "copy": Command(
        _LOOK_AFTER,
        "look_after.copies",
        "Copy the lake, as it is now, to another location. The copy is a separate lake.",
    ),
    "backup": Command(
        _LOOK_AFTER,
        "look_after.copies",
        "Write a complete copy of a SQLite catalog, also while runs are going on.",
    ),
    "migrate": Command(_LOOK_AFTER, "look_after.migrate", "Bring the lake of an older Retable to the current layout."),
    "accept-loss": Command(
        _LOOK_AFTER,
        "look_after.accept_loss",
        "State that lost positions held no change of these tables, so that the tables count as complete.",
    ),
    "accept-rows": Command(
        _LOOK_AFTER,
        "look_after.accept_rows",
        "State that rows in doubt are right as they are in gold, so that the tables count as complete.",
    ),
    "hold": Command(
        _LOOK_AFTER, "look_after.holds", "List tables that are stopped at a position, and let them continue."
    ),
    "quarantine": Command(
        _LOOK_AFTER,
        "look_after.quarantine",
        "List messages that were not decoded and rows that were not applied, and decode them again.",
    ),
    "shadow": Command(
        _LOOK_AFTER,
        "look_after.shadow",
        "Rebuild tables next to gold, compare them, then promote or drop them.",
    ),
    "show-message": Command(
        _TRY_OUT,
        "try_out.show",
        "Print the change events of one message, as JSON, or of each of several JSON lines.",
    ),
    "show-ddl": Command(_TRY_OUT, "try_out.show", "Print the schema changes of one statement, as JSON."),
    "simulate": Command(
        _TRY_OUT,
        "try_out.simulate",
        "Write change messages of a small simulated shop, settings that read them, and the rows that gold must have.",
    ),
}


def overview() -> dict[str, TyperCommand]:
    """Return the commands for the overview that `retable --help` prints. The keys are the names of the commands.

    These commands have only a name and a text, and cannot run. To make them, no module of a command is imported, so
    the overview is printed quickly. `load_command` returns a command that can run.
    """
    return {
        name: TyperCommand(name, help=command.words, rich_help_panel=command.panel)
        for name, command in COMMANDS.items()
    }


def load_command(name: str) -> Any:
    """Import the module of a command, and return the command or the group of commands with this name."""
    command = COMMANDS[name]
    with _without_pandas() if command.panel == _LOOK else nullcontext():
        module = _import(f"retable.cli.{command.module}")
    group = typer.main.get_group(module.app)
    group.name = name
    return group.commands.get(name, group)


class _NoPandas:
    """A finder that says of pandas alone that it is not installed."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("Retable reads without pandas", name=name)


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Import modules without pandas, which pyarrow.dataset imports wherever it is installed: an eighth of `status`.

    Only for commands that never start Spark, whose own code may use pandas. pyarrow imports it later all the same if a
    table is converted to a data frame.
    """
    sys.meta_path.insert(0, _NoPandas)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoPandas)


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
