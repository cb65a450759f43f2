"""Find suspect rows of gold: the source cannot have them, as a foreign key deleted or changed them without an event.

The search costs time only if rows of a parent table were deleted or got other values. If an application deletes the
child rows itself, no row is found. A child row that came after the parent's change is not suspect: the source had it
after the change.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import cast

from retable.fold.fold import Values
from retable.gold.state import GoldColumn, GoldState
from retable.gold.store import CurrentRow, Halves, RowDict, RowStore
from retable.model.row_event import unpaired
from retable.replay.batch.silver_rows import to_event
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.recorded_state import RecordedState
from retable.replay.inputs.table_locator import TableLocator
from retable.replay.references.losses import losses, moment_of, referred_columns
from retable.replay.references.suspects import Lost, Suspect, SuspectPlace, typed
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.history import TableHistory
from retable.schema_history.references import ForeignKeyReference, Moment
from retable.schema_history.shards.parts import shard_of, source_part

_FIRST, _LAST = "", "~"
"""Texts that sort before and after the name of every window."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A row of gold that refers to a value that its parent lost, and the loss."""

    row: CurrentRow
    lost: Lost


@dataclass(slots=True, kw_only=True)
class _Inspection:
    """The search for suspect rows in one gold table, or one shard of it, by the columns of a foreign key.

    `columns` refer to the parent table. `read` are the columns to read of each row: `columns`, then the columns to
    which other tables refer. `lost` are the losses of the parent, and `found` the rows that still refer to them.
    """

    identity: str
    label: str | None
    gold: str
    columns: tuple[GoldColumn, ...]
    read: tuple[GoldColumn, ...]
    constraint: str
    lost: set[Lost] = field(default_factory=set)
    found: list[_Found] = field(default_factory=list)

    @property
    def place(self) -> SuspectPlace:
        return self.identity, tuple(column.id for column in self.columns)

    def values(self, row: CurrentRow, names: Iterable[str]) -> Values | None:
        """Return a row's values of the columns with these source names.

        Return None if one of the columns is not read, or is null in the row.
        """
        at = {column.name.lower(): number for number, column in enumerate(self.read)}
        values = tuple(row.values[at[name.lower()]] if name.lower() in at else None for name in names)
        return None if None in values else values


