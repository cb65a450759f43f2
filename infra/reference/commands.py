"""Make docs/reference/commands.md: every command of the command line, from typer."""

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from reference.markdown import code, page, paragraphs, table
from retable.cli.app import app
from retable.cli.commands import COMMANDS, load_command

INTRODUCTION = """
`retable COMMAND --help` prints the same. [Exit codes](errors.md#exit-codes) say how a command ended. A time is written
with its zone: `2026-03-01T05:00:00Z`. A window is named by its start in UTC: `20260301T0500Z`. A gold table is named
with its namespace: `gold_shop.orders`.
"""


def commands_page() -> str:
    """Return the page."""
    return page("Commands", INTRODUCTION, "## Options of every command", _options(get_command(app)), *_panels())


def _panels() -> Iterator[str]:
    panel = None
    for name, command in COMMANDS.items():
        if command.panel != panel:
            panel = command.panel
            yield f"## {panel}"
        loaded = load_command(name)
        inner = getattr(loaded, "commands", None)
        yield from [f"### retable {name}", paragraphs(loaded.help)] if inner else _command(name, loaded, 3)
        for short, each in (inner or {}).items():
            yield from _command(f"{name} {short}", each, 4)


def _command(name: str, command: Any, depth: int) -> Iterator[str]:
    arguments = [_argument(each) for each in command.params if each.param_type_name == "argument"]
    yield f"{'#' * depth} retable {name}"
    yield f"    retable {' '.join([name, *arguments, *_options_word(command)])}"
    yield paragraphs(command.help)
    yield _options(command)


def _options_word(command: Any) -> list[str]:
    return ["[OPTIONS]"] if any(each.param_type_name == "option" for each in command.params) else []


def _options(command: Any) -> str:
    rows = [
        [_spelled(each), _default(each), each.help or ""]
        for each in command.params
        if not each.hidden and (each.help or each.param_type_name == "option")
    ]
    return table(("option or argument", "default", "meaning"), rows) if rows else ""


def _argument(param: Any) -> str:
    word = param.metavar or param.name.upper()
    word = f"{word}..." if param.nargs == -1 and not word.endswith("...") else word
    return word if param.required else f"[{word}]"


def _spelled(param: Any) -> str:
    if param.param_type_name == "argument":
        return code(_argument(param))
    names = ", ".join(code(name) for name in [*param.opts, *param.secondary_opts])
    return names if param.is_flag else f"{names} {code(_value(param))}"


def _value(param: Any) -> str:
    """Return a text for the value of an option: its choices, or the placeholder in its help."""
    kind = param.type_descriptor.annotation
    choices = [each for part in (kind, *get_args(kind)) if get_origin(part) is Literal for each in get_args(part)]
    return "|".join(map(str, choices)) or param.metavar or getattr(kind, "__name__", "text").upper()


def _default(param: Any) -> str:
    if param.required:
        return "**required**"
    shown = param.default is not None and param.default is not False and param.default != () and param.default != []
    return code(str(param.default)) if shown else "–"
