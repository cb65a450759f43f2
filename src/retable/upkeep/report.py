"""Record what upkeep did with each table, and put the new snapshots of compacted tables into the newest cut."""

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
    """What upkeep did with a table.

    `before` and `after` are the sizes of the table before and after upkeep, such as `{"files": 12, "rows": 500}`.
    `done` has the work: how many files and manifests were replaced, and how many snapshots, orphans, windows and rows
    were removed. The three dicts are empty if upkeep skipped the table. Then `left` is the reason; else it is None.
    `notes` say which old windows or rows retention could not drop, and why. `is_damaged` is True if upkeep skipped the
    table because a file cannot be read.
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
    """Raise DamagedFile if upkeep skipped tables because of damaged files. `kept` are the results of all tables."""
    if names := [each.table for each in kept if each.is_damaged]:
        raise DamagedFile(
            f"upkeep skipped {', '.join(names)}, because files of these tables are damaged; restore the files: "
            f"docs/operations.md (DAMAGED_FILE)"
        )


def record_kept(lake: Lake, kept: UpkeepResult, run_id: str, now: datetime) -> None:
    """Append a row to `ops.upkeep` that records what upkeep did with a table (`kept`)."""
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
    """Record the present snapshot of a compacted gold table in the newest consistent cut, as a new revision of the cut.

    Without this, the newest cut would keep the snapshot with the old files until the table changes again. `before` is
    the ID of the table's snapshot before the compaction. If the newest cut has a snapshot other than `before`, nothing
    is recorded. In this case, a replay has changed the table, but died before it recorded its cut. The repeated replay
    records the cut. Nothing is recorded either if no cut has the table.
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
