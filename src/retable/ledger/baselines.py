"""Baselines (full copies of tables). A baseline is stored in silver in pieces.

Each piece is stored as a window. Its name is earlier than the name of every real window.
"""

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
"""A text that sorts after the name of every baseline piece and before the name of every real window."""


@dataclass(frozen=True, slots=True)
class Baselines:
    """The pieces of the complete baselines of a source. Incomplete baselines are not included."""

    rows: tuple[BaselineRow, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(row.window for row in self.rows)

    @property
    def windows(self) -> list[Window]:
        """The pieces as windows. The windows have negative numbers (`ordinal`), so they precede all real windows."""
        return [_window(row) for row in self.rows]

    @property
    def ordinals(self) -> dict[str, int]:
        return {window.name: window.ordinal for window in self.windows}


NO_BASELINES = Baselines()


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A baseline of one table that is not finished: it is not completely in silver, or not completely replayed.

    `rows` are the pieces that are in silver. `landed` says whether the whole copy is there. `replayed` is the number of
    replayed pieces. While `landed` is False, the baseline has no effect on the gold table. From then on, the gold table
    starts at the position of the baseline, and lacks the rows of the pieces that are not replayed yet.
    """

    rows: tuple[BaselineRow, ...]
    landed: bool
    replayed: int

    @property
    def table(self) -> TableName:
        return TableName(self.rows[0].database, self.rows[0].schema, self.rows[0].table)

    @property
    def words(self) -> str:
        """A text for people: which baseline is not finished, and how many of its pieces are done."""
        first, pieces = self.rows[0], f"{len(self.rows)} pieces"
        how_far = f"{self.replayed} of its {pieces} are replayed" if self.landed else f"it stopped after {pieces}"
        return f"its baseline from {first.origin} at {format_start(first.position)} is not finished: {how_far}"

    def command(self, gold: str) -> str:
        """Return a text with the command that continues this baseline. `gold` is the name of the gold table.

        The command has the position and the partition, but not the options that only say how to read the copy.
        """
        first = self.rows[0]
        at = f"--at {format_start(first.position)}"
        part = f" --partition {first.part}" if first.part else ""
        if first.origin != NOTHING:
            return f"`retable baseline {gold} --from {quote(first.origin)} {at}{part}`, with the other options it had,"
        return f"`retable resync {gold} {'' if at == '--at start' else f'{at}{part} '}--reason …`"


NOTHING = "nothing"
"""The `origin` of a baseline without rows. With such a baseline a table starts again, empty."""


def unfinished_baselines(rows: Iterable[BaselineRow], replayed: Collection[str]) -> list[Unfinished]:
    """Return the baselines that have a piece which is not written yet, or not replayed.

    Only the newest baseline of each table counts. `rows` must be in the order of their commits. `replayed` are the
    window names of replayed pieces.
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
    """Return the position of a baseline as a value of the command-line option `--at`: `epoch:hi`, or `start`.

    `position` is a sequence as text: source epoch, `hi` and `lo`, such as `0.4711.5`. The lowest one becomes `start`.
    """
    at = parse_sequence(position)
    return "start" if at.hi == LOWEST.hi else f"{at.epoch}:{at.hi}"


def whole_baselines(rows: Iterable[BaselineRow]) -> Baselines:
    """Return the complete baselines among these rows. A baseline is complete if its last piece was written."""
    found = list(rows)
    done = {identify(row) for row in found if row.last}
    return Baselines(tuple(row for row in found if identify(row) in done))


def identify(row: BaselineRow) -> tuple[str | None, ...]:
    """Return a key that is equal for all pieces of the same baseline."""
    return (row.database, row.schema, row.table, row.position, row.part, row.dump)


def piece_window(number: int) -> str:
    """Return the window name of a baseline piece. The pieces of a source are numbered from 1, across its baselines."""
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
