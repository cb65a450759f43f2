"""Find what is to be done for a source (`retable plan`): windows that wait for a stage, and stale windows and tables.

A window is stale for a table if a repeated run of the window would give other rows than gold has.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from retable.errors import SettingsError
from retable.formats.registry import find_format
from retable.gold.read import feeds, gold_states, known_states
from retable.gold.state import GoldState
from retable.land.due import inspect_arrivals
from retable.ledger.counts import is_left_out, open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_ledger
from retable.ledger.retained import KEPT_LAYERS, KeptLayer, is_dropped, kept_from
from retable.ledger.rows import LedgerRow, Stage
from retable.ledger.windows.contents import NO_FILES, silver_files
from retable.ledger.windows.positions import FoundLog
from retable.ledger.windows.recording import read_windows
from retable.model.window import Window, opening
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.sent_elsewhere import tables_to_rebuild
from retable.schema_history.history import Hold
from retable.settings.sources import Source

StaleCause = Literal["main", "settings", "schema", "silver", "decoder"]
CAUSES: dict[StaleCause, str] = {
    "main": "the main branch of the gold table was rolled back: a run will write all rows of the table again",
    "settings": "the settings for decoding and types of the table have changed since the window was replayed",
    "schema": "another schema of the table was imported since the window was replayed",
    "silver": "the window was decoded again, but not replayed again",
    "decoder": "another version of Retable's decoder for the format decoded the window",
}

_NEEDED: tuple[KeptLayer, ...] = ("bronze", "silver")
"""A window can run again only if these layers still have it."""

_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")


@dataclass(frozen=True, slots=True)
class Stale:
    """A window and a gold table that would get other rows from it if the window ran again. `because` has the causes."""

    window: str
    table: str
    because: tuple[StaleCause, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What is to be done for one source.

    - `ended`: the number of windows that have ended but are not recorded. None if no window is recorded.
    - `arrived`: the number of objects or positions (`unit`) that no recorded window contains. None if the source cannot
      be listed; then `unlisted` is the reason.
    - `opens`: the end of the last recorded window, if it is in the future. A run can record the next window only then.
    - `waiting`: the next stage of each recorded window that is not replayed.
    - `stale`: windows that must run again because their rows in gold would change, by table.
    - `left_out`: tables that were excluded before and are included now, each with the first and last window that was
      decoded without it.
    - `again`: the time range of the windows in `stale` and `left_out`, or None.
    - `moved`: the tables that need a rebuild because the settings now send rows to or from them, with the reason.
    - `held`: the tables that are held (stopped), each with its hold.
    - `paused`: the reason why no new window is recorded, or None.
    - `kept_from`: the oldest window that retention kept, by layer. Older windows cannot run again, so they are not
      stale.
    """

    source: str
    unit: Literal["objects", "positions"]
    ended: int | None
    arrived: int | None
    unlisted: str | None
    opens: datetime | None
    waiting: dict[str, Stage]
    stale: tuple[Stale, ...]
    left_out: Mapping[str, tuple[str, str]]
    moved: Mapping[str, str]
    held: dict[str, Hold]
    paused: str | None
    again: tuple[datetime, datetime] | None
    kept_from: Mapping[KeptLayer, str]

    @property
    def has_work(self) -> bool:
        return bool(self.waiting or self.stale or self.left_out or self.moved or self.held or self.arrived)


@dataclass(frozen=True, slots=True)
class Again:
    """What a repeated run of some windows would change (see `inspect_again`).

    `stale` are windows and tables that would get other rows. `left_out` are the tables that were excluded when the
    windows were decoded, and are included now.
    """

    stale: tuple[Stale, ...]
    left_out: frozenset[str]


