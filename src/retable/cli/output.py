"""Writes the output of commands: results to stdout, messages to stderr, without control characters from data."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from retable.printable import printable, printable_json

_LONGEST_CELL = 100
_SHORT = 24
"""A column that is not wider than this, in characters, is never wrapped on a terminal."""


class NeedsAttention(Exception):
    """Raised when a command is done, but a person must look at what the message names. The exit code is 2."""


def say(words: str) -> None:
    """Write a message for a person to stderr, as one line. Control characters in it are escaped."""
    sys.stderr.write(f"{printable(words)}\n")
    sys.stderr.flush()


def print_line(line: str) -> None:
    """Write one line of a result to stdout. Control characters in it are not escaped."""
    sys.stdout.write(f"{line}\n")


def print_json(value: Any) -> None:
    """Write a result to stdout as JSON. Only characters that control a terminal are escaped."""
    print_line(printable_json(json.dumps(value, ensure_ascii=False, indent=2)))


def print_json_rows(values: Iterable[Any]) -> None:
    """Write a list to stdout as `print_json` does, one value at a time, so that not all values need to be in memory."""
    before = "["
    for value in values:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        print_line(f"{before}\n{printable_json(textwrap.indent(text, '  '))}")
        before = ","
    print_line("[]" if before == "[" else "]")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write rows to stdout as a table with aligned columns.

    Each row is one line, and long cells are cut. On a terminal that is wide enough for the short columns, long cells
    are wrapped instead.
    """
    values = list(rows)
    if sys.stdout.isatty() and (wrapped := wrapped_table(headers, values, shutil.get_terminal_size().columns)):
        print_line(wrapped)
        return
    table = [list(headers), *([_cell(value) for value in row] for row in values)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    right = [bool(values) and all(type(row[at]) is int for row in values) for at in range(len(headers))]
    for row in table:
        print_line("  ".join(map(_padded, row, widths, right)).rstrip())


def wrapped_table(headers: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> str | None:
    """Return rows as a table with wrapped cells, for a terminal of `width` characters.

    Return None if the columns need more characters, even with wrapped cells.
    """
    from rich.console import Console  # only a terminal needs it, and it takes longer to load than a small command
    from rich.table import Table
    from rich.text import Text

    cells = [[Text("" if value is None else printable(str(value))) for value in row] for row in rows]
    longest = [max(cell_len(text.plain) for text in column) for column in zip(map(Text, headers), *cells, strict=True)]
    if sum(min(each, _SHORT) + 2 for each in longest) > width:
        return None
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for at, header in enumerate(headers):
        right = bool(rows) and all(type(row[at]) is int for row in rows)
        least = min(longest[at], _SHORT)
        table.add_column(header, justify="right" if right else "left", overflow="fold", min_width=least)
    for row in cells:
        table.add_row(*row)
    console = Console(width=width, force_terminal=True, highlight=False)
    with console.capture() as text:
        console.print(table)
    return text.get().rstrip("\n")


def print_facts(facts: Mapping[str, object]) -> None:
    """Write a dictionary to stdout, one line for each name and value, then an empty line. None values are left out."""
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            print_line(f"{name:{width}}  {printable(str(value))}")
    print_line("")


def shown_bytes(value: bytes, most: int) -> str:
    """Return at most the first `most` bytes of a value as text for a terminal, and how many bytes follow.

    Bytes that are not UTF-8 or not printable are escaped.
    """
    text = value[:most].decode("utf-8", "backslashreplace")
    lines = "\n".join(map(printable, text.split("\n")))
    return lines if len(value) <= most else f"{lines}\n… {len(value) - most:,} bytes more"


def _padded(text: str, width: int, right: bool) -> str:
    room = " " * (width - cell_len(text))
    return room + text if right else text + room


def _cell(value: object) -> str:
    text = "" if value is None else printable(str(value))
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"
