"""One message, or one statement, to what Retable makes of it: without Spark, without a lake, without settings."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from retable.cli.output import print_json, print_line
from retable.ddl.registry import describe, parse_statement
from retable.decode.context import DecodeContext
from retable.decode.registry import decode_message
from retable.errors import NotFound
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage

_IMAGES = ("before", "after", "table_changes")


def show_message(
    source_format: Annotated[str, typer.Option("--format", metavar="NAME", help="The format, as canal_json.")],
    file: Annotated[str, typer.Argument(metavar="[FILE|-]", help="A file that holds one message; - is stdin.")] = "-",
) -> None:
    """Print the change events of one message, as JSON."""
    message = RawMessage("message", 0, 0, None, None, _content(file))
    events = decode_message(message, DecodeContext(source_format))
    text = msgspec.json.encode([_shown(event) for event in events])
    print_line(msgspec.json.format(text, indent=2).decode())


def show_ddl(
    dialect: Annotated[str, typer.Option("--dialect", metavar="NAME", help="The SQL dialect, as mysql.")],
    statement: Annotated[str, typer.Argument(help="The statement, in quotes.")],
) -> None:
    """Print the schema changes of one statement, as JSON."""
    print_json([describe(change) for change in parse_statement(dialect, statement, None, None, None)])


def _content(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise NotFound(f"{file} cannot be read: {error.strerror}; name a file that holds one message") from None


def _shown(event: ChangeEvent) -> dict[str, object]:
    """An event with its images as they stand, digit by digit; its address in a queue says nothing here."""
    facts = {name: getattr(event, name) for name in event.__dataclass_fields__ if name != "address"}
    images = {name: msgspec.Raw(facts[name].encode()) for name in _IMAGES if facts[name] is not None}
    sequence = None if event.sequence is None else str(event.sequence)
    return {"row_index": event.address.row_index, **facts, **images, "sequence": sequence}
