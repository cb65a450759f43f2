"""The reader of the ops tables. They are append-only: of the rows that speak of the same thing the newest wins."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any, TypeVar

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.ledger.catalog import Lake
from retable.ledger.faults import explained
from retable.ledger.rows import OPS_TABLES, ActionRow, CutRow, LedgerRow, Row, SchemaChangeRow, TableRow

_Row = TypeVar("_Row", LedgerRow, SchemaChangeRow, CutRow, TableRow, ActionRow)


def read_ledger(lake: Lake, source: str, window: str | None = None) -> list[LedgerRow]:
    """Give the newest row of each window, stage and table of a source, by window."""
    rows = _read(lake, LedgerRow, source=source, window=window)
    return sorted(_newest(rows, lambda row: (row.window, row.stage, row.table)), key=lambda row: row.window)


def read_schema_changes(lake: Lake, source: str | None = None, table: str | None = None) -> list[SchemaChangeRow]:
    """Give the newest row of each schema change, oldest recorded first; `table` is a gold name."""
    rows = _read(lake, SchemaChangeRow, source=source, table=table)
    return _newest(rows, lambda row: (row.source, row.identity, row.part, row.position, row.statement))


def read_cuts(lake: Lake, source: str, window: str | None = None) -> list[CutRow]:
    """Give every row of the cuts of a source, all revisions, by window and revision."""
    rows = _newest(
        _read(lake, CutRow, source=source, window=window), lambda row: (row.window, row.revision, row.identity)
    )
    return sorted(rows, key=lambda row: (row.window, row.revision, row.table))


def read_tables(lake: Lake, source: str | None = None) -> list[TableRow]:
    """Give the newest row of each gold table, by name."""
    rows = _newest(_read(lake, TableRow, source=source), lambda row: row.identity)
    return sorted(rows, key=lambda row: row.gold)


def read_actions(lake: Lake, source: str) -> list[ActionRow]:
    """Give all that was done by hand with a source, oldest first."""
    return _read(lake, ActionRow, source=source)


def scan(lake: Lake, table: Table | None, /, **equal: str | None) -> pa.Table:
    """Read the rows of a table that have these values, without those that are None; empty where it is not there yet."""
    if table is None:
        return pa.table({})
    condition: BooleanExpression = AlwaysTrue()
    for column, value in equal.items():
        if value is not None:
            condition = And(condition, EqualTo(term=Reference(column), value=literal(value)))
    with explained(lake.settings.lake):
        return table.scan(row_filter=condition).to_arrow()


def _read(lake: Lake, kind: type[_Row], **equal: str | None) -> list[_Row]:
    """Read rows in the order in which they were recorded: a scan lists the newest commit first (see append_rows)."""
    records = scan(lake, lake.find(OPS_TABLES[kind]), **equal).to_pylist()
    rows = [kind(**_fitted(kind, record)) for record in reversed(records)]
    return sorted(rows, key=lambda row: row.recorded_at)


def _fitted(kind: type[Row], record: dict[str, Any]) -> dict[str, Any]:
    return {field.name: _python(record[field.name]) for field in fields(kind)}


def _python(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return dict(value) if isinstance(value, list) else value


def _newest(rows: Iterable[_Row], same: Callable[[_Row], Hashable]) -> list[_Row]:
    newest: dict[Hashable, _Row] = {}
    for row in rows:
        newest.pop(same(row), None)
        newest[same(row)] = row
    return list(newest.values())