def inspect_source(lake: Lake, source: Source, now: datetime) -> Outlook:
    """Return which windows of a source wait to be replayed, which are stale, and which tables are held, at `now`.

    Nothing is written."""
    windows, ledger = read_windows(lake, source.name), read_ledger(lake, source.name)
    known = {name: state for name, state in known_states(lake)[0].items() if state.source == source.name}
    taken = {name: state for name, state in known.items() if feeds(lake.settings, source, state)}
    mine, states = ({name: each for name, each in some.items() if not each.is_unread} for some in (known, taken))
    kept = {layer: found for layer in KEPT_LAYERS if (found := kept_from(lake, layer, source.name))}
    there = [row for row in ledger if not any(is_dropped(row.window, kept.get(layer)) for layer in _NEEDED)]
    left_out = _left_out(source, there)
    stale = _stale(lake, source, there, states)
    again = {each.window for each in stale}.union(*left_out.values())
    touched = [window for window in windows if window.name in again]
    arrived, unlisted = _arrived(source, windows, now)
    return Outlook(
        source=source.name,
        unit="objects" if source.kind == "files" else "positions",
        ended=max(0, (now - windows[-1].end) // source.every) if windows else None,
        arrived=arrived,
        unlisted=unlisted,
        opens=opening(windows[-1].name, source.every, now) if windows else None,
        waiting=_waiting(windows, ledger),
        stale=tuple(stale),
        left_out=left_out,
        moved=tables_to_rebuild(lake.settings, source, mine, open_ledger(lake, source.name).applied),
        held={name: state.hold for name, state in taken.items() if state.hold is not None},
        paused=source.paused,
        again=(touched[0].start, touched[-1].end) if touched else None,
        kept_from=kept,
    )


def inspect_again(lake: Lake, source: Source, windows: Collection[str]) -> Again:
    """Return what a repeated run of these windows would change, without running it."""
    mine = {name: state for name, state in gold_states(lake).items() if state.source == source.name}
    states = {name: state for name, state in mine.items() if feeds(lake.settings, source, state)}
    ledger = [row for row in read_ledger(lake, source.name) if row.window in windows]
    return Again(tuple(_stale(lake, source, ledger, states)), frozenset(_left_out(source, ledger)))


def _waiting(windows: Sequence[Window], ledger: Sequence[LedgerRow]) -> dict[str, Stage]:
    done = {(row.window, row.stage) for row in ledger if row.table is None}
    left = {w.name: [stage for stage in _STAGES if (w.name, stage) not in done] for w in windows}
    return {name: stages[0] for name, stages in left.items() if stages}


def _arrived(source: Source, windows: Sequence[Window], now: datetime) -> tuple[int | None, str | None]:
    """Return the number of positions or objects that no window contains, or None and the reason why it is unknown.

    Objects are compared by name and size. Their content is not read.
    """
    try:
        found = inspect_arrivals(source, now)
    except SettingsError as error:
        return None, error.message
    if isinstance(found, FoundLog):
        ends = {each.address: each.end for window in windows for each in window.ranges}
        return sum(max(0, each.end - ends.get(each.address, each.low)) for each in found.partitions), None
    known = {(item.key, item.size) for window in windows for item in window.objects}
    return sum((item.key, item.size) not in known for item in found), None


def _left_out(source: Source, ledger: Sequence[LedgerRow]) -> dict[str, tuple[str, str]]:
    """Return the tables that are included now but were excluded when windows were decoded.

    Decode counted their rows but did not store them. Each table comes with the first and last of these windows.
    """
    windows: dict[str, list[str]] = defaultdict(list)
    for row in ledger:
        if row.table is not None and is_left_out(row, source.takes_named):
            windows[row.table].append(row.window)
    return {table: (min(found), max(found)) for table, found in sorted(windows.items())}


def _stale(lake: Lake, source: Source, ledger: Sequence[LedgerRow], states: Mapping[str, GoldState]) -> list[Stale]:
    """Return the windows and tables for which a replay today would give other rows than gold has.

    Gold's state records only the last windows. For older windows, the record of the ledger is used.
    """
    files, version = silver_files(lake, source.name), find_format(source.format).version
    imports = read_schema_imports(lake, source.name)
    decoders = {row.window: row.identity for row in ledger if row.stage == "decode" and row.table is None}
    latest = {row.table: row.window for row in sorted(ledger, key=lambda row: row.window) if row.counts.get("rows")}
    found = []
    for row in ledger:
        state = states.get(row.table or "")
        if row.stage != "replay" or state is None or not row.counts.get("rows"):
            continue
        silver, _, fingerprint = (state.applied.get(row.window) or row.identity or "").rpartition(":")
        causes: list[StaleCause] = ["main"] if state.is_set_back and row.window == latest[row.table] else []
        settings, _, imported = fingerprint.partition("+")
        if imported != imports.fingerprint(state.identity, state.table):
            causes.append("schema")
        if settings != lake.settings.fingerprint(source.name, state.table):
            causes.append("settings")
        if silver != files.get(row.window, NO_FILES):
            causes.append("silver")
        if decoders.get(row.window) not in (None, version):
            causes.append("decoder")
        if causes:
            found.append(Stale(row.window, str(row.table), tuple(causes)))
    return found
