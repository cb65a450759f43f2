"""Make the rows that record a replay run: in the quarantine, the ledger, ops.schema_changes and ops.tables."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import pyarrow as pa
from pyiceberg.expressions import And, BooleanExpression, EqualTo, In, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.fold.fold import Reject
from retable.gold.state import GoldState, hold_json
from retable.ledger.counts import LedgerRows, check_rows
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import QUARANTINE
from retable.ledger.read import newest_tables, read_schema_changes, rows_of, scan
from retable.ledger.rows import LedgerRow, SchemaChangeRow, TableRow
from retable.ledger.write import append_to_loaded
from retable.replay.inputs.known import FirstRows, find_first_rows, is_undeclared
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.history import AppliedChange, ChangeStatus, TableHistory
from retable.schema_history.shards.parts import source_part
from retable.schema_history.statement import Statement

REPLAY_VERSION = "replay 1"


def quarantine_rejects(
    lake: Lake, source: str, window: str, replayed: Iterable[tuple[TableHistory, list[Reject]]], now: datetime
) -> None:
    """Write the rejected rows of a window to quarantine, instead of the rows of the former replay of these tables.

    `replayed` has the tables, each with its rejected rows. Write nothing if quarantine already has exactly these rows.
    The column `place` has the identity of the table, because two tables may have had the same name in a window.
    """
    tables = list(replayed)
    rows = [_quarantined(history, reject, window, now) for history, rejects in tables for reject in rejects]
    found = lake.find(f"quarantine.{source}")
    mine = {history.identity for history, _ in tables}
    old = [row for row in scan(lake, found, stage="replay", window=window).to_pylist() if row["place"] in mine]
    if sorted(map(_place, old)) == sorted(map(_place, rows)):
        return
    of_tables = In(term=Reference("place"), literals={literal(each) for each in mine})
    condition = And(And(_equal("stage", "replay"), _equal("window", window)), of_tables)
    quarantine = lake.ensure(f"quarantine.{source}")
    content = pa.Table.from_pylist(rows, schema=QUARANTINE.columns)
    with explained(lake.settings.lake):
        if old:
            quarantine.overwrite(content, overwrite_filter=condition)
        else:
            quarantine.append(content)


def _quarantined(history: TableHistory, reject: Reject, window: str, now: datetime) -> dict[str, object]:
    event = reject.event
    own = history.of(event.shard)
    name = next((span.name for span in own.spans if span.covers(event.sequence)), own.name)
    return {
        "stage": "replay",
        "window": window,
        "topic": event.topic,
        "partition": event.partition,
        "offset": event.offset,
        "row_index": event.row_index,
        "code": reject.code,
        "reason": reject.reason,
        "place": history.identity,
        "decoder_version": REPLAY_VERSION,
        "database": name.database,
        "schema": name.schema,
        "table": name.table,
        "keys": None,
        "quarantined_at": now,
    }


def _equal(column: str, value: str) -> BooleanExpression:
    return EqualTo(term=Reference(column), value=literal(value))


def _place(row: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("topic", "partition", "offset", "row_index", "code", "reason"))


def ledger_rows(
    source: str,
    windows: Mapping[int, str],
    result: ReplayResult,
    run_id: str,
    now: datetime,
    seconds: float,
) -> list[LedgerRow]:
    """Return the ledger rows of one table: one row for each window in which the run counted the table's events.

    `windows` are window names by ordinal (window number). `run_id` is the ID of the run, `now` the time of recording,
    and `seconds` how long the run took. Raise Unbalanced if the counts of a window do not add up: the numbers of rows
    by verdict (applied, held, …) must sum up to all rows.
    """
    rows = []
    for ordinal, mine in sorted(result.counted.items()):
        counts = {"rows": mine.rows}
        counts |= {verdict: n for (where, verdict), n in sorted(result.verdicts.items()) if where == ordinal and n}
        check_rows(counts)
        window = windows[ordinal]
        rows.append(
            LedgerRow(
                source=source,
                window=window,
                stage="replay",
                table=result.gold,
                counts=counts,
                lowest={part: str(sequence) for part, sequence in mine.lowest.items()},
                highest={part: str(sequence) for part, sequence in mine.highest.items()},
                snapshot_id=result.snapshot,
                identity=result.applied.get(window) or result.state.applied.get(window),
                run_id=run_id,
                seconds=round(seconds, 3),
                bytes=0,
                recorded_at=now,
            )
        )
    return rows


def table_row(source: str, gold: str, state: GoldState, first: FirstRows | None, now: datetime) -> TableRow:
    """Return the row of ops.tables for a gold table. `first` says where the table's rows start; None: not known."""
    hold = None if state.hold is None else json.dumps(hold_json(state.hold), ensure_ascii=False)
    name = state.table
    return TableRow(
        source=source,
        identity=state.identity,
        gold=gold,
        database=name.database,
        schema=name.schema,
        table=name.table,
        state=state.state,
        hold=hold,
        recorded_at=now,
        first_window=None if first is None else first.window,
        lowest=None if first is None else dict(first.lowest),
    )


