"""Read the ops tables. They are append-only: of several rows about the same thing the newest counts.

The newest row is the one that was committed last, whatever the clocks of the runs said.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Not,
    NotNull,
    Or,
    Reference,
)
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.small_files import read_rows
from retable.ledger.rows import (
    OPS_TABLES,
    ActionRow,
    BaselineRow,
    CutRow,
    DecisionRow,
    EvidenceRow,
    ImportRow,
    LedgerRow,
    SchemaChangeRow,
    Stage,
    SuspectRow,
    TableRow,
    UpkeepRow,
    WatermarkRow,
)
from retable.model.window import window_name, window_start

_Row = TypeVar(
    "_Row",
    LedgerRow,
    SchemaChangeRow,
    CutRow,
    TableRow,
    ActionRow,
    DecisionRow,
    ImportRow,
    BaselineRow,
    SuspectRow,
    EvidenceRow,
    WatermarkRow,
    UpkeepRow,
)
_ALL = AlwaysTrue()
OF_TABLES = NotNull(term=Reference("table"))
"""The rows of the ledger and of watermarks for single tables, not for a whole window or source."""

CLOCKS_APART = timedelta(days=2)
"""A run's clock may be a day off, either way; a read that selects rows by recording time reads this much more."""

ColumnBounds = Mapping[str, str | datetime]
"""The lowest value of a column; files without such rows are not opened."""


def read_ledger(
    lake: Lake,
    source: str,
    window: str | None = None,
    at_least: ColumnBounds | None = None,
    *,
    until: str | None = None,
    stage: Stage | None = None,
    of_tables: bool | None = None,
    tables: Collection[str] | None = None,
) -> list[LedgerRow]:
    """Give the newest row of each window, stage and table of a source, by window.

    Filters: one `window`, the windows from the bound of `at_least` to `until`, a `stage`, these `tables`; `of_tables`:
    True for rows of tables only, False for rows of whole windows only.
    """
    first, last = window or str((at_least or {}).get("window", "")), window or until
    wanted: BooleanExpression = _ALL if of_tables is None else OF_TABLES if of_tables else Not(OF_TABLES)
    if tables is not None:
        wanted = And(wanted, In(term=Reference("table"), literals={literal(name) for name in tables}))
    if last is not None:
        wanted = And(wanted, _until(lake.find(OPS_TABLES[LedgerRow]), last))
    bounds = {**(at_least or {}), **({"window": first} if first else {})}
    rows = _spread(_read(lake, LedgerRow, bounds, wanted, source=source, stage=stage))
    mine = (row for row in rows if row.window >= first and (last is None or row.window <= last))
    return sorted(_newest(mine, lambda row: (row.window, row.stage, row.table)), key=lambda row: row.window)


def read_stages(lake: Lake, source: str, since: str | None = None) -> dict[Stage, dict[str, str | None]]:
    """Give the finished windows by stage, each with the identity under which it was done; `since`: the first window.

    This reads few columns, even for many windows and all of their tables.
    """
    table = lake.find(OPS_TABLES[LedgerRow])
    done: dict[Stage, dict[str, str | None]] = {"land": {}, "decode": {}, "replay": {}}
    if table is None:
        return done
    columns = ["window", "stage", "identity"]
    columns += [name for name in ("first", "count") if name in table.schema().column_names]
    bounds = {"window": since} if since else None
    rows = scan(lake, table, bounds, Not(OF_TABLES), columns, source=source)
    stages, identities, lasts = (rows[name].to_pylist() for name in ("stage", "identity", "window"))
    nothing = [None] * rows.num_rows
    firsts, counts = (rows[name].to_pylist() if name in columns else nothing for name in ("first", "count"))
    for stage, identity, last, first, count in zip(stages, identities, lasts, firsts, counts, strict=True):
        for window in (last,) if count is None else _windows_of(first, last, count):
            if since is None or window >= since:
                done[stage][window] = identity
    return done