class Cascades:
    """Finds suspect rows of gold after a run, by the foreign keys of the source. It writes nothing.

    A suspect row refers to a value that its parent row no longer has (`Lost`), so the source cannot have the row any
    more. `results` are the tables that the run replayed, and `window` is the window of the run.
    """

    def __init__(
        self,
        rows: RowStore,
        locator: TableLocator,
        recorded: RecordedState,
        tables: Tables,
        results: Iterable[ReplayResult],
        window: str,
    ) -> None:
        self._rows = rows
        self._locator = locator
        self._recorded = recorded
        self._tables = tables
        self._window = window
        self._results = {result.state.identity: result for result in results}
        self._parts = {
            part.name: (history, label)
            for history in tables.histories()
            for label, part in history.parts()
            if not part.dropped
        }
        self._references = [each for each in tables.references() if self._counts(each)]
        self._inspections: dict[SuspectPlace, _Inspection] = {}
        self._times: dict[str, dict[Moment, int | None]] = {}

    def inspect(self, rewritten: Collection[str]) -> list[Suspect]:
        """Return the suspects (`Suspect`) that this run adds, settles or changes.

        The search uses the values that parent rows lost in this window. If the run wrote rows of the child table, it
        also uses values lost in later windows that are already replayed: the written rows may refer to them.
        `rewritten` are the identities of tables of which all rows were written again. For foreign keys of or to these
        tables, the search uses the values lost in all windows.
        """
        for reference in self._references:
            self._take(reference, rewritten)
        touched = {identity for identity, result in self._results.items() if result.wrote}
        for suspect in self._recorded.suspects:
            if suspect.state == "open" and suspect.identity in touched and suspect.place not in self._inspections:
                self._begin(suspect.identity, suspect.label, suspect.columns, suspect.constraint)
        waiting = {place for place, inspection in self._inspections.items() if inspection.lost}
        while waiting:
            inspection = self._inspections[waiting.pop()]
            inspection.found = self._suspicious(inspection)
            waiting |= self._chain(inspection)
        gone = {identity for identity in touched if self._results[identity].state.state == "dropped"}
        return [
            *(suspect for inspection in self._inspections.values() for suspect in self._changed(inspection)),
            *(each.settled() for each in self._recorded.suspects if each.state == "open" and each.identity in gone),
        ]

    # --- what parents lost ---------------------------------------------------------------------------------------
    def _counts(self, reference: ForeignKeyReference) -> bool:
        """Return whether both tables exist, and the settings want suspects for the child table."""
        rules = self._tables.rules.settings.rules(reference.child)
        return {reference.child, reference.key.parent} <= self._parts.keys() and rules.on.cascade == "suspect"

    def _take(self, reference: ForeignKeyReference, rewritten: Collection[str]) -> None:
        """Add the parent's losses in this window to the inspection of the child table.

        If late rows of the child came, add also the losses in later windows. If one of the two tables was written
        again, add the losses in all windows.
        """
        parent, child = self._parts[reference.key.parent][0], self._parts[reference.child][0]
        first = last = self._window
        came = self._results.get(child.identity)
        if {parent.identity, child.identity} & set(rewritten):
            first, last = _FIRST, _LAST
        elif came is not None and came.wrote and any(name > self._window for name in self._recorded.replayed):
            last = _LAST
        elif parent.identity not in self._results:
            return
        inspection = self._inspection_of(reference)
        if inspection is None:
            return
        part = self._parent_of(reference)
        ops = [op for op, action in _actions(reference).items() if action != "refuse"]
        of_key = {name.lower() for name in self._names(reference)} <= {name.lower() for name in part.final.keys or ()}
        records = self._rows.removals(part.names, ops, first, last, of_key)
        records += self._other_halves(part, records)
        for lost in losses(reference, part, records, self._tables.rules, self._recorded.ordinals):
            self._add(inspection, lost)

    def _other_halves(self, part: TableHistory, records: list[RowDict]) -> list[RowDict]:
        """Return the halves of updates that are in other windows than the halves in `records`."""
        events = [to_event(record, self._recorded.ordinals, False) for record in records]
        alone = frozenset(pair[1] for pair in unpaired(events))
        found = self._rows.table_rows(_LAST, part.names, Halves(alone)) if alone else []
        known = {event.arrival for event in events}
        return [each for each in found if to_event(each, self._recorded.ordinals, False).arrival not in known]

    def _parent_of(self, reference: ForeignKeyReference) -> TableHistory:
        history, label = self._parts[reference.key.parent]
        return history.of(label)

    def _add(self, inspection: _Inspection, lost: Lost) -> bool:
        """Add a loss to an inspection, and return whether it is new there.

        It is not added if its values do not fit the columns, or if a person accepted the rows that it concerns.
        """
        kinds = [column.type for column in inspection.columns]
        values = typed(lost.values, kinds)
        if values is None:
            return False
        lost = lost._replace(values=values)
        for known in self._recorded.suspects:
            if known.state == "accepted" and known.place == inspection.place and known.has(lost, kinds):
                return False
        is_new = lost not in inspection.lost
        inspection.lost.add(lost)
        return is_new

    # --- what children still have --------------------------------------------------------------------------------
    def _inspection_of(self, reference: ForeignKeyReference) -> _Inspection | None:
        """Return the inspection of the child table. Return None if gold lacks the table or one of its columns."""
        history, label = self._parts[reference.child]
        state = self._state(history)
        named = {} if state is None else {column.name.lower(): column.id for column in state.columns}
        columns = [named.get(name.lower()) for name in reference.key.columns]
        if None in columns:
            return None
        return self._begin(history.identity, label, tuple(cast(list[str], columns)), str(reference))

    def _begin(self, identity: str, label: str | None, ids: tuple[str, ...], constraint: str) -> _Inspection | None:
        """Return the inspection of a table by these columns. If it is new, add the losses of its open suspects.

        Return None if gold lacks the table or one of the columns.
        """
        if (identity, ids) in self._inspections:
            return self._inspections[identity, ids]
        if not self._tables.has(identity):
            return None
        history = self._tables.history(identity)
        state = self._state(history)
        there = {} if state is None else {column.id: column for column in state.columns}
        if not set(ids) <= there.keys():
            return None
        columns = tuple(there[each] for each in ids)
        names = {name.lower() for each in self._references_to(identity, label) for name in self._names(each)}
        more = (column for column in there.values() if column.name.lower() in names and column not in columns)
        inspection = _Inspection(
            identity=identity,
            label=label,
            gold=self._gold(history),
            columns=columns,
            read=(*columns, *more),
            constraint=constraint,
        )
        self._inspections[inspection.place] = inspection
        for suspect in self._recorded.suspects:
            if suspect.state == "open" and suspect.place == inspection.place:
                for lost in suspect.lost:
                    self._add(inspection, lost)
        return inspection

    def _gold(self, history: TableHistory) -> str:
        result = self._results.get(history.identity)
        if result is not None:
            return result.gold
        row = self._recorded.tables.get(history.identity)
        desired = self._tables.gold_names()[history.identity][0] if row is None else row.gold
        return self._locator.find(history.identity, desired).gold

    def _state(self, history: TableHistory) -> GoldState | None:
        result = self._results.get(history.identity)
        place = self._gold(history)
        state = self._locator.find(history.identity, place).state if result is None else result.state
        return None if state is None or state.is_unread or state.state == "dropped" else state

    def _suspicious(self, inspection: _Inspection) -> list[_Found]:
        """Return the rows of gold that came before their parent lost the values to which they refer."""
        lost: dict[Values, list[Lost]] = defaultdict(list)
        for each in inspection.lost:
            lost[each.values].append(each)
        on = list(range(len(inspection.columns)))
        columns = [(column.gold, column.type) for column in inspection.read]
        rows = self._rows.matching(inspection.gold, columns, on, sorted(lost, key=repr))
        found = []
        for row in rows:
            if inspection.label is None or shard_of(row.part) == inspection.label:
                mine = [each for each in lost[row.values[: len(on)]] if self._precedes(inspection, row, each)]
                found += [_Found(row, max(mine, key=lambda each: each.moment.sequence))] if mine else []
        return found

    def _precedes(self, inspection: _Inspection, row: CurrentRow, lost: Lost) -> bool:
        """Return whether a row came before a loss, or may have come before it.

        The order is not known if sequences of the two partitions do not compare, and both times are equal or one is
        missing.
        """
        moment = Moment(row.sequence, source_part(row.part))
        before = moment.is_before(lost.moment)
        if before is None:
            before = replace(moment, time=self._time(inspection, moment)).is_before(lost.moment)
        return before is not False

    def _time(self, inspection: _Inspection, moment: Moment) -> int | None:
        """Return the source time of a row. For a row of a full copy, it is the time when the copy was recorded."""
        if inspection.identity not in self._times:
            copied = {row.window: int(row.recorded_at.timestamp() * 1000) for row in self._recorded.baselines.rows}
            records = self._rows.times(self._tables.history(inspection.identity).names, _LAST)
            self._times[inspection.identity] = {
                replace(at, time=None): copied.get(str(record["window"]), at.time)
                for record, at in ((record, moment_of(record)) for record in records)
            }
        return self._times[inspection.identity].get(moment)

    # --- chains --------------------------------------------------------------------------------------------------
    def _references_to(self, identity: str, label: str | None) -> list[ForeignKeyReference]:
        parents = ((each, *self._parts[each.key.parent]) for each in self._references)
        return [each for each, history, part in parents if (history.identity, part) == (identity, label)]

    def _names(self, reference: ForeignKeyReference) -> tuple[str, ...]:
        return referred_columns(reference, self._parent_of(reference))

    def _chain(self, inspection: _Inspection) -> set[SuspectPlace]:
        """Add losses to the tables that refer to the found rows. Return the places of tables with new losses.

        If a foreign key deletes or changes a found row, the row is itself a parent that lost values.
        """
        own = next((each for each in self._references if self._inspection_of(each) is inspection), None)
        fresh: set[SuspectPlace] = set()
        if own is None or not inspection.found:
            return fresh
        changed = {column.name.lower() for column in inspection.columns}
        for reference in self._references_to(inspection.identity, inspection.label):
            names, target = self._names(reference), self._inspection_of(reference)
            for row, lost in ((each.row, each.lost) for each in inspection.found):
                goes = lost.event == "delete" and own.key.on_delete == "cascade"
                is_lost = goes or changed & {name.lower() for name in names}
                action = reference.key.on_delete if goes else reference.key.on_update
                values = inspection.values(row, names)
                if target is None or not names or values is None or not is_lost or action == "refuse":
                    continue
                if self._add(target, lost._replace(values=values, event="delete" if goes else "update")):
                    fresh.add(target.place)
        return fresh

    # --- what to say ---------------------------------------------------------------------------------------------
    def _changed(self, inspection: _Inspection) -> list[Suspect]:
        """Return the suspects of a table that differ from the recorded ones.

        There is one suspect for each window in which the parent lost values.
        """
        before = {
            each.window: each
            for each in self._recorded.suspects
            if each.place == inspection.place and each.state == "open"
        }
        rows: dict[str, list[_Found]] = defaultdict(list)
        for each in inspection.found:
            rows[each.lost.window].append(each)
        changed = []
        for window, mine in sorted(rows.items()):
            lost = sorted({each.lost for each in mine}, key=lambda each: (each.moment.sequence, repr(each)))
            now = Suspect(
                identity=inspection.identity,
                columns=tuple(column.id for column in inspection.columns),
                gold=inspection.gold,
                label=inspection.label,
                constraint=inspection.constraint,
                window=window,
                lost=tuple(lost),
                rows=len(mine),
            )
            changed += [] if window in before and before[window].is_same(now) else [now]
        return [*changed, *(old.settled() for window, old in before.items() if window not in rows)]


def _actions(reference: ForeignKeyReference) -> dict[str, str]:
    return {"DELETE": reference.key.on_delete, "UPDATE": reference.key.on_update}
