"""The pieces of baselines: rows of full copies, which stand in silver under windows that no clock will ever reach."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retable.ledger.rows import BaselineRow
from retable.model.window import Window

_BEFORE_ALL = datetime(1000, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=1)
FIRST_WINDOW = "1500"
"""Above every window of a baseline, below every window of a source."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines of a source that are whole: only such ones count."""

    rows: tuple[BaselineRow, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(row.window for row in self.rows)

    @property
    def windows(self) -> list[Window]:
        """The pieces as windows, which stand before all others: their numbers are below 0."""
        return [_window(row) for row in self.rows]

    @property
    def ordinals(self) -> dict[str, int]:
        return {window.name: window.ordinal for window in self.windows}


NO_BASELINES = Baselines()


def whole_baselines(rows: Iterable[BaselineRow]) -> Baselines:
    """The pieces of those baselines of which the last one is there."""
    found = list(rows)
    done = {identify(row) for row in found if row.last}
    return Baselines(tuple(row for row in found if identify(row) in done))


def identify(row: BaselineRow) -> tuple[str | None, ...]:
    """What makes pieces those of one baseline."""
    return (row.database, row.schema, row.table, row.position, row.part, row.dump)


def piece_window(number: int) -> str:
    """The name of the window of a source's piece of this number, from 1 on."""
    return (_BEFORE_ALL + number * _STEP).strftime("%Y%m%dT%H%MZ")


def piece_number(window: str) -> int:
    return (datetime.strptime(window, "%Y%m%dT%H%MZ").replace(tzinfo=UTC) - _BEFORE_ALL) // _STEP


def _window(row: BaselineRow) -> Window:
    start = _BEFORE_ALL + piece_number(row.window) * _STEP
    return Window(row.source, -piece_number(row.window), start, start + _STEP, (), row.recorded_at)