def read_ledger_whole(lake: Lake, source: str) -> list[LedgerRow]:
    """Give every ledger row of a source, also those that newer rows replace, oldest recorded first."""
    return list(_spread(_read(lake, LedgerRow, source=source)))


def _until(table: Table | None, window: str) -> BooleanExpression:
    """The ledger rows about windows up to this one; a row about several windows counts if its first one does."""
    own = LessThanOrEqual(term=Reference("window"), value=literal(window))
    if table is None or "first" not in table.schema().column_names:
        return own
    return Or(own, LessThanOrEqual(term=Reference("first"), value=literal(window)))


def _spread(rows: Iterable[LedgerRow]) -> Iterator[LedgerRow]:
    """Give one row for each window that a row describes."""
    for row in rows:
        if row.count is None:
            yield row
            continue
        for window in _windows_of(row.first, row.window, row.count):
            yield replace(row, window=window, first=None, count=None)


def _windows_of(first: str | None, last: str, count: int | None) -> Iterator[str]:
    if first is None or count is None:
        yield last
        return
    start = window_start(first)
    every = (window_start(last) - start) / (count - 1)
    for at in range(count):
        yield window_name(start + at * every)


def read_schema_changes(lake: Lake, source: str | None = None, table: str | None = None) -> list[SchemaChangeRow]:
    """Give the newest row of each schema change, oldest recorded first; `table` is a gold name."""
    rows = _read(lake, SchemaChangeRow, source=source, table=table)
    return _newest(rows, lambda row: (row.source, row.identity, row.part, row.position, row.statement))


def cuts_of(lake: Lake, table: Table | None, source: str) -> list[CutRow]:
    """Give every cut row of a source from `ops.cuts` as it was loaded, oldest recorded first."""
    return rows_of(CutRow, scan(lake, table, source=source))


def read_tables(lake: Lake, source: str | None = None) -> list[TableRow]:
    """Give the newest row of each gold table, by name."""
    return newest_tables(_read(lake, TableRow, source=source))


def newest_tables(rows: Iterable[TableRow]) -> list[TableRow]:
    """Give the newest of these rows for each gold table, by name."""
    return sorted(_newest(rows, lambda row: row.identity), key=lambda row: row.gold)


def read_actions(lake: Lake, source: str) -> list[ActionRow]:
    """Give all manual actions on a source, oldest first."""
    return _read(lake, ActionRow, source=source)


def read_decisions(lake: Lake, source: str) -> list[DecisionRow]:
    """Give all decisions about statements and rows of a source, oldest first."""
    return _read(lake, DecisionRow, source=source)


def read_upkeep(lake: Lake, at_least: ColumnBounds | None = None) -> list[UpkeepRow]:
    """Give what upkeep did with each table, oldest first."""
    return _read(lake, UpkeepRow, at_least)


def read_imports(lake: Lake, source: str) -> list[ImportRow]:
    """Give the newest row of each table and position from the schema dumps of a source."""
    rows = _read(lake, ImportRow, source=source)
    return _newest(rows, lambda row: (row.database, row.schema, row.table, row.position))


def read_baselines(lake: Lake, source: str) -> list[BaselineRow]:
    """Give the baseline pieces of a source, oldest first; for a piece that was written again, the newest row."""
    return _newest(_read(lake, BaselineRow, source=source), lambda row: row.window)


def read_suspects(lake: Lake, source: str) -> list[SuspectRow]:
    """Give the newest row of each suspect of a source, in any state, by table, columns and window."""
    rows = _read(lake, SuspectRow, source=source)
    return _newest(rows, lambda row: (row.identity, row.columns, row.window))


