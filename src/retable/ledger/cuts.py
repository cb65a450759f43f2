"""Consistent cuts: the Iceberg snapshot of each gold table of a source after a window.

A cut has rows only for the tables whose snapshot or state changed in the window. For each other table, its newest row
from an earlier window counts. So a cut costs only as much as has changed, and two runs at the same time cannot lose
each other's rows.
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
    """A gold table at a moment: its name, its Iceberg snapshot (None if it has no snapshot yet) and its state."""

    gold: str
    snapshot_id: int | None
    state: TableState


class Cuts:
    """All consistent cuts of one source.

    `rows` are sorted by window, then by revision (how often the cut of the window was recorded), then by commit.
    """

    def __init__(self, rows: Iterable[CutRow]) -> None:
        self.rows = sorted(rows, key=lambda row: (row.window, row.revision))

    @cached_property
    def recorded_at(self) -> dict[str, datetime]:
        """The time when the newest revision of each window's cut was recorded, by window, in order."""
        return {row.window: row.recorded_at for row in self.rows}

    @property
    def windows(self) -> list[str]:
        """The windows that have a cut, in order."""
        return [*self.recorded_at]

    def at(self, window: str) -> dict[str, CutRow]:
        """Return the consistent cut after a window: the newest row of each table up to the window, by table ID.

        The result is empty if no cut was recorded up to this window.
        """
        return _newest(row for row in self.rows if row.window <= window)

    @cached_property
    def newest(self) -> dict[str, CutRow]:
        """The newest row of each table, by the ID of the table (`CutRow.identity`)."""
        return _newest(self.rows)

    def since(self, count: int) -> list[CutRow]:
        """Return the rows needed for the cuts of the last `count` windows, including older revisions of these cuts."""
        first = "".join(self.windows[-count:][:1])
        older = [row for row in self.at(first).values() if row.window < first]
        return older + [row for row in self.rows if row.window >= first]

    def pruned(self, count: int) -> list[tuple[CutRow, CutRow]]:
        """Return the rows that the cuts of the last `count` windows need, as pairs: before and after pruning.

        Pruning removes the cuts of all older windows. But the newest `CutRow` of a gold table that has not changed
        since may be in an older cut. It moves to the first of the last `count` windows. There it gets the revision -1,
        so that it comes before the rows that this window already has.
        """
        first = "".join(self.windows[-count:][:1])
        older = partial(replace, window=first, revision=-1)
        return [(row, row if row.window >= first else older(row)) for row in self.since(count)]

    def next_rows(
        self, source: str, window: str, snapshots: Mapping[str, TableSnapshot], now: datetime
    ) -> list[CutRow]:
        """Return the rows to record for the cut of a window. No window after it may have a cut.

        `snapshots` are the tables after the window, by table ID. Only changed tables get a row. If no table changed,
        and the window has no cut yet, the result is one row without a table, which marks the cut.
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
    """Read the consistent cuts of a source."""
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
    """Record the gold tables after a run as the consistent cut of a window. Return the window of the recorded cut.

    `snapshots` has the tables by table ID. If later windows already have a cut, the tables are recorded in the newest
    of these cuts, and its window is returned: it is the first window whose cut contains what the run wrote.

    `before` are the cuts when the run started. Another run may have recorded a table since then. For such a table,
    `current` is called with the gold name, and the snapshot that it returns is recorded, so that the cut never goes
    back to an older snapshot. If `current` returns None, the table is gone, and is left out. Raise ConflictError if
    other runs record cuts first, twenty times.
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
    """Record the rows that `decide` returns for the current cuts. If it returns no rows, nothing is recorded.

    If another run records first, `decide` is called again. Raise ConflictError if that happens too often.
    """
    lake.ensure(_TABLE)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        rows = decide(Cuts(cuts_of(lake, table, source)))
        if not rows or append_to_loaded(lake, table, rows):
            return
    raise ConflictError(
        f"the consistent cut of {source} was not recorded: other runs recorded cuts first, {_ATTEMPTS} times; try again"
    )


def last_cut(windows: list[str], window: str) -> str | None:
    """Return the last window of `windows` that is not after `window`. Return None if all of them are after it.

    `windows` are the windows with a cut, in order.
    """
    at = bisect_right(windows, window)
    return windows[at - 1] if at else None


def _newest(rows: Iterable[CutRow]) -> dict[str, CutRow]:
    return {row.identity: row for row in rows if row.identity}


def _snapshot(row: CutRow) -> TableSnapshot:
    return TableSnapshot(row.table, row.snapshot_id, row.state)
