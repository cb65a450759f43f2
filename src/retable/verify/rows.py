"""Compare gold's rows with rows built again from change events (`Rebuild`), part by part to save memory."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from retable.errors import TableError
from retable.fold.fold import Folded, Values
from retable.gold.rows import to_values
from retable.gold.state import SEQUENCE_COLUMN, GoldState, RetentionFloor
from retable.model.schema import GoldType
from retable.model.sequence import Sequence, parse_sequence
from retable.replay.inputs.plan import Tables
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.parts import source_part
from retable.schema_history.statement import Statement
from retable.verify.compare import Comparison, RowDifference, comparable, number_of
from retable.verify.findings import Finding, Verification
from retable.verify.rebuild import Rebuild, SourceHistory, format_sequence
from retable.verify.spill import MOST_PARTS, Spill

ROWS_AT_ONCE = 100_000
"""The approximate number of rows or events in one part."""

ComparedColumns = tuple[tuple[str, GoldType | None], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """The share of a table's keys that is verified: share `number` (from 1) of `of` equal shares. Default: all keys."""

    number: int = 1
    of: int = 1


@dataclass(frozen=True, slots=True)
class Gold:
    """A gold table to be verified. `columns` are without Retable's own columns; the file `rows` has all columns."""

    name: str
    state: GoldState
    columns: ComparedColumns
    rows: Spill


def compare_rows(source_history: SourceHistory, gold: Gold, events: Spill, share: Share) -> Verification:
    """Fold the events of the table again, and compare the result with gold's rows and columns.

    `events` is a file with the row events of the windows that gold should have. `share` limits the comparison to some
    of the keys. If the table cannot be built from the events, the result has a finding instead of differences.
    """
    notes = _notes(gold.state)
    if _is_held_wholly(gold.state) and not gold.columns:
        return Verification("bronze", {}, (), (*notes, "no row of the table was ever replayed"))
    try:
        rebuild = Rebuild(_as_known(source_history, gold.state), gold.state, events)
    except TableError as error:
        what = f"the table cannot be built from the messages of its source ({error.code}: {error.message})"
        return Verification("bronze", {}, (Finding("NOT_REBUILT", gold.name, what),), tuple(notes))
    compared = _Compared(gold, rebuild, notes, source_history.floor)
    found = compared.run(max(events.rows, gold.rows.rows), share)
    counts: Counter[str] = Counter()
    for (_, verdict), count in rebuild.verdicts.items():
        counts[verdict] += count
    checked = {
        "statements": len(source_history.statements),
        "events": counts.total(),
        **{k: n for k, n in counts.items() if n},
    }
    findings = (*compare_columns(gold.columns, rebuild.columns), *rebuild.findings)
    return Verification("bronze", checked, tuple(dict.fromkeys(findings)), tuple(notes), found)


def compare_columns(here: ComparedColumns, wanted: ComparedColumns) -> list[Finding]:
    """Return a finding for each column that gold (`here`) or the rebuild (`wanted`) lacks, or that has another type.

    The order of the columns is not compared.
    """
    gold, rebuilt = dict(here), dict(wanted)
    missing = [
        Finding("COLUMN", name, f"gold does not have the column; it should have it with the type {kind}")
        for name, kind in wanted
        if name not in gold
    ]
    extra = [
        Finding("COLUMN", name, "gold has the column, but the source does not have it")
        for name, _ in here
        if name not in rebuilt
    ]
    retyped = [
        Finding("COLUMN", name, f"the column is {kind} in gold, but should be {rebuilt[name]}")
        for name, kind in here
        if name in rebuilt and kind != rebuilt[name]
    ]
    return [*missing, *extra, *retyped]


def _notes(state: GoldState) -> list[str]:
    hold = state.hold
    if hold is None:
        return []
    if hold.position is None:
        words = "compared with the windows that it accepted; if windows came out of order, gold may have more events"
        return [f"the gold table is held in its present state ({hold.code}): {words}"]
    return [f"the gold table is held at {hold.position} ({hold.code}): only rows up to this position are compared"]


def _is_held_wholly(state: GoldState) -> bool:
    return state.hold is not None and state.hold.position is None


def _as_known(source_history: SourceHistory, state: GoldState) -> SourceHistory:
    """Return the source history without statements that are not in a replayed window.

    If the whole table is held, also remove the statements that gold did not apply.
    """
    taken = set(state.changes)
    statements = {
        s: w for s, w in source_history.statements.items() if w in source_history.replayed or str(s.position) in taken
    }
    if not _is_held_wholly(state):
        return replace(source_history, statements=statements)
    changes = [change for history in _histories(source_history, statements, state) for change in history.changes]
    refused = {(change.position, source_part(change.part)) for change in changes if str(change.position) not in taken}
    return replace(
        source_history, statements={s: w for s, w in statements.items() if (s.position, s.part) not in refused}
    )


def _histories(
    source_history: SourceHistory, statements: Mapping[Statement, str], state: GoldState
) -> list[TableHistory]:
    tables = Tables.trace(
        list(statements), source_history.rules, [], source_history.known | dict.fromkeys(state.undeclared_shards)
    )
    return [history for history in tables.histories() if history.identity == state.identity]


