"""Read the ops tables. They are append-only: if several rows are about the same thing, only the newest row counts.

The newest row is the row that was committed last. The clocks of the runs do not matter.
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
"""The condition for rows about a single table, in ops.ledger and ops.watermarks. The other rows are about a whole
window or source."""

CLOCKS_APART = timedelta(days=2)
"""The clock of a run may be wrong by a day, in both directions. So a read that selects rows by the time when they were
recorded starts this much earlier."""

ColumnBounds = Mapping[str, str | datetime]
"""Lower bounds of rows, inclusive: the lowest value by column. Files without such rows are not opened."""


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
    """Return the newest row of each window, stage and table of a source, ordered by window.

    None does not filter. `window` selects one window, `until` all windows up to this one. `at_least` has the lowest
    value of a column, by column. `of_tables` selects rows about single tables (True) or about whole windows (False).
    `tables` selects rows about these tables: replays have their names in gold, decodes their names in the source.
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
    """Return the finished windows of each stage, as a dict from a window's name to the `identity` of its ledger row.

    The identity is the decoder's version for a decode, and a digest of the window in silver for a replay. It is None
    for a landing, and can be None for a window without messages. `since` is the first window to read; None reads all.
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
    """Return every ledger row of a source in the order of recording, including rows that a newer row replaces."""
    return list(_spread(_read(lake, LedgerRow, source=source)))


def _until(table: Table | None, window: str) -> BooleanExpression:
    """Return the condition for ledger rows about windows up to this window.

    A row about several windows satisfies it if its first window does.
    """
    own = LessThanOrEqual(term=Reference("window"), value=literal(window))
    if table is None or "first" not in table.schema().column_names:
        return own
    return Or(own, LessThanOrEqual(term=Reference("first"), value=literal(window)))


def _spread(rows: Iterable[LedgerRow]) -> Iterator[LedgerRow]:
    """Yield one row for each window that a ledger row is about."""
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
    """Return the newest row of each recorded DDL statement, in the order of recording.

    `source` and `table` (a gold name) limit the result. None does not filter.
    """
    rows = _read(lake, SchemaChangeRow, source=source, table=table)
    return _newest(rows, lambda row: (row.source, row.identity, row.part, row.position, row.statement))


def cuts_of(lake: Lake, table: Table | None, source: str) -> list[CutRow]:
    """Return all rows of a source from the loaded table `ops.cuts`, in the order of recording.

    If `table` is None, return an empty list.
    """
    return rows_of(CutRow, scan(lake, table, source=source))


def read_tables(lake: Lake, source: str | None = None) -> list[TableRow]:
    """Return the newest row of each gold table, ordered by gold name. If `source` is None, read all sources."""
    return newest_tables(_read(lake, TableRow, source=source))


def newest_tables(rows: Iterable[TableRow]) -> list[TableRow]:
    """Return the newest of these rows for each gold table, ordered by gold name. `rows` are in recording order."""
    return sorted(_newest(rows, lambda row: row.identity), key=lambda row: row.gold)


def read_actions(lake: Lake, source: str) -> list[ActionRow]:
    """Return all actions of persons on a source, oldest first."""
    return _read(lake, ActionRow, source=source)


def read_decisions(lake: Lake, source: str) -> list[DecisionRow]:
    """Return all decisions of persons about statements and rows of a source, oldest first."""
    return _read(lake, DecisionRow, source=source)


def read_upkeep(lake: Lake, at_least: ColumnBounds | None = None) -> list[UpkeepRow]:
    """Return the rows of `ops.upkeep`, oldest first: one row for each table that upkeep changed in a run."""
    return _read(lake, UpkeepRow, at_least)


def read_imports(lake: Lake, source: str) -> list[ImportRow]:
    """Return the table schemas that persons imported for a source; for each table and position the newest row."""
    rows = _read(lake, ImportRow, source=source)
    return _newest(rows, lambda row: (row.database, row.schema, row.table, row.position))


def read_baselines(lake: Lake, source: str) -> list[BaselineRow]:
    """Return the pieces of a source's baselines (full copies of tables), oldest first.

    If a piece was written again, return its newest row.
    """
    return _newest(_read(lake, BaselineRow, source=source), lambda row: row.window)


def read_suspects(lake: Lake, source: str) -> list[SuspectRow]:
    """Return the newest row of each suspect of a source, in any state.

    A suspect is a set of rows that a foreign key should have deleted or changed (`SuspectRow`). It is identified by its
    table, the columns of the foreign key, and the window of the parent's change.
    """
    rows = _read(lake, SuspectRow, source=source)
    return _newest(rows, lambda row: (row.identity, row.columns, row.window))


def read_replayed_pieces(lake: Lake, source: str) -> frozenset[str]:
    """Return the window names of the replayed pieces of baselines (full copies of tables), from `ops.ledger`."""
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
    """Return the newest evidence row of each window and Kafka partition, ordered by window and partition.

    `window` selects one window. `at_least` has lower bounds by column. None does not filter.
    """
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
    """Return the newest watermark record of each table, grade and window, ordered by window, then by recording.

    A table may be blocked in one record of a window, but not in another one. Then return the newest of each kind.
    `at_least` has the lowest value of a column, by column. `of_tables`: records of tables (True) or the source (False).
    """
    wanted = _ALL if of_tables is None else OF_TABLES if of_tables else Not(OF_TABLES)
    rows = _read(lake, WatermarkRow, at_least, wanted, source=source, table=table, window=window, grade=grade)
    newest = _newest(rows, lambda row: (row.window, row.table, row.grade, row.because is None))
    return sorted(newest, key=lambda row: row.window)


def last_promised(lake: Lake, source: str) -> str | None:
    """Return the last window with a watermark record of the source itself; None if there is no such record yet."""
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
    """Read the rows of an ops table that satisfy all conditions, in the order of their commits.

    `at_least` has lower bounds and `equal` has exact values, by column; None does not filter. `wanted` is one more
    condition. `columns` are the columns to read. If it is None, all columns are read. The result is empty if `table` is
    None.
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
    """Return the rows of a scanned table as dataclasses of this kind, in the same order."""
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
