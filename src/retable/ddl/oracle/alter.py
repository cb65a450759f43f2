"""Read ALTER TABLE of Oracle. Retable applies no action of a statement if it does not understand all of them."""

from retable.ddl.defaults import for_no_rows
from retable.ddl.oracle.columns import ColumnDefinition, read_column
from retable.ddl.oracle.constraints import read_column_list, read_state, take_cascade
from retable.ddl.oracle.cursor import Cursor
from retable.ddl.oracle.elements import at_column, read_elements, read_other, skip_log_group
from retable.ddl.oracle.names import Names, is_recycled
from retable.ddl.order import in_order
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
    DropColumn,
    DropTable,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
)

KEY_CHANGES = (
    "the statement enables or disables the primary key and does not name its columns; write ADD PRIMARY KEY or "
    "DROP PRIMARY KEY with `retable hold release --as`"
)

_ACTIONS = ("ADD", "MODIFY", "DROP", "RENAME", "SET")
_PARTITIONS = frozenset({"PARTITION", "PARTITIONS", "SUBPARTITION", "SUBPARTITIONS"})
_STORAGE_OF_COLUMNS = frozenset({"LOB", "VARRAY", "NESTED", "XMLTYPE", "COLUMN", "OPAQUE"})
_PHYSICAL = frozenset(
    {"LOGGING", "NOLOGGING", "FILESYSTEM_LIKE_LOGGING", "PARALLEL", "NOPARALLEL", "CACHE", "NOCACHE", "COMPRESS"}
    | {"NOCOMPRESS", "ROW", "COLUMN", "PCTFREE", "PCTUSED", "INITRANS", "MAXTRANS", "STORAGE", "TABLESPACE"}
    | {"ALLOCATE", "DEALLOCATE", "MINIMIZE", "NOMINIMIZE", "READ", "INMEMORY", "NO", "RESULT_CACHE", "MONITORING"}
    | {"NOMONITORING", "INDEXING", "SHRINK", "UPGRADE", "OVERFLOW", "MAPPING", "CLUSTERING", "MEMOPTIMIZE"}
    | {"FORCE", "NOSORT", "CHUNK", "PCTTHRESHOLD", "INCLUDING", "NOROWDEPENDENCIES", "ROWDEPENDENCIES"}
)
_WHOLE = frozenset({"ILM", "FLASHBACK", "ANNOTATIONS"})
_MOVES = frozenset({"MOVE", "SPLIT", "MERGE", "COALESCE"})
_GENERATED_NAME = "SYS_C"
_STATISTICS = ("SYS_STS", "SYS_STU")
"""Names of hidden columns for extended statistics begin with one of these prefixes."""


