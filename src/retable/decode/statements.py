"""Keep the DDL statements of a source in a separate table, `statements.<source>`, each with its parsed meaning.

Silver decides which statements exist. The table's property `retable.silver` names the snapshot of silver from which it
was made. Windows that silver got later are read from silver itself. So no statement is lost or read twice if a run died
between its two commits.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression, EqualTo, In, LessThanOrEqual, Not, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation

from retable.ddl.meaning import reader_version, to_meaning
from retable.ddl.registry import DEFAULT, PARSERS, parse_statement
from retable.errors import ConflictError, DamagedFile
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.small_files import read_rows
from retable.ledger.lake.tables import SAME_STATEMENTS, STATEMENTS
from retable.ledger.write import committed_once

SchemaEvent = dict[str, object]

STATEMENT_COLUMNS = (
    *("database", "schema", "table", "window", "offset"),
    *("source_format", "source_system", "op", "op_raw", "ddl_text", "sequence", "part", "event_time_ms", "tx_id"),
)
"""The columns of a schema event that a replay reads."""

SILVER, READER = "retable.silver", "retable.reader"
"""Two properties of the table: the snapshot of silver from which it was made, and the version of the DDL parser."""

_ATTEMPTS = 20
_BEHIND = 16
"""After this many snapshots of silver without a statement, the table is updated to name the newest snapshot."""


@dataclass(frozen=True, slots=True)
class _Behind:
    """How far the table is behind silver: how many snapshots, and which windows they changed (None: unknown)."""

    snapshots: int
    windows: frozenset[str] | None


def read_statements(lake: Lake, source: str, until: str | None = None) -> list[SchemaEvent]:
    """Return the schema events (DDL statements) of the windows up to and including `until`, each as a dictionary.

    If `until` is None, read all windows. The events come from the table `statements.<source>`. But windows that were
    written to silver after the last update of this table are read from silver. If a file of the table is damaged, all
    windows are read from silver. Only events from the table have the field `meaning`: the parsed statement, as JSON.
    """
    condition: BooleanExpression = AlwaysTrue()
    if until is not None:
        condition = LessThanOrEqual(term=Reference("window"), value=literal(until))
    with suppress(DamagedFile):
        # Load the table first, so that it is never newer than silver.
        kept, silver = lake.find(f"statements.{source}"), lake.find(f"silver.{source}")
        if kept is not None and silver is not None and (windows := _behind(kept, silver).windows) is not None:
            newer = _in(windows)
            with explained(lake.settings.lake):
                rows: list[SchemaEvent] = read_rows(kept, And(condition, Not(newer))).to_pylist()
            return rows + (_of_silver(lake, silver, And(condition, newer)) if windows else [])
    silver = lake.find(f"silver.{source}")
    return [] if silver is None else _of_silver(lake, silver, condition)


def keep_statements(lake: Lake, source: str, system: str | None, *, wholly: bool = False) -> int:
    """Update the table `statements.<source>` from silver. Return how many statements were read from silver.

    `system` is the database system for messages that do not name it. A property of the table names the newest snapshot
    of silver that was read. If new snapshots of silver have no statements, this property is updated only after 16 of
    them, to save commits. If `wholly` is True, it is always updated: upkeep needs this before it expires snapshots of
    silver. Raise ConflictError if twenty attempts fail because other runs write the table.
    """
    if lake.find(f"silver.{source}") is None:
        return 0
    lake.ensure(f"statements.{source}")
    for _ in range(_ATTEMPTS):
        kept, silver = lake.load(f"statements.{source}"), lake.load(f"silver.{source}")
        behind = _behind(kept, silver)
        windows = behind.windows if kept.properties.get(READER) == reader_version() else None
        if windows is not None and behind.snapshots == 0:
            return 0
        is_there = _has_some(lake, kept, windows)
        if is_there is None:
            windows, is_there = None, True
        where = AlwaysTrue() if windows is None else _in(windows)
        rows = [_with_meaning(row, system) for row in _of_silver(lake, silver, where)]
        is_near = windows is not None and behind.snapshots < _BEHIND and not wholly
        if is_near and not rows and not is_there:
            return 0
        if _replace(lake, kept, where if is_there else None, rows, silver):
            return len(rows)
    text = f"statements.{source} was not updated: other runs wrote it first, {_ATTEMPTS} times; run the command again"
    raise ConflictError(text)


def has_statements(lake: Lake, source: str) -> bool:
    """Return whether `statements.<source>` exists, and names the snapshot of silver from which it was made."""
    kept = lake.find(f"statements.{source}")
    return kept is not None and SILVER in kept.properties


def dialect_of(record: Mapping[str, Any], default_system: str | None) -> str | None:
    """Return the SQL dialect of a schema event, such as `mysql`.

    There are two candidates: the database system that the message names, then `default_system`. Return the first whose
    statements Retable can parse. Return None if it can parse those of neither. If both are missing, return `mysql`.
    """
    systems = [system for system in (record["source_system"], default_system) if system]
    return next((system.lower() for system in systems or [DEFAULT] if is_known(system)), None)


def is_known(system: str | None) -> bool:
    """Return whether Retable can parse the DDL statements of a database system, such as `mysql`."""
    return system is not None and system.lower() in PARSERS


def _has_some(lake: Lake, kept: Table, windows: Collection[str] | None) -> bool | None:
    """Return whether the table has rows of these windows; of any window if `windows` is None.

    Return None if one of its files is damaged.
    """
    if windows is None:
        with explained(lake.settings.lake):
            return any(True for _ in kept.scan().plan_files())
    try:
        with explained(lake.settings.lake):
            return bool(kept.scan(row_filter=_in(windows), selected_fields=("window",)).count())
    except DamagedFile:
        return None


def _replace(lake: Lake, table: Table, where: BooleanExpression | None, rows: list[SchemaEvent], silver: Table) -> bool:
    """Replace the rows at `where`, and name their snapshot of silver. Return False if another run wrote first."""
    content = pa.Table.from_pylist(rows, schema=STATEMENTS.columns)
    current = silver.metadata.current_snapshot_id
    with explained(lake.settings.lake):
        try:
            with committed_once(table).transaction() as change:
                if where is not None:
                    change.overwrite(content, overwrite_filter=where)
                elif rows:
                    change.append(content)
                change.set_properties({SILVER: str(current), READER: reader_version()})
        except CommitFailedException:
            return False
    return True


def _behind(kept: Table, silver: Table) -> _Behind:
    marker, current = kept.properties.get(SILVER), silver.metadata.current_snapshot_id
    if marker is None:
        return _Behind(0, None)
    by_id = {snapshot.snapshot_id: snapshot for snapshot in silver.metadata.snapshots}
    found: set[str] = set()
    count = 0
    while str(current) != marker:
        snapshot = None if current is None else by_id.get(current)
        if snapshot is None or snapshot.summary is None:
            return _Behind(count, None)
        said = snapshot.summary.additional_properties
        if SAME_STATEMENTS not in said and snapshot.summary.operation is not Operation.REPLACE:
            window = said.get("retable.window")
            if window is None:
                return _Behind(count, None)
            found.add(window)
        current, count = snapshot.parent_snapshot_id, count + 1
    return _Behind(count, frozenset(found))


def _of_silver(lake: Lake, silver: Table, condition: BooleanExpression) -> list[SchemaEvent]:
    of_schema = EqualTo(term=Reference("kind"), value=literal("schema"))
    with explained(lake.settings.lake):
        rows: list[SchemaEvent] = read_rows(silver, And(of_schema, condition), STATEMENT_COLUMNS).to_pylist()
    return rows


def _with_meaning(row: SchemaEvent, system: str | None) -> SchemaEvent:
    dialect, text = dialect_of(row, system), row["ddl_text"]
    meaning = None
    if dialect is not None and isinstance(text, str) and text:
        database, schema, table = (
            None if row[name] is None else str(row[name]) for name in ("database", "schema", "table")
        )
        meaning = to_meaning(parse_statement(dialect, text, database, schema, table or None))
    return {**row, "dialect": dialect, "reader": reader_version(), "meaning": meaning}


def _in(windows: Collection[str]) -> BooleanExpression:
    return In(term=Reference("window"), literals={literal(window) for window in windows})
