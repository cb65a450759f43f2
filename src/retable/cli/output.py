"""The output of commands: results on stdout, messages on stderr, and no control characters from foreign texts."""

import json
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from retable.printable import printable, printable_json

_LONGEST_CELL = 100


class NeedsAttention(Exception):
    """The command is done, but something is held or quarantined; the message says what to look at."""


def say(words: str) -> None:
    """Write one line of words to stderr."""
    sys.stderr.write(f"{printable(words)}\n")
    sys.stderr.flush()


def print_line(line: str) -> None:
    """Write one line of a result to stdout, as it is."""
    sys.stdout.write(f"{line}\n")


def print_json(value: Any) -> None:
    """Write a result as JSON; UTF-8 is not escaped, as far as a terminal shows it."""
    print_line(printable_json(json.dumps(value, ensure_ascii=False, indent=2)))


def print_json_rows(values: Iterable[Any]) -> None:
    """Write a list as `print_json` does, one value at a time, so that not all values need to be in memory."""
    before = "["
    for value in values:
        text = json.dumps(value, ensure_ascii=False, indent=2)
        print_line(f"{before}\n{printable_json(textwrap.indent(text, '  '))}")
        before = ","
    print_line("[]" if before == "[" else "]")


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write aligned columns: nothing is wrapped, so a line stays one row for grep and awk; long cells are cut."""
    values = list(rows)
    table = [list(headers), *([_cell(value) for value in row] for row in values)]
    widths = [max(map(cell_len, column)) for column in zip(*table, strict=True)]
    right = [bool(values) and all(type(row[at]) is int for row in values) for at in range(len(headers))]
    for row in table:
        print_line("  ".join(map(_padded, row, widths, right)).rstrip())


def print_facts(facts: Mapping[str, object]) -> None:
    """Write one thing and its facts, one line each; an empty line separates it from the next."""
    width = max(map(len, facts))
    for name, value in facts.items():
        if value is not None:
            print_line(f"{name:{width}}  {printable(str(value))}")
    print_line("")


def shown_bytes(value: bytes, most: int) -> str:
    """Give bytes as text for a terminal, line by line; what is not UTF-8, or not printable, is escaped."""
    text = value[:most].decode("utf-8", "backslashreplace")
    lines = "\n".join(map(printable, text.split("\n")))
    return lines if len(value) <= most else f"{lines}\n… {len(value) - most:,} bytes more"


def _padded(text: str, width: int, right: bool) -> str:
    room = " " * (width - cell_len(text))
    return room + text if right else text + room


def _cell(value: object) -> str:
    text = "" if value is None else printable(str(value))
    return text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…"