class _Compared:
    """Compares gold with its rebuild. `floor` says which messages retention dropped; `notes` get its remarks."""

    def __init__(self, gold: Gold, rebuild: Rebuild, notes: list[str], floor: RetentionFloor | None) -> None:
        self._gold = gold
        self._rebuild = rebuild
        self._notes = notes
        self._floor = floor
        here = {name for name, _ in gold.columns}
        self._shared = [at for at, (name, _) in enumerate(rebuild.columns) if name in here]
        self._names = [rebuild.columns[at][0] for at in self._shared]
        self._kinds = tuple(rebuild.columns[at][1] for at in self._shared)

    def run(self, rows: int, share: Share) -> RowDifference | None:
        """Compare a share of the keys. Return None if gold lacks a key column.

        `rows` is the number of rows of gold or the number of events, whichever is greater. The number of parts depends
        on it, because only one part is in memory at a time.
        """
        keys = self._rebuild.reader.key_columns
        missing = [self._rebuild.columns[at][0] for at in keys if at not in self._shared]
        if missing:
            self._notes.append(f"gold does not have the key column {missing[0]!r}: no rows were compared")
            return None
        found = RowDifference()
        inner = min(-(-rows // (ROWS_AT_ONCE * share.of)) or 1, MOST_PARTS // share.of)
        if self._rebuild.key_changes:
            self._notes.append("the primary key changed, so the whole table was compared at once, in memory")
            inner, share = 1, Share()
        if not keys:
            self._compare_bags(found, inner * share.of, share)
            return found
        on = tuple(self._shared.index(at) for at in keys)
        comparison = Comparison((*self._names, SEQUENCE_COLUMN), (*self._kinds, GoldType("string")), on)
        parts = inner * share.of
        if parts > 1:
            self._rebuild.deal(parts)
            rows_of_gold = (row for batch in self._gold.rows.batches() for row in self._values(batch))
            self._gold.rows.deal(self._part(row, on, parts) for row in rows_of_gold)
        for number in range(share.number - 1, parts, share.of):
            folded = self._rebuild.fold(number)
            wanted = [(*(row[at] for at in self._shared), row[-1]) for row in self._rebuild.rows(folded)]
            standing = self._standing(number)
            comparison.add(found, standing if self._floor is None else self._decided(standing, folded, on), wanted)
        if self._floor is not None:
            what = f"{found.left} of {self._gold.rows.rows} rows of gold were compared"
            self._notes.append(f"{what}: other rows depend on messages that bronze no longer has (retention.bronze)")
        return found

    def _decided(self, standing: Iterable[Values], folded: Folded, on: tuple[int, ...]) -> Iterator[Values]:
        """Return those rows of gold that the messages in bronze prove to be right or wrong."""
        decided = {comparable(key): winner.base is None for key, winner in folded.winners.items()}
        for row in standing:
            key = comparable(tuple(row[at] for at in on))
            if decided.get(key, not _may_be_gone(row[-1], self._floor)):
                yield row

    def _compare_bags(self, found: RowDifference, parts: int, share: Share) -> None:
        """Compare whole rows, for a table without a key. Inserts and deletes of a row can be in different parts.

        So all parts are folded and summed before they are compared.
        """
        if share.of > 1:
            self._notes.append("the table has no key, so the whole table was compared")
        counts: Counter[Values] = Counter()
        if parts > 1:
            self._rebuild.deal(parts)
        for number in range(parts):
            for row, count in self._rebuild.fold(number).counts.items():
                counts[comparable(tuple(row[at] for at in self._shared))] += count
        owed = -sum(count for count in counts.values() if count < 0)
        if owed:
            self._notes.append(f"the messages delete {owed} rows that they do not insert")
        standing = (row[:-1] for row in self._standing(0))
        Comparison(tuple(self._names), self._kinds, ()).add(found, standing, (+counts).elements())

    def _standing(self, part: int) -> Iterator[Values]:
        for batch in self._gold.rows.part(part):
            yield from self._values(batch)

    def _part(self, row: Values, on: tuple[int, ...], parts: int) -> int:
        return self._rebuild.links.first(number_of(tuple(row[at] for at in on))) % parts

    def _values(self, batch: pa.RecordBatch) -> Iterator[Values]:
        """Return gold's rows in the columns that gold and rebuild both have, with the sequence as the last value."""
        rows = to_values(pa.Table.from_batches([batch]).select(self._names)) or [()] * batch.num_rows
        for row, at in zip(rows, batch.column(SEQUENCE_COLUMN).to_pylist(), strict=True):
            yield (*row, _sequence(at))


def _may_be_gone(spelled: object, floor: RetentionFloor | None) -> bool:
    """Return whether retention may have dropped the message of a row. `spelled` is its sequence as text."""
    if floor is None or not isinstance(spelled, str):
        return False
    text, _, part = spelled.partition(" of ")
    return floor.reaches(part or None, parse_sequence(text))


def _sequence(value: dict[str, object] | None) -> str | None:
    if value is None or None in (value["epoch"], value["hi"], value["lo"]):
        return None
    part = value.get("part")
    position = Sequence(*(int(str(value[name])) for name in ("epoch", "hi", "lo")))
    return format_sequence(position, None if part is None else str(part))
