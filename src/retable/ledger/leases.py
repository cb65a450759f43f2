"""Leases record which run works on which tables, in `ops.leases`. The lease of a killed run expires.

A run takes a lease by compare-and-set: its commit fails if another run commits first. A lease only prevents two writers
from doing the same work. It does not keep a table correct: for that, a commit succeeds only if the table is still in
the state that the writer read.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from threading import Event, Thread
from time import perf_counter, sleep
from typing import Literal

from pyiceberg.table import Table

from retable.errors import ConflictError, Leased, RetableError, Unavailable
from retable.ledger.lake.catalog import Lake
from retable.ledger.processes import is_gone, this_process
from retable.ledger.read import scan
from retable.ledger.write import append_to_loaded

Purpose = Literal["replay", "upkeep", "build", "baseline"]
LENGTH = timedelta(hours=1)
"""How long a lease is valid without renewal. A run that was killed on another machine blocks others for this time."""

PATIENCE_SECONDS = 60
"""How long a replay waits until upkeep (compaction and cleaning) has ended its work on a table. After this time the
replay continues, and the commit of upkeep fails."""

_TABLE = "ops.leases"
_ATTEMPTS = 20
_LOOK_SECONDS = 1.0
_RENEWALS = 4
"""How often a lease is renewed during its length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A run's reservation of `target`: the name of one table, or the name of a source for all of its tables.

    `holder` is the ID of the run. `window` is the window that a replay works on; None for other runs. A lease ends when
    its run gives it back, when it expires (`until`), or when another run has replayed its `window`. It also ends when
    its `process` has ended, if that process ran on this machine.
    """

    source: str
    target: str
    purpose: Purpose
    holder: str
    until: datetime
    recorded_at: datetime
    window: str | None = None
    process: str | None = field(default_factory=this_process)


def standing_leases(lake: Lake, source: str, now: datetime) -> list[Lease]:
    """Return the active leases of a source and of its tables: not expired at the time `now`, and not given back."""
    return _standing(lake, lake.find(_TABLE), source, now)


@contextmanager
def leased(lake: Lake, lease: Lease, patience: float = 0) -> Iterator[None]:
    """Hold a lease for the duration of a `with` block, and renew it meanwhile.

    Raise Leased if another run has an active lease that covers the same table, and this lease is for upkeep (compaction
    and cleaning). Raise it also if both leases are for a build of shadow tables, or both for a baseline. A replay
    always gets its lease: if two replays write the same table, only one commit succeeds, so the table stays correct.

    If upkeep already works on tables of the source, wait until it has ended, but at most `patience` seconds. After this
    time the block starts even if upkeep still works.
    """
    began, length, newest = perf_counter(), lease.until - lease.recorded_at, lease
    ended = Event()

    def moment() -> datetime:
        return lease.recorded_at + timedelta(seconds=perf_counter() - began)

    def renew() -> None:
        nonlocal newest
        while not ended.wait(length.total_seconds() / _RENEWALS):
            # A failed renewal is tried again, and the lease stays valid for a while.
            with suppress(RetableError):
                now = moment()
                newest = replace(lease, until=now + length, recorded_at=now)
                _append_anyhow(lake, newest)

    def give_back() -> None:
        ended.set()
        renewing.join()
        _give_back(lake, newest, moment())

    others = _take(lake, lease)
    renewing = Thread(target=renew, daemon=True, name=f"the lease of {lease.target}")
    renewing.start()
    try:
        # Upkeep that starts after this lease was taken sees the lease, and does not start on these tables.
        if any(other.purpose == "upkeep" for other in others):
            _wait_for_upkeep(lake, lease, patience)
        yield
        for other in others:
            if lease.window is not None and (other.target, other.window) == (lease.target, lease.window):
                _give_back(lake, other, lease.recorded_at)
    except Unavailable:
        # To give the lease back would wait for the catalog again; the lease ends with its process.
        ended.set()
        raise
    except BaseException:
        give_back()
        raise
    else:
        give_back()


def end_leases(lake: Lake, source: str, target: str, now: datetime) -> None:
    """End all active leases whose `target` is this table or source, such as leases of runs that were killed."""
    for lease in standing_leases(lake, source, now):
        if lease.target == target:
            _give_back(lake, lease, now)


def _wait_for_upkeep(lake: Lake, lease: Lease, patience: float) -> None:
    began = perf_counter()
    while (waited := perf_counter() - began) < patience:
        leases = standing_leases(lake, lease.source, lease.recorded_at + timedelta(seconds=waited))
        if not any(lease.purpose == "upkeep" for lease in leases):
            return
        sleep(_LOOK_SECONDS)


def meets(lease: Lease, other: Lease) -> bool:
    """Return whether `lease`, which a run wants to take, conflicts with `other`, an active lease of the same source.

    They conflict only if they have different holders and cover the same table. In addition, `lease` must be for upkeep,
    which does not start beside any other run, or both must be for a build of shadow tables or for a baseline. So a
    replay can always take its lease.
    """
    same = lease.target == other.target or lease.source in (lease.target, other.target)
    alone = lease.purpose == "upkeep" or (lease.purpose == other.purpose and lease.purpose in ("build", "baseline"))
    return same and lease.holder != other.holder and alone


def _take(lake: Lake, lease: Lease) -> list[Lease]:
    """Append a lease, and return the active leases that were there before. Raise Leased if one of them conflicts."""
    table = lake.ensure(_TABLE)
    for _ in range(_ATTEMPTS):
        others = _standing(lake, table, lease.source, lease.recorded_at)
        _check_free(lease, others)
        if _append(lake, table, lease):
            return others
        table = lake.load(_TABLE)
    raise ConflictError(
        f"this run could not reserve {lease.target}: other runs wrote to ops.leases first, {_ATTEMPTS} times; try again"
    )


def check_free(lake: Lake, lease: Lease) -> None:
    """Raise Leased if an active lease conflicts with the given lease. Nothing is written."""
    _check_free(lease, standing_leases(lake, lease.source, lease.recorded_at))


def _check_free(lease: Lease, others: Iterable[Lease]) -> None:
    if other := next((each for each in others if meets(lease, each)), None):
        raise Leased(
            f"{lease.target} is in use: the {other.purpose} {other.holder} works on {other.target}, and its lease "
            f"is valid until {other.until:%FT%TZ}; try again when that run has ended",
            table=lease.target,
        )


def _give_back(lake: Lake, lease: Lease, now: datetime) -> None:
    _append_anyhow(lake, replace(lease, until=now, recorded_at=max(now, lease.recorded_at)))


def _append_anyhow(lake: Lake, lease: Lease) -> None:
    """Append a lease, and try again if another process appends first. A lease that cannot be given back expires."""
    for _ in range(_ATTEMPTS):
        if _append(lake, lake.load(_TABLE), lease):
            return


def _append(lake: Lake, table: Table, lease: Lease) -> bool:
    """Append to the table as it was loaded. Return False if another process has committed since."""
    return append_to_loaded(lake, table, [asdict(lease)])


def _standing(lake: Lake, table: Table | None, source: str, now: datetime) -> list[Lease]:
    """Return the active leases: the newest row of each holder and target, if it is not expired or given back.

    A lease was given back if its newest row has an `until` that is not after its `recorded_at`. Both times come from
    one clock, because the process that gave the lease back may have another clock than this one.
    """
    newest: dict[tuple[str, str], Lease] = {}
    least = {"recorded_at": now - 2 * LENGTH}
    names = [each.name for each in fields(Lease)]
    rows = ({name: row.get(name) for name in names} for row in scan(lake, table, least, source=source).to_pylist())
    found = [Lease(**{**row, **{name: row[name].astimezone(UTC) for name in ("until", "recorded_at")}}) for row in rows]
    for lease in sorted(found, key=lambda lease: (lease.recorded_at, -lease.until.timestamp())):
        newest[lease.holder, lease.target] = lease
    standing = [lease for lease in newest.values() if lease.until > max(now, lease.recorded_at)]
    return [lease for lease in standing if not is_gone(lease.process)]
