"""Compare a gold table with its shadow (the same table, built again next to gold): columns by name, rows by key."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyiceberg.table import Table

from retable.gold.read import find_gold
from retable.gold.state import SEQUENCE_COLUMN
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import scan
from retable.model.event import TableName
from retable.model.schema import parse_gold_type
from retable.shadow.lake import Shadow, shadow_source
from retable.verify.compare import Comparison, RowDifference
from retable.verify.spill import Spill
from retable.verify.states import ColumnDifference, compare_spills, read_columns


@dataclass(frozen=True, slots=True)
class ShadowDifference:
    """The differences between the gold table `table` ("left") and its shadow ("right").

    `key` are the columns by which rows were compared. If it is empty, whole rows were compared. `held` says why the
    replay of the shadow stopped and where, or is None. `moved` says that gold changed after the shadow was built, so
    newer changes are only in gold. `rejected` are the changes that the shadow's replay put into quarantine: for each
    code, the number of changes and one of the reasons.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[ColumnDifference, ...]
    rows: RowDifference
    held: str | None
    moved: bool
    rejected: tuple[tuple[str, int, str], ...]

    @property
    def is_equal(self) -> bool:
        return self.rows.is_equal and not self.columns


def compare_shadow(lake: Lake, shadow: Shadow, table: str, folder: Path) -> ShadowDifference:
    """Compare a gold table in its present state with its shadow. Temporary files are written to `folder`."""
    gold, _ = find_gold(lake, table)
    shadowed, state = find_gold(lake, shadow.name_of(table))
    left, right = _columns(gold), _columns(shadowed)
    names = tuple(name for name in right if name in left)
    published = {column.name: column.gold for column in state.columns}
    key = tuple(published.get(name, "") for name in state.keys)
    on = tuple(map(names.index, key)) if key and set(key) <= set(names) else ()
    spills = []
    for side, each in (("gold", gold), ("shadow", shadowed)):
        spills.append(Spill(folder / f"{side}-{len(table)}.arrow"))
        if (snapshot := each.current_snapshot()) is not None:
            read_columns(lake, each, snapshot.snapshot_id, list(names), spills[-1])
    kinds = tuple(parse_gold_type(right[name]) for name in names)
    rows = compare_spills(Comparison(names, kinds, on), *spills)
    sides = ((_side(name, left), _side(name, right)) for name in {**left, **right})
    return ShadowDifference(
        table,
        tuple(names[at] for at in on),
        tuple(ColumnDifference(one, other) for one, other in sides if one != other),
        rows,
        None if state.hold is None else f"{state.hold.code} at {state.hold.place or 'its first row'}",
        shadow.snapshots.get(table) != gold.metadata.current_snapshot_id,
        _rejected(lake, shadow, state.table),
    )


def _rejected(lake: Lake, shadow: Shadow, table: TableName) -> tuple[tuple[str, int, str], ...]:
    quarantine = lake.find(f"quarantine.{shadow_source(shadow.ask.source)}")
    rows = scan(lake, quarantine, stage="replay", database=table.database, table=table.table).to_pylist()
    reasons = {row["code"]: row["reason"] for row in rows}
    return tuple((code, count, reasons[code]) for code, count in Counter(row["code"] for row in rows).most_common())


def _columns(table: Table) -> dict[str, str]:
    fields = (field for field in table.schema().fields if field.name != SEQUENCE_COLUMN)
    return {field.name: str(field.field_type).replace(" ", "") for field in fields}


def _side(name: str, columns: dict[str, str]) -> tuple[str, str] | None:
    return (name, columns[name]) if name in columns else None
