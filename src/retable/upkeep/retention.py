"""Decide from facts what retention may drop of a source: the cut of each layer, and whose rows before it stay.

Nothing here reads or writes.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from retable.gold.state import GoldState, RetentionFloor
from retable.model.event import TableName
from retable.model.window import window_name
from retable.schema_history.history import TableHistory
from retable.settings.load import Settings
from retable.upkeep.silver_rows import Extent


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """A recorded window; `waits` says why it cannot be dropped yet, None if nothing prevents it."""

    name: str
    ordinal: int
    end: datetime
    waits: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """Windows before `kept_from` are dropped; None if none ever was. `because`: why older windows are not dropped."""

    kept_from: str | None
    because: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Why the cut is not later, for people."""
        return () if self.because is None else (f"it is old enough to be dropped, but {self.because}",)


@dataclass(frozen=True, slots=True)
class Stay:
    """Why rows of a table before the horizon stay; if `since` is set, only those of the windows from there on."""

    reason: str
    since: str = ""

    def holds(self, window: str) -> bool:
        return window >= self.since


_UNKNOWN = Stay("no statement and no gold table shows which table they belong to")
_NOT_BEYOND = Stay("gold has not passed all of them")


def cut(windows: Iterable[WindowFacts], age: timedelta | None, now: datetime, before: str | None) -> Cut:
    """Cut a layer after its last window that ended longer ago than `age`; the cut never moves back before `before`.

    It stops at the first window that waits for something, so everything from there on is complete.
    """
    found, because = before, None
    if age is None:
        return Cut(found)
    for window in windows:
        if window.end > now - age:
            break
        if window.waits is not None:
            because = f"{window.name} {window.waits}"
            break
        found = max(found or "", window_name(window.end))
    return Cut(found, because)


def stay_of(state: GoldState, history: TableHistory, is_keyed_by_settings: bool, shares_a_name: bool) -> Stay | None:
    """Why old rows of a table before the horizon stay; None if gold's state already contains them."""
    if state.hold is not None:
        return Stay("it is held, and needs them to catch up")
    if state.is_set_back:
        return Stay("its main branch was rolled back, and it is written again from them")
    if not state.keys:
        return Stay("it has no key: its rows are counted")
    if history.shards:
        return Stay("several tables go into it, each with a separate order")
    rekeyed = (at for at in history.key_changes if state.truncated_at is None or state.truncated_at < at)
    if any(rekeyed) and not is_keyed_by_settings:
        return Stay("its key changed: its rows are read under the key of their time")
    if shares_a_name:
        return Stay("another table had its name")
    if state.pending:
        return Stay("half of an update waits for the other", min(state.pending.values()))
    return None


def settled_through(windows: Sequence[WindowFacts], is_settled: Mapping[str, bool]) -> int:
    """The number of the last window up to which the present content of silver is replayed; -1 if there is none."""
    through = -1
    for window in windows:
        if not is_settled.get(window.name):
            break
        through = window.ordinal
    return through


@dataclass(frozen=True, slots=True)
class Owner:
    """The table whose rows have a name: its identity, and its gold name and state if gold has the table."""

    identity: str
    gold: str | None
    state: GoldState | None
    stay: Stay | None


def owners_of(
    histories: Iterable[TableHistory], states: Mapping[str, GoldState], settings: Settings
) -> dict[TableName, Owner]:
    """The table of each name in the histories, with the reason why its rows stay."""
    known = {history.identity: history for history in histories}
    golds = {state.identity: name for name, state in states.items()}
    holders: dict[TableName, set[str]] = defaultdict(set)
    for identity, history in known.items():
        for name in history.names:
            holders[name].add(identity)
    found: dict[TableName, Owner] = {}
    for identity, history in known.items():
        gold = golds.get(identity)
        state = None if gold is None else states[gold]
        shares = any(len(holders[name]) > 1 for name in history.names)
        by_settings = bool(settings.rules(history.name).keys)
        stay = Stay("gold has no table of it") if state is None else stay_of(state, history, by_settings, shares)
        for name in history.names:
            found.setdefault(name, Owner(identity, gold, state, stay))
    return found


@dataclass(frozen=True, slots=True)
class Floors:
    """The retention floors to raise, by gold name, and whose rows stay, including those that gold does not contain."""

    raised: Mapping[str, RetentionFloor]
    stays: Mapping[TableName, Stay]


def plan_floors(
    windows: Iterable[tuple[str, Mapping[TableName, Extent]]], known: Mapping[TableName, Owner], through: int
) -> Floors:
    """Plan with the extents of the rows of old windows; all of these rows except those that stay will be dropped."""
    stays = {name: owner.stay for name, owner in known.items() if owner.stay is not None}
    goes: dict[str, list[Extent]] = defaultdict(list)
    for window, found in windows:
        for name, extent in found.items():
            stay = stays.get(name) if name in known else stays.setdefault(name, _UNKNOWN)
            if stay is None or not stay.holds(window):
                goes[known[name].identity].append(extent)
    raised: dict[str, RetentionFloor] = {}
    for identity, extents in goes.items():
        names = [name for name, owner in known.items() if owner.identity == identity]
        owner = known[names[0]]
        floor = None if owner.state is None else _raise(owner.state, extents, through)
        if owner.gold is None or floor is None:
            stays |= dict.fromkeys(names, _NOT_BEYOND)
        else:
            raised[owner.gold] = floor
    return Floors(raised, stays)


def _raise(state: GoldState, extents: Iterable[Extent], through: int) -> RetentionFloor | None:
    """The floor after rows with these extents are dropped too; None if gold has not passed all of them."""
    before = state.floor
    last = {} if before is None else dict(before.dropped)
    partial = before is not None and before.partial
    for extent in extents:
        partial = partial or extent.partial
        for part, place in extent.last.items():
            if part not in state.high_water or place > state.high_water[part]:
                return None
            last[part] = max(place, last.get(part, place))
    return RetentionFloor(last, through, partial)
