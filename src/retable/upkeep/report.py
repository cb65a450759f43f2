"""Record upkeep: what it did to each table, and the newest cut with the snapshots of compacted tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from retable.errors import DamagedFile
from retable.gold.read import find_gold
from retable.ledger.cuts import Cuts, TableSnapshot, change_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.rows import CutRow, UpkeepRow
from retable.ledger.write import append_rows
from retable.upkeep.inspection import TablePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepResult:
    """What upkeep did with a table: its size before and after, and what was done; `left` says why it was left alone.

    `notes` say what retention could not drop though it is old, and why. `is_damaged`: a file cannot be read.
    """

    table: str
    source: str | None
    before: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    done: Mapping[str, int] = field(default_factory=dict)
    left: str | None = None
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    is_damaged: bool = False


def check_damaged(kept: Iterable[UpkeepResult]) -> None:
    """Check the results; DamagedFile names the tables that were left alone because of a damaged file."""
    if names := [each.table for each in kept if each.is_damaged]:
        raise DamagedFile(
            f"upkeep skipped {', '.join(names)}, because a file is damaged: docs/operations.md (DAMAGED_FILE)"
        )


def record_kept(lake: Lake, kept: UpkeepResult, run_id: str, now: datetime) -> None:
    """Record in ops.upkeep what was done with a table."""
    row = UpkeepRow(
        source=kept.source,
        table=kept.table,
        before=dict(kept.before),
        after=dict(kept.after),
        done=dict(kept.done),
        run_id=run_id,
        seconds=round(kept.seconds, 3),
        recorded_at=now,
    )
    append_rows(lake, [row])


def record_cut(lake: Lake, place: TablePlace, before: int | None, now: datetime) -> None:
    """Add a revision to the newest cut with the present snapshot of a compacted table.

    Otherwise every later cut would name the old files until the table changes. If the cut does not name the snapshot
    `before`, a run died before its record; it is left to that run to record.
    """
    if place.source is None:
        return
    table, state = find_gold(lake, place.name)
    source = place.source
    compacted = {state.identity: TableSnapshot(place.name, table.metadata.current_snapshot_id, state.state)}

    def decide(cuts: Cuts) -> list[CutRow]:
        newest = cuts.newest.get(state.identity)
        if newest is None or newest.snapshot_id != before:
            return []
        return cuts.next_rows(source, cuts.windows[-1], compacted, now)

    change_cuts(lake, source, decide)
