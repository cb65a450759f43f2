"""Prints the progress of a command: a line when a stage ends, and on a terminal also the present stage."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from retable.cli.output import say
from retable.ledger.rows import StageReport
from retable.model.window import Window
from retable.printable import printable

_WIDTH = 6


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show the text `what` on a terminal until the `with` block ends. Without a terminal, write nothing."""
    console = Console(stderr=True)
    with Status(escape(printable(what)), console=console) if console.is_terminal else nullcontext():
        yield


class WindowProgress:
    """Prints which window a command works on, as `[2/5]` for the second of five, and the results.

    `windows` is the number of windows, or of other units of work. Use the object in a `with` block. Without a
    terminal, only complete lines are written.
    """

    def __init__(self, windows: int) -> None:
        self._windows = windows
        self._where = ""
        self._at = ""
        console = Console(stderr=True)
        self._live = Status("starting Spark", console=console) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
        if error is not None and self._at:
            error.add_note(self._at)

    def begin(self, number: int, window: str, stage: str) -> None:
        """Show that a stage of a window begins. If an error ends the `with` block, a note names the stage and window.

        `number` is the number of the window in this command, from 1.
        """
        self._at = f"in {' of '.join(filter(None, (stage, window)))}"
        self._where = f"[{number}/{self._windows}] {window} {stage:{_WIDTH}}"
        self.step("")

    def skip(self, number: int, windows: Sequence[Window]) -> None:
        """Print that these windows are skipped because they have no messages. `number` is that of the first window."""
        last = number + len(windows) - 1
        numbers = str(number) if number == last else f"{number}-{last}"
        names = windows[0].name if number == last else f"{windows[0].name} to {windows[-1].name}"
        say(f"[{numbers}/{self._windows}] {names} nothing arrived")

    def step(self, what: str) -> None:
        """Show the present step of the stage, only on a terminal."""
        if self._live is not None:
            self._live.update(escape(printable(f"{self._where} {what}")))

    def done(self, report: StageReport) -> None:
        """Print the counts of a stage that has ended, and after a replay the counts of each table."""
        outcome = _counts(report.counts) if report.wrote else "nothing new"
        say(f"{self._where} {outcome} · {report.seconds:.1f} s")
        if report.stage == "replay" and report.wrote:
            for table, counts in sorted(report.tables.items()):
                say(f"    {table}: {_counts(counts)}")
            for words in report.kept_columns:
                say(f"    {words}; `retable history TABLE` shows the statement")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing"