def read_replayed_pieces(lake: Lake, source: str) -> frozenset[str]:
    """Give the baseline pieces, as windows, that the ledger records as replayed; no other rows are read."""
    table = lake.find("ops.ledger")
    if table is None:
        return frozenset()
    mine = And(
        EqualTo(term=Reference("source"), value=literal(source)),
        EqualTo(term=Reference("stage"), value=literal("replay")),
    )
    pieces = LessThan(term=Reference("window"), value=literal(FIRST_WINDOW))
    with explained(lake.settings.lake):
        rows = table.scan(row_filter=And(mine, pieces), selected_fields=("window",)).to_arrow()
    return frozenset(rows["window"].to_pylist())


def read_evidence(
    lake: Lake, source: str, window: str | None = None, at_least: ColumnBounds | None = None
) -> list[EvidenceRow]:
    """Give the newest row of each window and partition of the queue, by window."""
    rows = _read(lake, EvidenceRow, at_least, source=source, window=window)
    newest = _newest(rows, lambda row: (row.window, row.topic, row.partition))
    return sorted(newest, key=lambda row: (row.window, row.topic, row.partition))


def read_watermarks(
    lake: Lake,
    source: str,
    at_least: ColumnBounds | None = None,
    *,
    of_tables: bool | None = None,
    table: str | None = None,
    window: str | None = None,
    grade: str | None = None,
) -> list[WatermarkRow]:
    """Give the newest row of each table (None is the source), grade and window, by window, then in recording order.

    If a table was free and blocked within one window, both rows are given. `of_tables`: True for rows of tables only,
    False for rows of the source only.
    """
    wanted = _ALL if of_tables is None else OF_TABLES if of_tables else Not(OF_TABLES)
    rows = _read(lake, WatermarkRow, at_least, wanted, source=source, table=table, window=window, grade=grade)
    newest = _newest(rows, lambda row: (row.window, row.table, row.grade, row.because is None))
    return sorted(newest, key=lambda row: row.window)


def last_promised(lake: Lake, source: str) -> str | None:
    """Give the last window with a watermark of the source; None if there is none yet."""
    table = lake.find(OPS_TABLES[WatermarkRow])
    if table is None:
        return None
    windows = scan(lake, table, None, Not(OF_TABLES), ["window"], source=source)["window"]
    last: str | None = pc.max(windows).as_py()
    return last


def scan(
    lake: Lake,
    table: Table | None,
    /,
    at_least: ColumnBounds | None = None,
    wanted: BooleanExpression = _ALL,
    columns: Sequence[str] | None = None,
    **equal: str | None,
) -> pa.Table:
    """Read the rows of a table with these values; a value of None does not filter. Empty if the table is missing.

    The rows come in the order of their commits. `columns`: only these columns.
    """
    if table is None:
        return pa.table({})
    condition = wanted
    for column, least in (at_least or {}).items():
        bound = least.isoformat() if isinstance(least, datetime) else least
        condition = And(condition, GreaterThanOrEqual(term=Reference(column), value=literal(bound)))
    for column, value in equal.items():
        if value is not None:
            condition = And(condition, EqualTo(term=Reference(column), value=literal(value)))
    with explained(lake.settings.lake):
        return read_rows(table, condition, columns)


def _read(
    lake: Lake,
    kind: type[_Row],
    at_least: ColumnBounds | None = None,
    wanted: BooleanExpression = _ALL,
    **equal: str | None,
) -> list[_Row]:
    """Read rows in the order in which they were recorded."""
    return rows_of(kind, scan(lake, lake.find(OPS_TABLES[kind]), at_least, wanted, **equal))


def rows_of(kind: type[_Row], scanned: pa.Table) -> list[_Row]:
    """Give the rows of a scan, in its order."""
    names = [field.name for field in fields(kind) if field.name in scanned.column_names]
    columns = (map(_python, scanned[name].to_pylist()) for name in names)
    return [kind(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def _python(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return {key: _python(each) for key, each in value} if isinstance(value, list) else value


def _newest(rows: Iterable[_Row], same: Callable[[_Row], Hashable]) -> list[_Row]:
    newest: dict[Hashable, _Row] = {}
    for row in rows:
        newest.pop(same(row), None)
        newest[same(row)] = row
    return list(newest.values())
