"""`retable show-message` and `show-ddl`: print how Retable understands one message or one DDL statement."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from retable.cli.arguments import settings_of
from retable.cli.output import print_json, print_line, say
from retable.ddl.registry import describe, parse_statement
from retable.decode.context import context_of
from retable.errors import MessageError, NotFound
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage
from retable.printable import printable_json

app = typer.Typer()

_IMAGES = ("before", "after", "table_changes")


@app.command()
def show_message(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="The format, for example canal_json.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--source", metavar="SOURCE", help="A source of the settings, for its format and options."),
    ] = None,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="A file of one message, or of JSON lines; - is stdin.")
    ] = "-",
) -> None:
    """Print the change events of one message, as JSON, or of each of several JSON lines.

    --format needs no settings. The events of a line are one line of output. If a line does not decode, the reason is
    printed, the other lines are shown, and the exit code is 1.
    """
    context, content = _context(ctx, name, source), _content(file)
    lines = json_lines(content)
    if len(lines) < 2:
        print_line(printable_json(msgspec.json.format(_events(content, context), indent=2).decode()))
        return
    refused = 0
    for number, line in lines:
        try:
            print_line(printable_json(_events(line, context).decode()))
        except MessageError as error:
            refused += 1
            say(f"line {number}: {error.code}: {error.message}")
    if refused:
        say(f"{refused} of {len(lines)} messages do not decode; in a run, they go to quarantine with these reasons")
        raise typer.Exit(1)


def json_lines(content: bytes) -> list[tuple[int, bytes]]:
    """Return the lines that are not empty, with their line numbers, if the first line alone is valid JSON.

    Otherwise the text is not JSON lines; return [].
    """
    lines = [(number, line) for number, line in enumerate(content.splitlines(), start=1) if line.strip()]
    try:
        msgspec.json.decode(lines[0][1] if lines else b"")
    except msgspec.DecodeError:
        return []
    return lines


def _events(value: bytes, context: DecodeContext) -> bytes:
    events = decode_message(RawMessage("message", 0, 0, None, None, value), context)
    return msgspec.json.encode([_shown(event) for event in events])


@app.command()
def show_ddl(
    dialect: Annotated[str, typer.Option("--dialect", metavar="NAME", help="The SQL dialect, for example mysql.")],
    statement: Annotated[str, typer.Argument(help="The statement, in quotes.")],
) -> None:
    """Print the schema changes of one statement, as JSON."""
    print_json([describe(change) for change in parse_statement(dialect, statement, None, None, None)])


def _context(ctx: typer.Context, name: str | None, source: str | None) -> DecodeContext:
    if name is not None and source is None:
        return DecodeContext(source_format=name)
    if name is not None or source is None:
        raise typer.BadParameter("name the format with --format, or a source of the settings with --source")
    settings = settings_of(ctx)
    found = settings.source(source)
    return context_of(found, lambda table: settings.rules(table).keys)


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}; name a file that holds one message") from None


def _shown(event: ChangeEvent) -> dict[str, object]:
    """Return an event as facts, with its images digit by digit. Its address is left out: there is no queue."""
    facts = {name: getattr(event, name) for name in event.__struct_fields__ if name != "address"}
    images = {name: msgspec.Raw(facts[name].encode()) for name in _IMAGES if facts[name] is not None}
    sequence = None if event.sequence is None else str(event.sequence)
    return {"row_index": event.address.row_index, **facts, **images, "sequence": sequence}
