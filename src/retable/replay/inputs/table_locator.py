"""Find the gold table of each source table, and rename gold tables whose name should be another one."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from retable.errors import DamagedFile
from retable.gold.damage import lost_state, recorded_hold, rows_by_name, unread_state
from retable.gold.state import GoldState
from retable.gold.store import GoldCatalog
from retable.ledger.rows import TableRow
from retable.schema_history.history import Hold

REMEDY = "move or rebuild the other table that has this name, then: retable rebuild TABLE --reason ..."


@dataclass(slots=True)
class LocatedTable:
    """The name (`gold`) and the state of a gold table. The state is None if there is no gold table yet.

    `hold` is the hold that ops.tables has for the table because its metadata was damaged or lost, so that gold may lack
    changes. It is None if there is no such hold.
    """

    gold: str
    state: GoldState | None = None
    hold: Hold | None = None


class TableLocator:
    """Finds and renames the gold tables of one source.

    `recorded` are the rows of ops.tables, by table identity (an ID that a rename does not change). The state that the
    gold table itself stores has priority over them. `is_fed` returns whether, with the present settings, rows still go
    to a recorded table. `on_progress` gets a text for the log.

    Each gold table stores the number of the newest window whose DDL statements were read for it. The attribute
    `horizon` is the highest of these numbers in the tables that were found so far; -1 if none was found. It shows how
    far gold is if a run died before it recorded its result. It is not the horizon of retention.
    """

    def __init__(
        self,
        catalog: GoldCatalog,
        recorded: Mapping[str, TableRow],
        is_fed: Callable[[TableRow], bool],
        source: str,
        on_progress: Callable[[str], None],
    ) -> None:
        self.recorded = recorded
        self.horizon = -1
        self._near: dict[str, list[LocatedTable]] = {}
        self._catalog = catalog
        self._is_fed = is_fed
        self._source = source
        self._rows = rows_by_name(recorded.values())
        self._on_progress = on_progress

    def find(self, identity: str, desired: str, former: Iterable[str] = (), *, lives: bool = True) -> LocatedTable:
        """Find the gold table of the source table with this identity (an ID that a rename does not change).

        First look under the name in ops.tables, then under the name that the table should have (`desired`). Then look
        at all tables in the namespaces of these two names and of `former` (other names that the gold table may have): a
        run may have renamed the table and died before it recorded the new name.

        If no gold table is found, the result usually has the name `desired` and no state. But the gold table is lost if
        ops.tables has it, the source table still exists (`lives`), and the settings still send rows to the gold table.
        The result then has a state with a hold.
        """
        row = self.recorded.get(identity)
        likely = [desired] if row is None else [row.gold, desired]
        namespaces = sorted({name.split(".", 1)[0] for name in (*likely, *former)})
        near = (found for namespace in namespaces for found in self._all(namespace))
        for found in chain(map(self._found, dict.fromkeys(likely)), near):
            if found.state is not None and found.state.identity == identity:
                return replace(found)
        lost = lost_state(row, is_fed=self._is_fed(row)) if lives and row is not None else None
        if row is None or lost is None:
            return LocatedTable(desired)
        return LocatedTable(desired if self._catalog.find_metadata(desired) is None else row.gold, lost, lost.hold)

    def _all(self, namespace: str) -> list[LocatedTable]:
        """Return the tables of a namespace, as they were at the first call of this method."""
        if namespace not in self._near:
            self._near[namespace] = [self._found(name) for name in self._catalog.names(namespace)]
        return self._near[namespace]

    def _found(self, name: str) -> LocatedTable:
        """Return a table as it is now, without a state if it does not exist or is of another source."""
        row = self._rows.get(name)
        try:
            table = self._catalog.find_metadata(name)
        except DamagedFile as error:
            if row is None:
                raise
            unread = unread_state(row, error)
            return LocatedTable(name, unread, unread.hold)
        state = None if table is None else table.state
        if state is None or state.source != self._source:
            return LocatedTable(name)
        self.horizon = max(self.horizon, state.horizon)
        return LocatedTable(name, state, recorded_hold(row))

    def rename(self, wanted: Mapping[str, str], found: Mapping[str, LocatedTable]) -> dict[str, Hold]:
        """Rename the tables `found` to the names `wanted`. Both are by table identity.

        If tables exchange their names, a temporary name is used. If a table cannot be renamed, because another table
        keeps its wanted name, the result has a hold for this table, by its identity.
        """
        there = {i: f for i, f in found.items() if f.state is not None and not f.state.is_unread}
        moves = {i: wanted[i] for i, f in there.items() if f.gold != wanted[i]}
        leaving = {found[i].gold for i in moves}
        blocked = {
            i: to for i, to in moves.items() if to not in leaving and self._catalog.find_metadata(to) is not None
        }
        while moves := {i: to for i, to in moves.items() if i not in blocked}:
            free = next((i for i, to in moves.items() if self._catalog.find_metadata(to) is None), None)
            identity = free or next(iter(moves))
            to = moves[identity] if free else f"{moves[identity]}__moving_{uuid.uuid4().hex[:8]}"
            if not free and found[identity].gold.startswith(f"{moves[identity]}__moving_"):
                blocked[identity] = moves[identity]
                continue
            self._catalog.rename(found[identity].gold, to)
            self._on_progress(f"{to}: renamed")
            found[identity].gold = to
            if free:
                del moves[identity]
        return {
            i: Hold(
                "NAME_CLASH",
                f"the table cannot be renamed to {to}: another table has this name",
                None,
                None,
                None,
                REMEDY,
            )
            for i, to in blocked.items()
        }
