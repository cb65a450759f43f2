"""Read the statements and row events of silver for a replay."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import cast

from pyiceberg.expressions import (
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    In,
    LessThanOrEqual,
    NotNull,
    Or,
    Reference,
)
from pyiceberg.expressions.literals import literal

from retable.ddl.meaning import from_meaning, reader_version
from retable.ddl.registry import DEFAULT, PARSERS, parse_statement
from retable.decode.statements import dialect_of, is_known
from retable.formats.registry import find_format
from retable.gold.store import RowDict
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.model.event import TableName
from retable.model.schema_change import (
    DropDatabase,
    MovePartitions,
    NoChange,
    RenameTable,
    SchemaChange,
    TruncateTable,
    Unsupported,
)
from retable.replay.batch.silver_rows import (
    HALVES,
    ROW_COLUMNS,
    TIME_COLUMNS,
    sequence_of,
    table_name,
)
from retable.schema_history.statement import Statement


def read_removals(
    lake: Lake, source: str, names: Collection[TableName], ops: Collection[str], first: str, last: str, of_key: bool
) -> list[RowDict]:
    """Read row events of the tables `names` in the windows from `first` to `last`, and return them as rows of silver.

    Both windows are included. Each row has the source time of its event, too. Only events whose operation is in `ops`
    (such as DELETE) are read. If `of_key`, an update is read only if it changes, or may change, the key of its row.
    """
    between = And(
        GreaterThanOrEqual(term=Reference("window"), value=literal(first)),
        LessThanOrEqual(term=Reference("window"), value=literal(last)),
    )
    wanted = And(between, In(term=Reference("op"), literals={literal(op) for op in ops}))
    if of_key:
        halves = In(term=Reference("image"), literals={literal(image) for image in HALVES})
        moved = Or(halves, NotNull(term=Reference("old_key_hash")))
        wanted = And(wanted, Or(EqualTo(term=Reference("op"), value=literal("DELETE")), moved))
    return _of_tables(lake, source, names, wanted, (*ROW_COLUMNS, "event_time_ms"))


def read_times(lake: Lake, source: str, names: Collection[TableName], until: str) -> list[RowDict]:
    """Read the positions and source times of row events of the tables `names`, in the windows up to `until`."""
    wanted = LessThanOrEqual(term=Reference("window"), value=literal(until))
    return _of_tables(lake, source, names, wanted, TIME_COLUMNS)


def _of_tables(
    lake: Lake, source: str, names: Collection[TableName], wanted: BooleanExpression, columns: Collection[str]
) -> list[RowDict]:
    table = lake.find(f"silver.{source}")
    if table is None:
        return []
    called = In(term=Reference("table"), literals={literal(name.table) for name in names})
    condition = And(And(of_kind("row"), wanted), called)
    with explained(lake.settings.lake):
        rows: list[RowDict] = table.scan(row_filter=condition, selected_fields=tuple(columns)).to_arrow().to_pylist()
    return [row for row in rows if table_name(row) in names]


def of_kind(kind: str) -> BooleanExpression:
    """Return a filter for silver's events of one kind: `row` or `schema`."""
    return EqualTo(term=Reference("kind"), value=literal(kind))


def system_of(records: Iterable[RowDict], setting: str | None) -> str:
    """Return the name of the database whose SQL dialect a source uses.

    It is the first supported database that a message in `records` (statements in silver) names. Else it is the value of
    the setting `source_system` or, without the setting, MySQL.
    """
    systems = [cast(str | None, record["source_system"]) for record in records]
    return next(
        (system.lower() for system in (*systems, setting) if system and is_known(system)), (setting or DEFAULT).lower()
    )


def to_statement(record: RowDict, default_system: str | None, spoken: str | None = None) -> Statement:
    """Convert a schema event, as a row of silver, to a statement with the schema changes that its text means.

    `default_system` is the database system, such as `mysql`, to use if the message names no supported one. `spoken` is
    the SQL dialect of the whole source; None: any. A statement of another dialect becomes an unsupported change,
    because Retable interprets all column types of one source with one dialect.
    """
    name = table_name(record)
    text = cast(str | None, record["ddl_text"]) or ""
    changes: tuple[SchemaChange, ...]
    if not text and record["op"] == "TRUNCATE" and name is not None:
        changes = (TruncateTable(name),)
    elif not text:
        implied = name and find_format(str(record["source_format"])).implied_change(str(record["op_raw"]), name)
        changes = (implied or Unsupported(name, "the message contains no statement"),)
    else:
        changes = _read_text(record, text, name, default_system, spoken)
    part, event_time = cast(str | None, record["part"]), cast(int | None, record["event_time_ms"])
    tx_id, offset = cast(str | None, record["tx_id"]), cast(int, record["offset"])
    declares = record["op_raw"] == find_format(str(record["source_format"])).snapshot_op
    return Statement(
        position=sequence_of(record),
        part=part,
        table=name,
        text=text,
        changes=changes,
        event_time_ms=event_time,
        tx_id=tx_id,
        offset=offset,
        declares=declares,
    )


def _read_text(
    record: RowDict, text: str, name: TableName | None, default_system: str | None, spoken: str | None
) -> tuple[SchemaChange, ...]:
    database, schema, table = (cast(str | None, record[part]) for part in ("database", "schema", "table"))
    dialect = dialect_of(record, default_system)
    if dialect is None:
        systems = [system for system in (cast(str | None, record["source_system"]), default_system) if system]
        hint = f"if they are like those of a supported database ({', '.join(PARSERS)}), set `source_system` to its name"
        return (Unsupported(name, f"statements of the database {systems[0]!r} are not supported yet; {hint}"),)
    if spoken is not None and PARSERS.get(spoken) != PARSERS[dialect]:
        return (Unsupported(name, f"the source has statements of {spoken} and {dialect}; define one source for each"),)
    if record.get("dialect") == dialect and record.get("reader") == reader_version():
        return from_meaning(str(record["meaning"]))
    return parse_statement(dialect, text, database, schema, table or None)


def taken(statement: Statement, takes: Callable[[TableName], bool]) -> Statement:
    """Return the statement without its changes of tables that the settings exclude.

    `takes` returns whether the settings include a table. A RENAME of an excluded table to the name of an included table
    becomes an unsupported change, because silver has no rows of the excluded table.
    """
    kept = tuple(
        Unsupported(
            change.to,
            f"{change.to} was renamed from {change.table}, which the settings leave out, so its rows from before this "
            f"RENAME are not in silver",
        )
        if isinstance(change, RenameTable) and takes(change.to) and not takes(change.table)
        else change
        for change in statement.changes
        if any(map(takes, _tables(change))) or not _tables(change)
    )
    return statement if kept == statement.changes else replace(statement, changes=kept or (NoChange("left out"),))


def _tables(change: SchemaChange) -> tuple[TableName, ...]:
    match change:
        case NoChange() | DropDatabase():
            return ()
        case RenameTable(table, to):
            return (table, to)
        case Unsupported(table) | MovePartitions(table):
            return () if table is None else (table,)
        case _:
            return (change.table,)
