"""Check that Retable's recorded runs made all snapshots of a gold table, and that no recorded snapshot is lost."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retable.gold.state import PREFIX, RUN_PROPERTY
from retable.verify.findings import Finding

_WINDOW = f"{PREFIX}window"
_SHOWN = ("added-records", "deleted-records", "engine-name", "app-id", "user")


@dataclass(frozen=True, slots=True)
class Made:
    """An Iceberg snapshot of a gold table, with the summary that its writer gave it. Times are epoch milliseconds."""

    id: int
    parent: int | None
    time_ms: int
    operation: str
    summary: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chain:
    """The snapshots of a gold table by id, and the history of its branch main.

    `main` has each snapshot that main was moved to, with the time of the move in epoch milliseconds, oldest first.
    """

    snapshots: Mapping[int, Made]
    main: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RecordedSnapshots:
    """The snapshots of a gold table that Retable has recorded, to compare them with the table.

    `cuts` are the snapshots in consistent cuts (one snapshot of every gold table at a window), with the time of the
    record. `ledger` are the snapshots in replay rows of the ledger; they may include snapshots of another table that
    had the same name earlier. `runs` are the ids of all runs that the ledger has for the source.
    """

    cuts: Mapping[int, datetime]
    ledger: Collection[int]
    runs: Collection[str]


def check_chain(chain: Chain, named: RecordedSnapshots) -> list[Finding]:
    """Return findings for snapshots of main that no recorded run made, and for recorded snapshots that main has lost.

    `named` are the recorded snapshots. A run can write several snapshots on a branch, and then move main to the last of
    them. If this last snapshot was made by a recorded run, the others count as recorded, too.
    """
    found: list[Finding] = []
    at: int | None = None
    for number, (head, since) in enumerate(chain.main):
        made = chain.snapshots.get(head)
        later = [chain.snapshots.get(other) for other, _ in chain.main[number + 1 :]]
        if made is not None and not _is_named(made, since, later, named):
            found += [_foreign(each) for each in reversed(_between(chain, head, at))]
        at = head
    return [*dict.fromkeys(found), *_lost(chain, named)]


def _is_named(made: Made, since: int, later: Sequence[Made | None], named: RecordedSnapshots) -> bool:
    return _is_ours(made, named) or _is_sealed(made, since, later, named) or _is_redone(made, later, named)


def _is_sealed(made: Made, since: int, later: Sequence[Made | None], named: RecordedSnapshots) -> bool:
    """Return whether a run moved main to this snapshot of its branch, and added a recorded snapshot in the same commit.

    `since` is when main moved to the snapshot. A snapshot that was committed on main itself is not older than this.
    """
    above = later[0] if later else None
    return above is not None and above.parent == made.id and _is_recorded(above, named) and made.time_ms < since


def _is_redone(made: Made, later: Sequence[Made | None], named: RecordedSnapshots) -> bool:
    """Return whether a recorded run published the same window later, after the run of this snapshot had died."""
    window = made.summary.get(_WINDOW) if _run_of(made) else None
    same = [other for other in later if other is not None and window and other.summary.get(_WINDOW) == window]
    return any(_is_recorded(other, named) for other in same)


def _is_ours(made: Made, named: RecordedSnapshots) -> bool:
    is_first = made.parent is None and made.summary.get("total-records") == "0"
    is_upkeep = made.operation == "replace" and _run_of(made) != ""
    return _is_recorded(made, named) or is_first or is_upkeep


def _is_recorded(made: Made, named: RecordedSnapshots) -> bool:
    """Return whether a snapshot or its run is recorded. What a dead run published is recorded by the next run."""
    return made.id in named.cuts or made.id in named.ledger or _run_of(made) in named.runs


def _run_of(made: Made) -> str:
    """Return the run in a snapshot's summary. The property may have a slash and the window after the run."""
    return made.summary.get(RUN_PROPERTY, "").partition("/")[0]


def _between(chain: Chain, head: int, base: int | None) -> list[Made]:
    """Return the snapshots from `head` back to `base`, without `base`. The newest is first."""
    found: list[Made] = []
    at: int | None = head
    while at is not None and at != base and at in chain.snapshots:
        found.append(chain.snapshots[at])
        at = chain.snapshots[at].parent
    return found


def _foreign(made: Made) -> Finding:
    counted = (
        ", ".join(f"{name} {made.summary[name]}" for name in _SHOWN if name in made.summary)
        or "the summary of the snapshot does not name its writer"
    )
    when = f"{datetime.fromtimestamp(made.time_ms / 1000, UTC):%FT%TZ}"
    if run := _run_of(made):
        what = f"{made.operation} at {when} by the run {run}, which has no row in the ledger; run its window again"
        return Finding("RUN_UNRECORDED", str(made.id), what)
    return Finding("FOREIGN_COMMIT", str(made.id), f"{made.operation} at {when} by another writer: {counted}")


def _lost(chain: Chain, named: RecordedSnapshots) -> list[Finding]:
    """Return findings for snapshots of cuts that the table no longer has, or that are no longer ancestors of main.

    An expired snapshot is not reported. If all rows were written again later, a snapshot from before is not reported if
    main was moved.
    """
    if not chain.main:
        return [Finding("SNAPSHOT_LOST", str(i), "a run recorded it, but the table has none") for i in named.cuts]
    oldest = min(since for _, since in chain.main)
    current = chain.main[-1][0]
    line = _between(chain, current, None)
    ancestors = {made.id for made in line}
    # Older ancestors of main are unknown if the parent of a snapshot has expired.
    known_since = line[-1].time_ms if line and line[-1].parent is not None else 0
    mended = max((made.time_ms for made in line if made.summary.get("total-records") == "0"), default=0)
    found = []
    for snapshot, when in named.cuts.items():
        if snapshot not in chain.snapshots:
            if when.timestamp() * 1000 > oldest:
                found.append(
                    Finding(
                        "SNAPSHOT_LOST",
                        str(snapshot),
                        f"a run recorded it at {when:%FT%TZ}, but the table does not have it any more",
                    )
                )
        elif snapshot not in ancestors and chain.snapshots[snapshot].time_ms >= max(known_since, mended):
            what = f"a run recorded it at {when:%FT%TZ}; main was moved to {current}, which does not descend from it"
            found.append(Finding("MAIN_MOVED", str(snapshot), what))
    return found
