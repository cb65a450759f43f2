"""Consistent cuts: the snapshot of each gold table of a source after a window.

A window has one row for each table whose snapshot or state changed in it; the newest row of a table up to a window
counts there. So the cost of a cut depends on what changed, and two overlapping runs cannot lose each other's rows.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import NamedTuple

from retable.errors import ConflictError
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import cuts_of
from retable.ledger.rows import OPS_TABLES, CutRow, TableState
from retable.ledger.write import append_to_loaded

_TABLE = OPS_TABLES[CutRow]
_ATTEMPTS = 20


class TableSnapshot(NamedTuple):
    """A gold table at a moment: its name, its snapshot (None if it has none yet), its state."""

    gold: str
    snapshot_id: int | None
    state: TableState


class Cuts:
    """All cuts of one source. `rows` are sorted by window, revision and commit."""

    def __init__(self, rows: Iterable[CutRow]) -> None:
        self.rows = sorted(rows, key=lambda row: (row.window, row.revision))

    @cached_property
    def recorded_at(self) -> dict[str, datetime]:
        """When the newest revision of each window was recorded, by window, in order."""
        return {row.window: row.recorded_at for row in self.rows}

    @property
    def windows(self) -> list[str]:
        """The windows that have a cut, in order."""
        return [*self.recorded_at]

    def at(self, window: str) -> dict[str, CutRow]:
        """The cut after a window: the row of each table, by identity; empty if there is no cut up to it."""
        return _newest(row for row in self.rows if row.window <= window)

    @cached_property
    def newest(self) -> dict[str, CutRow]:
        """The newest row of each table, by identity."""
        return _newest(self.rows)

    def since(self, count: int) -> list[CutRow]:
        """The rows that make up the cuts of the last `count` windows, with all revisions of these windows."""
        first = "".join(self.windows[-count:][:1])
        older = [row for row in self.at(first).values() if row.window < first]
        return older + [row for row in self.rows if row.window >= first]

    def pruned(self, count: int) -> list[tuple[CutRow, CutRow]]:
        """Pairs of the rows that the cuts of the last `count` windows need: as they are, and as they are after pruning.

        Older windows lose their cuts: a row from before these windows moves to the first of them, under the revision
        -1.
        """
        first = "".join(self.windows[-count:][:1])
        older = partial(replace, window=first, revision=-1)
        return [(row, row if row.window >= first else older(row)) for row in self.since(count)]

    def next_rows(
        self, source: str, window: str, snapshots: Mapping[str, TableSnapshot], now: datetime
    ) -> list[CutRow]:
        """The rows to record after the last `window` for these snapshots of tables, by identity.

        If no table changed in a window, it gets one row without a table, once, so that it has a cut, too.
        """
        revision = max((row.revision for row in self.rows if row.window == window), default=-1) + 1
        changed = {
            identity: snapshot
            for identity, snapshot in snapshots.items()
            if identity not in self.newest or snapshot != _snapshot(self.newest[identity])
        }
        if not changed and revision == 0:
            changed = {"": TableSnapshot("", None, "live")}
        return [
            CutRow(
                source=source,
                window=window,
                revision=revision,
                table=gold,
                identity=identity,
                snapshot_id=snapshot_id,
                state=state,
                recorded_at=now,
            )
            for identity, (gold, snapshot_id, state) in sorted(changed.items(), key=lambda item: item[1].gold)
        ]


def read_cuts(lake: Lake, source: str) -> Cuts:
    """Read the cuts of a source."""
    return Cuts(cuts_of(lake, lake.find(_TABLE), source))


def record_cut(
    lake: Lake,
    source: str,
    window: str,
    snapshots: Mapping[str, TableSnapshot],
    now: datetime,
    before: Cuts,
    current: Callable[[str], TableSnapshot | None],
) -> str:
    """Record these tables, by identity, as the cut of a window, or of the newest window with a cut if that is later.

    Gives the window of the recorded cut; it is the first cut that contains what the run wrote. `before` are the cuts
    from the start of the run. If another run recorded a table since, the `current` snapshot counts, which is that run's
    or a newer one; `current` takes the gold name and gives None if the table is gone. So a run that records last never
    moves a table back to an older snapshot.
    """

    behind = window

    def decide(cuts: Cuts) -> list[CutRow]:
        nonlocal behind
        behind = max([window, *cuts.windows])
        mine = dict(snapshots)
        for identity in snapshots:
            if cuts.newest.get(identity) != before.newest.get(identity):
                newest = current(snapshots[identity].gold)
                if newest is None:
                    del mine[identity]
                else:
                    mine[identity] = newest
        return cuts.next_rows(source, behind, mine, now)

    change_cuts(lake, source, decide)
    return behind


def change_cuts(lake: Lake, source: str, decide: Callable[[Cuts], list[CutRow]]) -> None:
    """Record the rows that `decide` makes from the current cuts; if another run records first, decide again."""
    lake.ensure(_TABLE)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        rows = decide(Cuts(cuts_of(lake, table, source)))
        if not rows or append_to_loaded(lake, table, rows):
            return
    raise ConflictError(f"the consistent cuts of {source}: other runs recorded first, {_ATTEMPTS} times; try again")


def last_cut(windows: list[str], window: str) -> str | None:
    """The last of `windows`, which are in order, up to this window; None if there is none."""
    at = bisect_right(windows, window)
    return windows[at - 1] if at else None


def _newest(rows: Iterable[CutRow]) -> dict[str, CutRow]:
    return {row.identity: row for row in rows if row.identity}


def _snapshot(row: CutRow) -> TableSnapshot:
    return TableSnapshot(row.table, row.snapshot_id, row.state)