def change_rows(
    lake: Lake,
    source: str,
    windows: Mapping[Statement, str],
    results: Iterable[ReplayResult],
    now: datetime,
    recorded_changes: Iterable[tuple[Statement, ChangeStatus, str | None]],
) -> list[SchemaChangeRow]:
    """Return the rows that record statements in ops.schema_changes, without rows that are already there.

    `windows` has each statement with its window. `results` are the replayed tables: each statement in the history of
    such a table gets one row for this table. `recorded_changes` has statements with status and reason. Some of them
    concern no replayed table (an index, a database, a grant). Such a statement gets one row without a table identity;
    the column `table` has the table name in the statement. It gets no row if it was applied, or if this or an earlier
    run recorded it for a table.
    """
    recorded = read_schema_changes(lake, source)
    statements = {(statement.position, statement.part): statement for statement in windows}
    rows = [
        _change_row(source, result, change, statement, windows[statement], now)
        for result in results
        for change in result.history.changes
        if (statement := statements.get((change.position, source_part(change.part)))) is not None
    ]
    concerned = {(row.position, row.part, row.statement) for row in (*recorded, *rows) if row.identity}
    rows += [
        _statement_row(source, statement, windows[statement], status, reason, now)
        for statement, status, reason in recorded_changes
        if statement in windows
        and status != "applied"
        and (str(statement.position), statement.part or "", statement.text) not in concerned
    ]
    known = {_record(row) for row in recorded}
    return [row for row in rows if _record(row) not in known]


def _change_row(
    source: str, result: ReplayResult, change: AppliedChange, statement: Statement, window: str, now: datetime
) -> SchemaChangeRow:
    return SchemaChangeRow(
        source=source,
        identity=result.state.identity,
        table=result.gold,
        position=str(change.position),
        part=source_part(change.part) or "",
        event_time_ms=statement.event_time_ms,
        window=window,
        statement=change.statement,
        meaning=json.dumps(change.meaning, ensure_ascii=False, default=str),
        status=change.status,
        reason=change.reason,
        columns=json.dumps({column.name: column.field_id for column in result.state.columns}, ensure_ascii=False),
        recorded_at=now,
    )


def _statement_row(
    source: str, statement: Statement, window: str, status: ChangeStatus, reason: str | None, now: datetime
) -> SchemaChangeRow:
    return SchemaChangeRow(
        source=source,
        identity="",
        table=str(statement.table or ""),
        position=str(statement.position),
        part=statement.part or "",
        event_time_ms=statement.event_time_ms,
        window=window,
        statement=statement.text,
        meaning="[]",
        status=status,
        reason=reason,
        columns=None,
        recorded_at=now,
    )


