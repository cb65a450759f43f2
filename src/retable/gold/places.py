"""Where each table's gold is, and the names that it should have."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
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
        self._catalog = catalog
        self._source = source
        self._step = step

    def find(self, identity: str, desired: str, former: Iterable[str] = ()) -> Found:
        """Find a table's gold under its recorded name, the one it should have, or, after a crash, anywhere near.

        `former` are the names that it may have had before: a run that died before its record may have made it there.
        """
        for name in dict.fromkeys((*self._candidates(identity, desired), *sorted(former))):
            table = self._catalog.load(name)
            state = None if table is None else from_properties(table.properties())
            if state is None or state.source != self._source:
                continue
            self.horizon = max(self.horizon, state.horizon)
            if state.identity == identity:
                return Found(name, state)
        return Found(desired, None)

    def rename(self, wanted: Mapping[str, str], found: Mapping[str, Found]) -> dict[str, Hold]:
        """Give tables their names; a circle of names is broken by a name in between.

        A name that a table keeps which has no reason to move cannot be given: the hold of that table comes back.
        """
        moves = {i: wanted[i] for i, f in found.items() if f.state is not None and f.gold != wanted[i]}
        leaving = {found[i].gold for i in moves}
        blocked = {i: to for i, to in moves.items() if to not in leaving and self._catalog.load(to) is not None}
        while moves := {i: to for i, to in moves.items() if i not in blocked}:
            free = next((i for i, to in moves.items() if self._catalog.load(to) is None), None)
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

    def _candidates(self, identity: str, desired: str) -> Iterator[str]:
        row = self.recorded.get(identity)
        if row is not None:
            yield row.gold
        yield desired
        if row is not None:
            for namespace in sorted({name.split(".", 1)[0] for name in (row.gold, desired)}):
                yield from self._catalog.names(namespace)
