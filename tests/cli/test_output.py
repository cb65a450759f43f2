"""Tables: lines for a program, and whole cells for a person."""

import os
import re
import sys
from io import StringIO

import pytest
from rich.console import Console

from retable.cli import progress
from retable.cli.output import print_table, wrapped_table

HEADERS = ("TABLE", "ROWS", "REASON")
LONG = "the column [red]c[/red] has a value that does not fit its type, and so the row waits in quarantine " * 3
ROWS: list[list[object]] = [["gold_shop.orders", 7, LONG], ["gold_shop.t\x1b[2J", 12345, None]]


def plain(text: str) -> list[str]:
    return re.sub(r"\x1b\[\d*m", "", text).splitlines()


def test_without_a_terminal_a_row_is_one_line_and_a_long_cell_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(HEADERS, ROWS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("…")


def test_a_terminal_shows_whole_cells(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((80, 24)))
    print_table(HEADERS, ROWS)
    lines = plain(capsys.readouterr().out)
    assert max(map(len, lines)) <= 80
    start = lines[0].index("REASON")
    reason = " ".join(line[start:].strip() for line in lines[1:-1])
    assert reason == LONG.strip()
    assert lines[-1].split() == [r"gold_shop.t\x1b[2J", "12345"]


def test_a_terminal_too_narrow_for_the_short_columns_gets_lines() -> None:
    assert wrapped_table(("A",) * 9, [["x" * 30] * 9], 80) is None
    assert wrapped_table(("A",), [], 80) is not None


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_a_terminal_without_colours_gets_no_codes(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    shown = wrapped_table(HEADERS, ROWS[:1], 80) or ""
    assert ("\x1b" in shown) == (term != "dumb")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_a_command_works_on_is_shown_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    shown = StringIO()
    console = Console(file=shown, force_terminal=is_terminal)
    monkeypatch.setattr(progress, "Console", lambda **_: console)
    with progress.working("reading [bold]messages\x1b[2J"):
        pass
    assert (r"reading [bold]messages\x1b[2J" in shown.getvalue()) == is_terminal
    assert bool(shown.getvalue()) == is_terminal