def read_alter_table(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read the text after ALTER TABLE. `names` reads the table names in it. Return the schema changes."""
    cursor.take("IF", "EXISTS")
    table = names.read(cursor)
    changes: list[SchemaChange] = []
    while not changes or not _at_end(cursor):
        if _at_end(cursor):
            raise cursor.unknown()
        cursor.begin_clause()
        changes += _read_action(cursor, table, names)
    if any(isinstance(change, DropTable) for change in changes):
        return (DropTable(table),)
    return in_order(changes)


def _at_end(cursor: Cursor) -> bool:
    return cursor.ended or cursor.sees(";")


def _read_action(cursor: Cursor, table: TableName, names: Names) -> list[SchemaChange]:
    match cursor.word:
        case "ADD":
            return _read_add(cursor, table)
        case "MODIFY":
            return _read_modify(cursor, table)
        case "DROP":
            return _read_drop(cursor, table, names)
        case "SET":
            return _read_set(cursor, table)
        case "RENAME":
            return [_read_rename(cursor, table)]
        case "TRUNCATE" | "EXCHANGE":
            raise _moves_rows(cursor, names)
        case "ENABLE" | "DISABLE":
            return [_read_state_change(cursor)]
        case word if word in _MOVES:
            return [_skip_move(cursor)]
        case word if word in _PHYSICAL:
            return [_skip_storage(cursor)]
        case word if word in _WHOLE:
            cursor.skip_to()
            return [NoChange(word.lower())]
    raise cursor.unknown()


def _read_add(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    cursor.expect("ADD")
    if cursor.word in _PARTITIONS:
        cursor.skip_to()
        return [NoChange("partitions")]
    if cursor.take("OVERFLOW"):
        return [_skip_storage(cursor)]
    if cursor.sees("("):
        elements = read_elements(cursor)
        added, keys, others = list(elements.columns), elements.primary, list(elements.others)
    elif at_column(cursor):
        column = read_column(cursor)
        added, keys, others = ([], (), ["statistics"]) if column.hidden else ([column], (), [])
    else:
        what, keys = read_other(cursor)
        added, others = [], [what]
    if "period" in others:
        raise UnsupportedChange("PERIOD FOR adds columns, and the statement does not declare these columns")
    if cursor.word in _STORAGE_OF_COLUMNS:
        cursor.skip_to(*_ACTIONS)
    key = [SetKey(table, keys)] if keys else []
    key += [SetKey(table, (column.name,)) for column in added if column.primary]
    return [*(_added(table, column) for column in added), *key, *map(NoChange, others)]


def _added(table: TableName, column: ColumnDefinition) -> AddColumn:
    _check(column)
    if column.numbered:
        raise UnsupportedChange(
            f"the source fills column {column.name!r} of old rows with numbers, and the log has no event with these "
            "numbers; `retable hold release --as` can add a column without numbering, which is null in old rows"
        )
    if not column.source_type:
        raise UnsupportedChange(
            f"the statement adds column {column.name!r} without a type; add the type with `retable hold release --as`"
        )
    if not column.tells_default:
        raise UnsupportedChange(
            f"the value of column {column.name!r} in old rows is not known: Retable cannot convert its DEFAULT to "
            f"{column.source_type} as the source does; write another default with `retable hold release --as`"
        )
    return AddColumn(table, for_no_rows(column.spec()))


def _check(column: ColumnDefinition) -> None:
    if column.generated:
        raise UnsupportedChange(
            f"the source computes column {column.name!r} in old rows, and the log has no event with the values; "
            "`retable hold release --as` can declare a plain column, which does not get these values"
        )


def _read_modify(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    """Read `MODIFY (a …, b …)`, `MODIFY a …`, or a MODIFY of partitions, constraints or storage."""
    cursor.expect("MODIFY")
    if cursor.word in _PARTITIONS or cursor.sees("DEFAULT", "ATTRIBUTES"):
        return [_skip_partitions(cursor)]
    if cursor.take("CONSTRAINT"):
        return [_constraint_state(cursor, cursor.name())]
    if cursor.sees("PRIMARY", "KEY"):
        return [_read_key_state(cursor)]
    if cursor.take("UNIQUE"):
        cursor.skip_group()
        return [_skip_states(cursor, "unique")]
    if cursor.sees("LOB", "(") or cursor.sees("NESTED", "TABLE") or cursor.word in ("VARRAY", "OPAQUE"):
        cursor.skip_to(*_ACTIONS)
        return [NoChange("storage")]
    if not cursor.take("("):
        return _read_modified(cursor, table)
    changes = _read_modified(cursor, table)
    while cursor.take(","):
        cursor.begin_clause()
        changes += _read_modified(cursor, table)
    cursor.expect(")")
    return changes


def _read_modified(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    """Read the new type of a column. Other options affect later rows only, and their messages contain the values."""
    start = cursor.mark
    column = read_column(cursor)
    if cursor.mark == start + 1:
        raise cursor.unknown()
    key = [SetKey(table, (column.name,))] if column.primary else []
    if not column.source_type:
        return [*key] or [NoChange("column")]
    _check(column)
    spec = column.spec()
    new = ColumnSpec(column.name, column.source_type, spec.not_null)
    return [ChangeColumn(table, column.name, new, None), *key]


def _read_drop(cursor: Cursor, table: TableName, names: Names) -> list[SchemaChange]:
    if cursor.sees("DROP", "(") or cursor.sees("DROP", "COLUMN"):
        cursor.next()
        return _read_dropped(cursor, table)
    if cursor.take("DROP", "UNUSED", "COLUMNS") or cursor.take("DROP", "COLUMNS", "CONTINUE"):
        _skip_checkpoint(cursor)
        return [NoChange("unused columns")]
    mark = cursor.mark
    cursor.expect("DROP")
    if cursor.word in _PARTITIONS:
        cursor.rewind(mark)
        raise _moves_rows(cursor, names)
    if cursor.take("PRIMARY", "KEY"):
        _skip_states(cursor, "primary key")
        return [SetKey(table, ())]
    if cursor.take("UNIQUE"):
        cursor.skip_group()
        return [_skip_states(cursor, "unique")]
    if cursor.take("CONSTRAINT"):
        return [_constraint_state(cursor, cursor.name())]
    if cursor.take("SUPPLEMENTAL", "LOG"):
        skip_log_group(cursor)
        return [NoChange("supplemental log")]
    raise cursor.unknown()


def _read_dropped(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    """Read `COLUMN a` or `(a, b)` after DROP or SET UNUSED, and the options after the columns."""
    cursor.take("COLUMN")
    columns = read_column_list(cursor) if cursor.sees("(") else (cursor.name(),)
    while take_cascade(cursor) or cursor.take_any({"INVALIDATE", "ONLINE"}):
        pass
    _skip_checkpoint(cursor)
    hidden = [name for name in columns if name.startswith(_STATISTICS)]
    return [NoChange("statistics") if name in hidden else DropColumn(table, name) for name in columns]


def _skip_checkpoint(cursor: Cursor) -> None:
    if cursor.take("CHECKPOINT"):
        cursor.number()


def _read_set(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    """Read `SET UNUSED`, which makes columns invisible, or a SET about partitions."""
    cursor.expect("SET")
    if cursor.take("UNUSED"):
        return _read_dropped(cursor, table)
    if cursor.word in ("INTERVAL", "PARTITIONING", "STORE", "SUBPARTITION"):
        cursor.skip_to()
        return [NoChange("partitions")]
    raise cursor.unknown()


def _read_rename(cursor: Cursor, table: TableName) -> SchemaChange:
    cursor.expect("RENAME")
    if cursor.take("COLUMN"):
        name = cursor.name()
        cursor.expect("TO")
        return ChangeColumn(table, name, ColumnSpec(cursor.name(), ""), None)
    if cursor.take_any({"CONSTRAINT", "PARTITION", "SUBPARTITION"}):
        cursor.name()
        cursor.expect("TO")
        cursor.name()
        return NoChange("name of a constraint or partition")
    cursor.expect("TO")
    new = cursor.name()
    return DropTable(table) if is_recycled(new) else RenameTable(table, TableName(table.database, table.schema, new))


def _read_state_change(cursor: Cursor) -> NoChange:
    """Read ENABLE or DISABLE of a constraint, of triggers, of a table lock or of row movement."""
    mark = cursor.mark
    cursor.next()
    cursor.take_any({"VALIDATE", "NOVALIDATE"})
    if cursor.sees("PRIMARY", "KEY"):
        raise UnsupportedChange(KEY_CHANGES)
    if cursor.take("UNIQUE"):
        cursor.skip_group()
        return _skip_states(cursor, "unique")
    if cursor.take("CONSTRAINT"):
        name = cursor.name()
        cursor.rewind(mark)
        disables = cursor.sees("DISABLE")
        cursor.skip_to("CONSTRAINT")
        cursor.expect("CONSTRAINT")
        cursor.name()
        return _constraint_state(cursor, name) if disables else _skip_states(cursor, "constraint")
    if cursor.take("LOGICAL", "REPLICATION"):
        if not cursor.take("ALL", "KEYS"):
            cursor.take("ALLOW", "NOVALIDATE", "KEYS")
        return NoChange("logical replication")
    for words in (("TABLE", "LOCK"), ("ALL", "TRIGGERS"), ("ROW", "MOVEMENT"), ("CONTAINER_MAP",)):
        if cursor.take(*words):
            return NoChange(" ".join(words).lower())
    raise cursor.unknown()


def _constraint_state(cursor: Cursor, name: str) -> NoChange:
    """Read the rest of a clause that drops or changes the constraint `name`.

    Raise UnsupportedChange if the name may be that of the primary key. The statement shows only the name.
    """
    if name.startswith(_GENERATED_NAME) or "PK" in name.upper() or "PRIMARY" in name.upper():
        raise UnsupportedChange(
            f"the constraint {name!r} may be the primary key, and the statement shows only its name; if the key "
            "changes, write ADD or DROP PRIMARY KEY with `retable hold release --as`, else use `--skip`"
        )
    return _skip_states(cursor, "constraint")


def _read_key_state(cursor: Cursor) -> NoChange:
    cursor.expect("PRIMARY", "KEY")
    mark = cursor.mark
    cursor.skip_to("DISABLE", "ENABLE", *_ACTIONS)
    if cursor.word in ("DISABLE", "ENABLE"):
        raise UnsupportedChange(KEY_CHANGES)
    cursor.rewind(mark)
    return _skip_states(cursor, "primary key")


def _skip_states(cursor: Cursor, what: str) -> NoChange:
    """Step over the words for the new state of a constraint. Return a NoChange with the text `what`."""
    while cursor.take("CASCADE") or cursor.take("KEEP", "INDEX") or cursor.take("DROP", "INDEX") or read_state(cursor):
        pass
    return NoChange(what)


def _skip_move(cursor: Cursor) -> NoChange:
    """Step over an action that moves rows to another storage location. Refuse it if it also removes rows."""
    what = cursor.next().text.lower()
    _check_filter(cursor)
    cursor.skip_to()
    return NoChange(what)


def _skip_partitions(cursor: Cursor) -> NoChange:
    _check_filter(cursor)
    cursor.skip_to()
    return NoChange("partitions")


def _check_filter(cursor: Cursor) -> None:
    mark = cursor.mark
    cursor.skip_to("INCLUDING")
    while cursor.sees("INCLUDING"):
        if cursor.take("INCLUDING", "ROWS"):
            raise UnsupportedChange("INCLUDING ROWS removes rows, and the log has no event for each of them")
        cursor.next()
        cursor.skip_to("INCLUDING")
    cursor.rewind(mark)


def _skip_storage(cursor: Cursor) -> NoChange:
    """Step over words about the storage of the table, up to the next action."""
    what = cursor.next().text.lower()
    cursor.skip_to("ADD", "MODIFY", "RENAME", "DROP", "TRUNCATE", "EXCHANGE", "ENABLE", "DISABLE")
    return NoChange(what)


def _moves_rows(cursor: Cursor, names: Names) -> UnsupportedChange:
    """Return the error for an action that moves rows. For EXCHANGE, the table after WITH TABLE is held too."""
    what = f"{cursor.next().text} {cursor.word}".strip().upper()
    cursor.skip_to("WITH")
    if cursor.take("WITH", "TABLE"):
        names.read(cursor)
    reason = f"{what} removes or adds rows, and the log has no event for each of them"
    return UnsupportedChange(reason, moves_partitions=True)
