"""The pieces of baselines: rows of full copies, which stand in silver under windows that no clock will ever reach."""

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


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A baseline that ended before its end: the rows that name it, and whether all of its copy has `landed`.

    Nothing of it counts before that. From then on its table starts at its position, and lacks what is not replayed.
    """

    rows: tuple[BaselineRow, ...]
    landed: bool
    replayed: int

    @property
    def table(self) -> TableName:
        return TableName(self.rows[0].database, self.rows[0].schema, self.rows[0].table)

    @property
    def words(self) -> str:
        """How far it came."""
        first, pieces = self.rows[0], f"{len(self.rows)} pieces"
        how_far = f"{self.replayed} of its {pieces} are replayed" if self.landed else f"it ended after {pieces}"
        return f"its baseline from {first.origin} at {format_start(first.position)} is not finished: {how_far}"

    def command(self, gold: str) -> str:
        """The command that goes on with it, of a copy without what only says how to read that."""
        first = self.rows[0]
        at = f"--at {format_start(first.position)}"
        part = f" --partition {first.part}" if first.part else ""
        if first.origin != NOTHING:
            return f"`retable baseline {gold} --from {quote(first.origin)} {at}{part}`, with the other options it had,"
        return f"`retable resync {gold} {'' if at == '--at start' else f'{at}{part} '}--reason …`"


NOTHING = "nothing"
"""The origin of a baseline without rows: its table starts anew, empty."""


def unfinished_baselines(rows: Iterable[BaselineRow], replayed: Collection[str]) -> list[Unfinished]:
    """The baselines of which a piece is missing or not replayed; one behind which another one began is given up.

    The rows come in the order in which they were committed.
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
    """The place of a baseline as the command line takes it."""
    at = parse_sequence(position)
    return "start" if at.hi == LOWEST.hi else f"{at.epoch}:{at.hi}"


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
    return Window(
        source=row.source,
        ordinal=-piece_number(row.window),
        start=start,
        end=start + _STEP,
        objects=(),
        recorded_at=row.recorded_at,
    )