def _record(row: SchemaChangeRow) -> tuple[str | None, ...]:
    return (row.identity, row.table, row.position, row.part, row.status, row.reason)


def window_rows(
    whole: LedgerRow,
    windows: Collection[str],
    ledger: Iterable[LedgerRow],
    counted: list[LedgerRow],
    former: set[str],
    retired: Collection[str] = (),
) -> list[LedgerRow]:
    """Return the ledger rows of whole windows (rows without a table name), if they differ from the recorded ones.

    The row of a whole window says that the window is replayed. Its counts are the sums over the tables of the window.

    - `whole`: the row of the replayed window, without counts. The rows of other windows are copies of it.
    - `windows`: the names of the windows for which rows are made.
    - `ledger`: the recorded rows of these windows.
    - `counted`: the rows of this run's tables. Such a row replaces the recorded row of the same table and window.
    - `former`: names of gold tables, such as old names of this run's tables. Their recorded rows are not in the sums.
    - `retired`: names of gold tables that the settings exclude now. In the replayed window, their recorded rows are not
      in the sums.

    The identity of a window is a digest of its content in silver. The row of the replayed window gets the identity of
    `whole`. The rows of other windows keep theirs. In a rebuild, the identity of `whole` is None. Then the rows of all
    windows keep theirs, and `retired` has no effect.
    """
    by_window: dict[str, list[LedgerRow]] = defaultdict(list)
    done: dict[str, LedgerRow] = {}
    for row in ledger:
        if row.table is None:
            done[row.window] = row
        else:
            by_window[row.window].append(row)
    now: dict[str, list[LedgerRow]] = defaultdict(list)
    for row in counted:
        now[row.window].append(row)
    rows = []
    for window in sorted(windows):
        is_whole = window == whole.window and whole.identity is not None
        gone = former.union(retired if is_whole else ())
        newest = {row.table: row for row in by_window[window] if row.table not in gone}
        newest |= {row.table: row for row in now[window]}
        total: Counter[str] = Counter()
        for row in newest.values():
            total.update(row.counts)
        known = done.get(window)
        identity = whole.identity if is_whole else None if known is None else known.identity
        if known is None or (known.counts, known.identity) != (dict(total), identity):
            rows.append(replace(whole, window=window, counts=dict(total), identity=identity))
    return rows


def facts(row: TableRow | None) -> tuple[object, ...] | None:
    """Return the content of a row of ops.tables without the time of recording, to compare rows; None for None."""
    if row is None:
        return None
    first = (row.first_window, row.lowest)
    return (row.gold, row.database, row.schema, row.table, row.state, row.hold, *first)


def lacking_first_rows(lake: Lake, table: Table, source: str) -> list[TableRow]:
    """Return the newest rows of ops.tables (`table`) that lack the start of their table's rows, but need it.

    The start is the first window with rows of the table, and the lowest sequence of each Kafka partition. It shows from
    where on the table exists. So only a table that no statement created, and that is not dropped, needs it.
    """
    rows = newest_tables(rows_of(TableRow, scan(lake, table, source=source)))
    return [row for row in rows if is_undeclared(row) and row.lowest is None]


def fill_first_rows(lake: Lake, source: str, ledger: LedgerRows, now: datetime, limit: int | None = None) -> bool:
    """Record in ops.tables the first window and the lowest sequence of tables that lack these values.

    `lacking_first_rows` finds such tables, and the values come from `ledger`. At most `limit` tables are recorded; if
    it is None, all. Return False, and record nothing, if another run wrote to ops.tables at the same time. Otherwise
    return True.
    """
    table = lake.load("ops.tables")
    lacking = lacking_first_rows(lake, table, source)[:limit]
    found = find_first_rows(ledger, [row.gold for row in lacking])
    filled = [
        replace(row, first_window=first.window, lowest=dict(first.lowest), recorded_at=now)
        for row in lacking
        if (first := found[row.gold])
    ]
    return not filled or append_to_loaded(lake, table, filled)
