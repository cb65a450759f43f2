"""Decide what retention may drop: the old windows of each layer of a source, and which tables' rows must stay.

The functions read and write nothing.
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
    """A recorded window of a source. `ordinal` is its number in the order of the source's windows.

    `waits` is the reason why retention may not drop the window yet; None if it may.
    """

    name: str
    ordinal: int
    end: datetime
    waits: str | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """How far retention drops a layer of a source: all windows before the window with the name `kept_from`.

    If `kept_from` is None, no window was ever dropped, and none is dropped now. `because` is the reason why windows
    that are old enough to be dropped must stay; None if there are no such windows.
    """

    kept_from: str | None
    because: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for people: why windows that are old enough to be dropped must stay."""
        return () if self.because is None else (f"more windows are old enough to be dropped, but {self.because}",)


@dataclass(frozen=True, slots=True)
class Stay:
    """The reason why rows of a table must stay in silver although their window is old enough to be dropped.

    If `since` is set, only the rows of this window and of later windows must stay.
    """

    reason: str
    since: str = ""

    def holds(self, window: str) -> bool:
        return window >= self.since


_UNKNOWN = Stay("no DDL statement and no gold table has this name, so it is not known which table the rows belong to")
_NOT_BEYOND = Stay("the high-water mark of its gold table is lower than the sequence of some of these rows")


def cut(windows: Iterable[WindowFacts], age: timedelta | None, now: datetime, before: str | None) -> Cut:
    """Return the cut of a layer: retention drops its windows that ended longer ago than `age`.

    If `age` is None, nothing more is dropped. `before` is the `kept_from` of the present cut; the new cut is never
    earlier. The cut stops at the first window that must wait, so all windows from there on stay complete.
    """
    found, because = before, None
    if age is None:
        return Cut(found)
    for window in windows:
        if window.end > now - age:
            break
        if window.waits is not None:
            because = f"the window {window.name} {window.waits}"
            break
        found = max(found or "", window_name(window.end))
    return Cut(found, because)


def stay_of(state: GoldState, history: TableHistory, is_keyed_by_settings: bool, shares_a_name: bool) -> Stay | None:
    """Return why old rows of a table must stay in silver. Return None if they may be dropped, as gold contains them.

    `state` is the state of the gold table, and `history` has the schema changes of its source table. Old rows stay, for
    example, if the table is held or has no key, or if its key changed. A changed key is no reason if the settings name
    the key (`is_keyed_by_settings`), because all rows are then read with this key. `shares_a_name` is True if another
    table of the source had the same name at some time. Then the old rows stay, too: silver has the rows of both tables
    under this name.
    """
    if state.hold is not None:
        return Stay("the table is held, and needs these rows when the hold is released")
    if state.is_set_back:
        return Stay("its main branch was rolled back, and a rebuild needs these rows")
    if not state.keys:
        return Stay("the table has no key, so Retable counts equal rows and needs all of them")
    if history.shards:
        return Stay("several source tables go into this table, and each of them has a separate order")
    rekeyed = (at for at in history.key_changes if state.truncated_at is None or state.truncated_at < at)
    if any(rekeyed) and not is_keyed_by_settings:
        return Stay("its key changed, and old rows are read with the key that they had")
    if shares_a_name:
        return Stay("another table of the source had the same name")
    if state.pending:
        return Stay("one half (before or after image) of an update has not arrived", min(state.pending.values()))
    return None


def settled_through(windows: Sequence[WindowFacts], is_settled: Mapping[str, bool]) -> int:
    """Return the number of the last window up to which all windows are replayed with their present content in silver.

    Return -1 if there is no such window. `windows` are in order. `is_settled` says, by the name of a window, whether it
    is replayed with this content.
    """
    through = -1
    for window in windows:
        if not is_settled.get(window.name):
            break
        through = window.ordinal
    return through


@dataclass(frozen=True, slots=True)
class Owner:
    """The table to which the rows with a certain source table name belong.

    `identity` is an ID of the table that a rename does not change. `gold` is the name of the gold table, and `state`
    its state. Both are None if the table is not in gold. `stay` is the reason why the table's old rows must stay in
    silver; None if they may be dropped.
    """

    identity: str
    gold: str | None
    state: GoldState | None
    stay: Stay | None


def owners_of(
    histories: Iterable[TableHistory], states: Mapping[str, GoldState], settings: Settings
) -> dict[TableName, Owner]:
    """Return, by table name, the table to which rows with this name belong. The names come from the histories.

    `histories` are the schema histories of all tables of a source. A table that was renamed has several names.
    `states` are the states of gold tables, by gold name. From `settings`, only the table setting `keys` is used. If
    several tables had a name at different times, the result has only one of them, and its old rows must stay.
    """
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
        stay = Stay("it is not in gold") if state is None else stay_of(state, history, by_settings, shares)
        for name in history.names:
            found.setdefault(name, Owner(identity, gold, state, stay))
    return found


@dataclass(frozen=True, slots=True)
class Floors:
    """The result of `plan_floors`: what gold tables must record before rows are dropped from silver.

    `raised` has the new retention floors by gold name. A floor has the greatest sequence of the dropped rows for each
    source partition. `stays` has the reasons for tables whose rows must stay, by name in the source. It also has tables
    that are not in gold.
    """

    raised: Mapping[str, RetentionFloor]
    stays: Mapping[TableName, Stay]


def plan_floors(
    windows: Iterable[tuple[str, Mapping[TableName, Extent]]], known: Mapping[TableName, Owner], through: int
) -> Floors:
    """Return the new retention floors (the greatest sequences of dropped rows), and the tables whose rows must stay.

    `windows` has pairs for the windows to drop: the name of the window, and the greatest sequences of its rows by table
    name (`Extent`). `known` has the table of each name. The rows of a name that is not in `known` stay. The rows of a
    table also stay if one of them has a greater sequence than the high-water mark of its gold table. `through` is the
    number of the last window up to which all windows are replayed. The new floors record this number.
    """
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
    """Return the retention floor of a gold table after rows with these extents are dropped, too.

    Return None if some of these rows have a greater sequence than the table's high-water mark.
    """
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
