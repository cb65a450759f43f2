"""Where each table's gold is, and the names that it should have."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from retable.gold.state import GoldState, from_properties
from retable.gold.store import Catalog
from retable.ledger.rows import TableRow
from retable.replay.history import Hold

REMEDY = "move or rebuild the table that has the name, then: retable hold release TABLE --rebuild --reason ..."


@dataclass(slots=True)
class Found:
    """A table's gold as it stands: its name and what it says of itself; no state where there is none yet."""

    gold: str
    state: GoldState | None


class Places:
    """The gold tables of one source. `recorded` is what ops.tables says; what a table itself says decides.

    `horizon` is the highest window whose statements made one of the tables that were looked at.
    """

    def __init__(
        self, catalog: Catalog, recorded: Mapping[str, TableRow], source: str, step: Callable[[str], None]
    ) -> None:
        self.recorded = recorded
        self.horizon = -1
        self._near: dict[str, dict[str, GoldState]] = {}
        self._catalog = catalog
        self._source = source
        self._step = step

    def find(self, identity: str, desired: str, former: Iterable[str] = ()) -> Found:
        """Find a table's gold under its recorded name, the one it should have, or, after a crash, anywhere near.

        `former` are the names that it may have had before. A run that died before its record leaves tables that no
        record names, under any name of the same namespaces.
        """
        row = self.recorded.get(identity)
        likely = [desired] if row is None else [row.gold, desired]
        for name in dict.fromkeys(likely):
            state = self._state(name)
            if state is not None and state.identity == identity:
                return Found(name, state)
        for namespace in sorted({name.split(".", 1)[0] for name in (*likely, *former)}):
            for name, state in self._all(namespace).items():
                if state.identity == identity:
                    return Found(name, state)
        return Found(desired, None)

    def _all(self, namespace: str) -> dict[str, GoldState]:
        """The tables of this source in a namespace, as they were when they were first asked for."""
        if namespace not in self._near:
            found = {name: self._state(name) for name in self._catalog.names(namespace)}
            self._near[namespace] = {name: state for name, state in found.items() if state is not None}
        return self._near[namespace]

    def _state(self, name: str) -> GoldState | None:
        """What a table says of itself; None where it is not there, or not of this source."""
        properties = self._catalog.properties(name)
        state = None if properties is None else from_properties(properties)
        if state is None or state.source != self._source:
            return None
        self.horizon = max(self.horizon, state.horizon)
        return state

    def rename(self, wanted: Mapping[str, str], found: Mapping[str, Found]) -> dict[str, Hold]:
        """Give tables their names; a circle of names is broken by a name in between.

        A name that a table keeps which has no reason to move cannot be given: the hold of that table comes back.
        """
        moves = {i: wanted[i] for i, f in found.items() if f.state is not None and f.gold != wanted[i]}
        leaving = {found[i].gold for i in moves}
        blocked = {i: to for i, to in moves.items() if to not in leaving and self._catalog.properties(to) is not None}
        while moves := {i: to for i, to in moves.items() if i not in blocked}:
            free = next((i for i, to in moves.items() if self._catalog.properties(to) is None), None)
            identity = free or next(iter(moves))
            to = moves[identity] if free else f"{moves[identity]}__moving_{uuid.uuid4().hex[:8]}"
            if not free and found[identity].gold.startswith(f"{moves[identity]}__moving_"):
                blocked[identity] = moves[identity]
                continue
            self._catalog.rename(found[identity].gold, to)
            self._step(f"{to}: renamed")
            found[identity].gold = to
            if free:
                del moves[identity]
        return {i: Hold("NAME_CLASH", f"{to} is another table", None, None, None, REMEDY) for i, to in blocked.items()}
