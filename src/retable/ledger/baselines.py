"""The pieces of baselines: rows of full copies in silver, under window names that no real window has."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from shlex import quote

from retable.ledger.rows import BaselineRow
from retable.model.event import TableName
from retable.model.sequence import LOWEST, parse_sequence
from retable.model.window import Window

_BEFORE_ALL = datetime(1000, 1, 1, tzinfo=UTC)
_STEP = timedelta(minutes=1)
FIRST_WINDOW = "1500"
"""Sorts after every window of a baseline and before every window of a source."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """The complete baselines of a source; incomplete ones do not count."""

    rows: tuple[BaselineRow, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(row.window for row in self.rows)

    @property
    def windows(self) -> list[Window]:
        """The pieces as windows; they come before all other windows, because their numbers are negative."""
        return [_window(row) for row in self.rows]

    @property
    def ordinals(self) -> dict[str, int]:
        return {window.name: window.ordinal for window in self.windows}


NO_BASELINES = Baselines()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A baseline that is not finished: its rows, and whether its copy has `landed` completely.

    Until that, none of it counts. After that its table starts at its position, and lacks pieces that are not replayed.
    """

    rows: tuple[BaselineRow, ...]
    landed: bool
    replayed: int

    @property
    def table(self) -> TableName:
        return TableName(self.rows[0].database, self.rows[0].schema, self.rows[0].table)

    @property
    def words(self) -> str:
        """How far the baseline got."""
        first, pieces = self.rows[0], f"{len(self.rows)} pieces"
        how_far = f"{self.replayed} of its {pieces} are replayed" if self.landed else f"it ended after {pieces}"
        return f"its baseline from {first.origin} at {format_start(first.position)} is not finished: {how_far}"

    def command(self, gold: str) -> str:
        """The command that continues the baseline; options that only say how to read the copy are not included."""
        first = self.rows[0]
        at = f"--at {format_start(first.position)}"
        part = f" --partition {first.part}" if first.part else ""
        if first.origin != NOTHING:
            return f"`retable baseline {gold} --from {quote(first.origin)} {at}{part}`, with the other options it had,"
        return f"`retable resync {gold} {'' if at == '--at start' else f'{at}{part} '}--reason …`"


NOTHING = "nothing"
"""The origin of a baseline without rows: its table starts again, empty."""


def unfinished_baselines(rows: Iterable[BaselineRow], replayed: Collection[str]) -> list[Unfinished]:
    """The baselines that lack a piece or have one that is not replayed; a newer baseline of a table replaces its older.

    `rows` must be in the order of their commits.
    """
    groups: dict[tuple[str | None, ...], list[BaselineRow]] = {}
    for row in rows:
        groups.setdefault(identify(row), []).append(row)
    newest = {(mine[0].database, mine[0].schema, mine[0].table): mine for mine in groups.values()}
    found = []
    for mine in newest.values():
        done = sum(row.window in replayed for row in mine)
        landed = any(row.last for row in mine)
        if not landed or done < len(mine):
            found.append(Unfinished(tuple(mine), landed, done))
    return found


def format_start(position: str) -> str:
    """The position of a baseline as the command line takes it."""
    at = parse_sequence(position)
    return "start" if at.hi == LOWEST.hi else f"{at.epoch}:{at.hi}"


def whole_baselines(rows: Iterable[BaselineRow]) -> Baselines:
    """The pieces of those baselines whose last piece was written."""
    found = list(rows)
    done = {identify(row) for row in found if row.last}
    return Baselines(tuple(row for row in found if identify(row) in done))


def identify(row: BaselineRow) -> tuple[str | None, ...]:
    """The key that all pieces of one baseline share."""
    return (row.database, row.schema, row.table, row.position, row.part, row.dump)


def piece_window(number: int) -> str:
    """The window name of a source's piece; pieces are numbered from 1."""
    return (_BEFORE_ALL + number * _STEP).strftime("%Y%m%dT%H%MZ")


def piece_number(window: str) -> int:
    return (datetime.strptime(window, "%Y%m%dT%H%MZ").replace(tzinfo=UTC) - _BEFORE_ALL) // _STEP


def _window(row: BaselineRow) -> Window:
    start = _BEFORE_ALL + piece_number(row.window) * _STEP
    return Window(
        source=row.source,
        ordinal=-piece_number(row.window),
        start=start,
        end=start + _STEP,
        objects=(),
        recorded_at=row.recorded_at,
    )
