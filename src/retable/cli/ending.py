"""Reads the options of the command line, prints errors, and ends the process with an exit code."""

import errno
import os
import sys
import tempfile
import traceback
from typing import Any

from typer.core import TyperGroup

from retable.cli.commands import load_command, overview
from retable.cli.interrupts import Interrupted, before_interrupts
from retable.cli.output import NeedsAttention, say
from retable.cli.spark_log import LOG_NOTE
from retable.errors import EnvironmentFault, RetableError, SparkDied
from retable.exit_codes import exit_code
from retable.printable import without_passwords

_USAGE = 2
_LONGEST_SURPRISE = 300
_DISK_FULL = os.strerror(errno.ENOSPC)
_ANYWHERE = {"--settings": 2, "--debug": 1}
_NEXT_STEP = {
    "QUARANTINE": "in a run, such a message goes to quarantine with this reason, and the other messages continue",
    "HOLD": "in a run, such a table is held with this reason, and the other tables continue",
    "RETRY": "try again",
}


class CommandLine(TyperGroup):
    """The group of all commands. It prints errors and ends with a code of `retable.exit_codes`; a usage error is 1.

    The options `--settings` and `--debug` may come before or after the command.
    """

    debug = False

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "commands": overview()})

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _hoisted(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # A command may have two words; the first word alone is a command, too.
        joined = " ".join(args[:2])
        name, command, rest = super().resolve_command(ctx, [joined, *args[2:]] if joined in self.commands else args)
        return name, command if name is None else load_command(name), rest

    def invoke(self, ctx: Any) -> Any:
        self.debug = ctx.params["debug"]
        result = super().invoke(ctx)
        sys.stdout.flush()
        return result

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            with before_interrupts():
                super().main(*args, **options)
        except SystemExit as end:
            raise SystemExit(1 if end.code == _USAGE else end.code) from None
        except NeedsAttention as end:
            for line in str(end).splitlines():
                say(line)
            sys.exit(2)
        except Interrupted as end:
            say(f"ended by {end.signal.name}{_place(end)}; nothing is lost: run the same command again to continue")
            sys.exit(end.code)
        except RetableError as error:
            _explain(error, self.debug)
            sys.exit(exit_code(error))
        except Exception as error:  # noqa: BLE001  # the outermost caller: nothing above it could say more
            if _DISK_FULL in str(error):
                _explain(EnvironmentFault("a disk is full; free some space, then run again"), self.debug)
                sys.exit(1)
            _confess(error, self.debug)
            sys.exit(70)


def _hoisted(args: list[str]) -> list[str]:
    """Return the arguments with `--settings` and `--debug` moved to the front. After `--` there is no option."""
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
    what, _, next_step = without_passwords(error.message).partition("; ")
    say(f"error: {what}{_place(error) if isinstance(error, SparkDied) else ''}")
    if next_step := next_step or _NEXT_STEP.get(error.remedy, ""):
        say(f"       {next_step}")
    _name_log(error)
    say(f"       [{error.code}]")
    if debug:
        _say_trace(error)


def _place(error: BaseException) -> str:
    """Return the stage and window of the command at the error, from the notes that `WindowProgress` added to it."""
    return "".join(f" {note}" for note in _notes(error) if not note.startswith(LOG_NOTE))


def _name_log(error: BaseException) -> None:
    for note in _notes(error):
        if note.startswith(LOG_NOTE):
            say(f"       {note}")


def _notes(error: BaseException) -> list[str]:
    return getattr(error, "__notes__", [])


def _confess(error: Exception, debug: bool) -> None:
    said = without_passwords(" ".join(str(error).split()))
    say(f"error: unexpected {type(error).__name__}: {said[:_LONGEST_SURPRISE]}")
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="retable-", suffix=".txt", delete=False) as file:
            file.writelines(f"{line}\n" for line in _trace(error))
        where = f"is in {file.name} (--debug prints it)"
    except OSError:
        debug, where = True, "follows"
    say(f"       it is safe to run the command again; if the error stays, please report it: the traceback {where}")
    _name_log(error)
    if debug:
        _say_trace(error)


def _say_trace(error: BaseException) -> None:
    for line in _trace(error):
        say(line)


def _trace(error: BaseException) -> list[str]:
    return without_passwords("".join(traceback.format_exception(error))).splitlines()
