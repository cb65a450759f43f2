"""Compare two states of one gold table, such as two windows or snapshots (`retable diff`)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa
from pyiceberg.table import Table

from retable.errors import InvalidSetting, NotFound
from retable.fold.fold import Values
from retable.gold.read import find_gold, snapshot_of_cut
from retable.gold.rows import to_values
from retable.gold.state import SEQUENCE_COLUMN
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.model.schema import parse_gold_type
from retable.model.window import is_window_name
from retable.verify.compare import Comparison, RowDifference, number_of
from retable.verify.rows import ROWS_AT_ONCE
from retable.verify.spill import MOST_PARTS, Spill

NOW = "now"


@dataclass(frozen=True, slots=True)
class ComparedState:
    """A state of a table that is compared. `asked` is how the user named it: a window, snapshot, tag, branch or time.

    `snapshot` is the id of the Iceberg snapshot, or None if the table had no row yet. `columns` gives name and type by
    Iceberg's field id, in the order of the table, without Retable's own columns.
    """

    asked: str
    snapshot: int | None
    columns: dict[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ColumnDifference:
    """A column that differs between two states. `left` and `right` are its name and type in each; None if missing."""

    left: tuple[str, str] | None
    right: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class StateDifference:
    """The differences between two states, `left` and `right`, of a table.

    `key` are the columns by which rows were matched. If it is empty, whole rows were compared.
    """

    left: ComparedState
    right: ComparedState
    key: tuple[str, ...]
    columns: tuple[ColumnDifference, ...]
    rows: RowDifference


def compare_states(lake: Lake, name: str, one: str, other: str, folder: Path) -> StateDifference:
    """Compare two states of a gold table. Rows are matched by key, or as whole rows if the states have no common key.

    `one` and `other` each name a state: `now`, a window, a snapshot's id, a tag, a branch, or a time with time zone.
    Columns are matched by Iceberg's field id, so a renamed column is compared with itself. Temporary files are written
    to `folder`. Raise NotFound if a state is unknown or has expired.
    """
    table, state = find_gold(lake, name)
    left, right = (_find_state(lake, name, table, asked) for asked in (one, other))
    shared = [number for number in right.columns if number in left.columns]
    ids = {column.name: column.field_id for column in state.columns}
    key = [ids[column] for column in state.keys if column in ids]
    on = tuple(map(shared.index, key)) if key and set(key) <= set(shared) and len(key) == len(state.keys) else ()
    spills = []
    for side, each in (("left", left), ("right", right)):
        spills.append(Spill(folder / f"{side}.arrow"))
        if each.snapshot is not None:
            read_columns(lake, table, each.snapshot, [each.columns[number][0] for number in shared], spills[-1])
    names = tuple(right.columns[number][0] for number in shared)
    kinds = tuple(parse_gold_type(right.columns[number][1]) for number in shared)
    rows = compare_spills(Comparison(names, kinds, on), spills[0], spills[1])
    changes = [
        ColumnDifference(left.columns.get(number), right.columns.get(number))
        for number in {**left.columns, **right.columns}
    ]
    changed = tuple(change for change in changes if change.left != change.right)
    return StateDifference(left, right, tuple(names[at] for at in on), changed, rows)


def _find_state(lake: Lake, name: str, table: Table, asked: str) -> ComparedState:
    snapshot = _snapshot(lake, name, table, asked)
    schema = table.schema()
    if snapshot is not None and asked != NOW:
        found = table.metadata.snapshot_by_id(snapshot)
        if found is None:
            raise NotFound(
                f"{name}: the snapshot {snapshot} has expired, so its rows can no longer be read",
                table=name,
                snapshot=snapshot,
            )
        schema = next((each for number, each in table.schemas().items() if number == found.schema_id), schema)
    fields = [field for field in schema.fields if field.name != SEQUENCE_COLUMN]
    return ComparedState(asked, snapshot, {f.field_id: (f.name, str(f.field_type).replace(" ", "")) for f in fields})


def _snapshot(lake: Lake, name: str, table: Table, asked: str) -> int | None:
    if asked == NOW:
        return table.metadata.current_snapshot_id
    if asked in table.refs():
        return table.refs()[asked].snapshot_id
    if is_window_name(asked):
        return snapshot_of_cut(lake, name, asked)
    if asked.isdecimal():
        return int(asked)
    return _at(name, table, asked)


def _at(name: str, table: Table, asked: str) -> int | None:
    """Return the snapshot that readers saw at a time, or None if the table had no snapshot then."""
    try:
        time = datetime.fromisoformat(asked)
    except ValueError:
        raise _unknown(name, asked) from None
    if time.tzinfo is None:
        raise InvalidSetting(f"the time {asked!r} has no time zone; write {asked}Z for UTC, or {asked}+08:00")
    entries = table.history()
    past = [entry.snapshot_id for entry in entries if entry.timestamp_ms <= time.timestamp() * 1000]
    first = table.metadata.snapshot_by_id(entries[0].snapshot_id) if entries else None
    if not past and first is not None and first.parent_snapshot_id is not None:
        raise NotFound(f"{name}: the snapshot of {asked} has expired, so its rows can no longer be read", table=name)
    return past[-1] if past else None


def _unknown(name: str, asked: str) -> NotFound:
    return NotFound(
        f"{asked!r} is not a state of {name}; name a state by `now`, a window (20260301T0500Z), a snapshot's number, "
        f"a tag, or a time with its zone (2026-03-01T05:00:00Z)",
        table=name,
    )


def read_columns(lake: Lake, table: Table, snapshot: int, names: list[str], rows: Spill) -> None:
    """Write the columns `names` of a snapshot's rows to the file `rows`, followed by Retable's sequence column."""
    with explained(lake.settings.lake):
        scan = table.scan(snapshot_id=snapshot, selected_fields=(*names, SEQUENCE_COLUMN))
        for batch in scan.to_arrow_batch_reader():
            rows.write(batch.select([*names, SEQUENCE_COLUMN]))


def compare_spills(comparison: Comparison, left: Spill, right: Spill) -> RowDifference:
    """Compare two files of rows, part by part, so that only one part of each is in memory at a time.

    Rows are divided into parts by key or, without a key, by whole rows.
    """
    found = RowDifference()
    parts = min(-(-max(left.rows, right.rows) // ROWS_AT_ONCE) or 1, MOST_PARTS)
    on = comparison.on or range(len(comparison.names))
    if parts > 1:
        for side in (left, right):
            rows = (row for batch in side.batches() for row in _values(batch))
            side.deal(number_of(tuple(row[at] for at in on)) % parts for row in rows)
    for number in range(parts):
        one, other = ([row for batch in side.part(number) for row in _values(batch)] for side in (left, right))
        comparison.add(found, one, other)
    return found


def _values(batch: pa.RecordBatch) -> Iterator[Values]:
    """Return rows without their sequence. It was read only so that a batch without other columns has a row count."""
    columns = batch.schema.names[:-1]
    yield from to_values(pa.Table.from_batches([batch]).select(columns)) or [()] * batch.num_rows
