"""Read the DDL in the redo log of Oracle. DataWorks, DTS and Debezium send it.

This package reads the tokens of sqlglot and does not use sqlglot's parser. The parser keeps `MODIFY (…)`, SET UNUSED
and most of ALTER TABLE as plain text, and loses the spelling of types. For a DROP the log contains two statements: a
RENAME of the table into the recycle bin, to a name that begins with BIN$, and then a DROP. Grammar: the SQL Language
Reference, 12c to 23ai.
"""

from retable.ddl.oracle.alter import read_alter_table
from retable.ddl.oracle.comments import readings
from retable.ddl.oracle.constraints import take_cascade
from retable.ddl.oracle.create import read_create_table
from retable.ddl.oracle.cursor import Cursor
from retable.ddl.oracle.names import Names, is_recycled
from retable.ddl.statement import Grammar
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema_change import DropTable, NoChange, RenameTable, SchemaChange, TruncateTable

_PROGRAMS = frozenset({"TRIGGER", "PROCEDURE", "FUNCTION", "PACKAGE", "TYPE", "JAVA", "LIBRARY", "MLE"})
_OBJECTS = _PROGRAMS | frozenset(
    {"INDEX", "INDEXTYPE", "VIEW", "SEQUENCE", "SYNONYM", "USER", "ROLE", "PROFILE", "DIRECTORY", "DATABASE"}
    | {"TABLESPACE", "CLUSTER", "DIMENSION", "OPERATOR", "CONTEXT", "OUTLINE", "EDITION", "RESOURCE", "ROLLBACK"}
    | {"SYSTEM", "SESSION", "MATERIALIZED", "SNAPSHOT", "PLUGGABLE", "DISKGROUP", "LOCKDOWN", "AUDIT", "PFILE"}
    | {"SPFILE", "CONTROLFILE", "FLASHBACK", "HIERARCHY", "ATTRIBUTE", "ANALYTIC", "INMEMORY", "ZONEMAP", "RESTORE"}
    | {"DOMAIN", "PROPERTY", "LOGICAL", "TRUE", "KEYSTORE"}
)
_OBJECT_PREFIXES = frozenset(
    {"UNIQUE", "BITMAP", "MULTIVALUE", "VECTOR", "SEARCH", "FORCE", "NO", "EDITIONABLE", "NONEDITIONABLE", "EDITIONING"}
    | {"PUBLIC", "PRIVATE", "SHARED", "BIGFILE", "SMALLFILE", "UNDO", "TEMPORARY", "LOCAL", "AND", "RESOLVE", "COMPILE"}
    | {"USECASE", "HYBRID", "SPARSE"}
)
_SESSION_WORDS = frozenset(
    {"GRANT", "REVOKE", "COMMENT", "ANALYZE", "AUDIT", "NOAUDIT", "ASSOCIATE", "DISASSOCIATE", "PURGE", "SET", "LOCK"}
    | {"EXPLAIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "ADMINISTER"}
)
_TABLE_KINDS = ("SHARDED", "DUPLICATED", "IMMUTABLE", "BLOCKCHAIN", "JSON", "COLLECTION")
_TABLES_INSIDE = frozenset({"USER", "TABLESPACE", "CLUSTER", "DATABASE", "PLUGGABLE"})


def _read_statement(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    match cursor.word:
        case "CREATE":
            return _read_create(cursor, names)
        case "ALTER":
            cursor.next()
            return read_alter_table(cursor, names) if cursor.take("TABLE") else _skip_object(cursor, "ALTER")
        case "DROP":
            return _read_drop(cursor, names)
        case "RENAME":
            return _read_rename(cursor, names)
        case "TRUNCATE":
            return _read_truncate(cursor, names)
        case "FLASHBACK":
            return _read_flashback(cursor, names)
        case word if word in _SESSION_WORDS:
            cursor.skip_to()
            return (NoChange(word),)
    raise cursor.unknown()


def _read_create(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("CREATE")
    cursor.take("OR", "REPLACE")
    if cursor.sees("GLOBAL", "TEMPORARY") or cursor.sees("PRIVATE", "TEMPORARY"):
        cursor.skip_to()
        return (NoChange("CREATE TEMPORARY"),)
    mark = cursor.mark
    while cursor.take_any(_TABLE_KINDS):
        pass
    if cursor.take("TABLE"):
        return read_create_table(cursor, names)
    cursor.rewind(mark)
    return _skip_object(cursor, "CREATE")


def _read_drop(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("DROP")
    if cursor.take("TABLE"):
        return _read_drop_table(cursor, names)
    kind = cursor.word
    if kind in _TABLES_INSIDE:
        cursor.skip_to("CASCADE", "INCLUDING")
        if kind in ("DATABASE", "PLUGGABLE") or cursor.word in ("CASCADE", "INCLUDING"):
            raise UnsupportedChange(
                f"DROP {kind} drops tables that the statement does not name; if it drops this table, write DROP TABLE "
                "with `retable hold release --as`, else use `--skip`"
            )
        return (NoChange(f"DROP {kind}"),)
    return _skip_object(cursor, "DROP")


def _read_drop_table(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    if_exists = cursor.take("IF", "EXISTS")
    table = names.read(cursor)
    take_cascade(cursor)
    cursor.take("PURGE")
    if cursor.take("AS"):
        cursor.name()
    return (NoChange("recycle bin"),) if is_recycled(table.table) else (DropTable(table, if_exists),)


def _read_rename(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read `RENAME a TO b`. Both names are in the schema of the user. `a` may also be a view or a sequence."""
    cursor.expect("RENAME")
    table = names.read(cursor)
    cursor.expect("TO")
    return (RenameTable(table, TableName(table.database, table.schema, cursor.name())),)


def _read_truncate(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("TRUNCATE")
    if cursor.sees("CLUSTER"):
        raise UnsupportedChange(
            "TRUNCATE CLUSTER empties tables that the statement does not name; if it empties this table, write "
            "TRUNCATE TABLE with `retable hold release --as`, else use `--skip`"
        )
    cursor.expect("TABLE")
    table = names.read(cursor)
    cursor.begin_clause()
    if cursor.take("PRESERVE") or cursor.take("PURGE"):
        cursor.take_any({"MATERIALIZED", "SNAPSHOT"})
        cursor.expect(*(("VIEW", "LOG") if cursor.sees("VIEW") else ("LOG",) if cursor.sees("LOG") else ()))
    if cursor.take("REUSE") or cursor.take("DROP", "ALL") or cursor.take("DROP"):
        cursor.expect("STORAGE")
    if cursor.sees("CASCADE"):
        raise UnsupportedChange(
            "TRUNCATE … CASCADE also empties tables that the statement does not name; to empty only this table in "
            "gold, write TRUNCATE TABLE with `retable hold release --as`"
        )
    return (TruncateTable(table),)


def _read_flashback(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Refuse FLASHBACK TABLE. It restores old rows or a whole table, and the log has no event for each row.

    All tables that it names are held.
    """
    cursor.expect("FLASHBACK")
    if not cursor.take("TABLE"):
        raise cursor.unknown()
    names.read(cursor)
    while cursor.take(","):
        names.read(cursor)
    raise UnsupportedChange("FLASHBACK TABLE removes or adds rows, and the log has no event for each of them")


def _skip_object(cursor: Cursor, verb: str) -> tuple[SchemaChange, ...]:
    """Step over a statement for an object that is not a table. The body of a program may contain semicolons."""
    while cursor.take_any(_OBJECT_PREFIXES):
        pass
    kind = cursor.word
    if kind not in _OBJECTS:
        raise cursor.unknown()
    if kind in _PROGRAMS and verb == "CREATE":
        cursor.skip_all()
    cursor.skip_to()
    return (NoChange(f"{verb} {kind}"),)


GRAMMAR = Grammar(readings, Cursor, Names, _read_statement)
