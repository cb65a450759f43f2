"""Read the DDL of SQL Server that DataWorks and DTS send.

Debezium's connector sends no statements, only the table as it is after a statement. This package reads the tokens of
sqlglot and does not use sqlglot's parser. The parser does not understand sp_rename and most of ALTER TABLE, and
loses the spelling of types. Grammar: the Transact-SQL reference.
"""

from retable.ddl.sqlserver.alter import read_alter_table
from retable.ddl.sqlserver.comments import readings
from retable.ddl.sqlserver.create import read_create_table
from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.names import Names, is_temporary
from retable.ddl.sqlserver.renames import read_execute, read_transfer
from retable.ddl.statement import Grammar
from retable.errors import UnsupportedChange
from retable.model.schema_change import DropDatabase, DropTable, NoChange, SchemaChange, TruncateTable

_PROGRAMS = frozenset({"TRIGGER", "PROCEDURE", "PROC", "FUNCTION", "VIEW"})
_OBJECTS = _PROGRAMS | frozenset(
    {"INDEX", "SCHEMA", "DATABASE", "USER", "LOGIN", "ROLE", "TYPE", "SEQUENCE", "SYNONYM", "STATISTICS", "DEFAULT"}
    | {"RULE", "PARTITION", "FULLTEXT", "ASSEMBLY", "CERTIFICATE", "CREDENTIAL", "MASTER", "ASYMMETRIC", "SYMMETRIC"}
    | {"APPLICATION", "SERVER", "EVENT", "QUEUE", "SERVICE", "CONTRACT", "MESSAGE", "ROUTE", "REMOTE", "BROKER"}
    | {"ENDPOINT", "RESOURCE", "WORKLOAD", "AVAILABILITY", "SECURITY", "XML", "SELECTIVE", "SPATIAL", "COLUMN"}
    | {"COLUMNSTORE", "EXTERNAL", "SEARCH", "AGGREGATE", "AUTHORIZATION", "CRYPTOGRAPHIC", "SIGNATURE"}
)
_OBJECT_PREFIXES = frozenset({"UNIQUE", "CLUSTERED", "NONCLUSTERED", "PRIMARY", "VECTOR", "JSON"})
_SESSION_WORDS = frozenset(
    {"GRANT", "REVOKE", "DENY", "SET", "USE", "PRINT", "CHECKPOINT", "BACKUP", "DBCC", "COMMIT", "SAVE", "WAITFOR"}
)


def _read_statement(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    match cursor.word:
        case "CREATE":
            cursor.next()
            cursor.take("OR", "ALTER")
            return read_create_table(cursor, names) if cursor.take("TABLE") else _skip_object(cursor, "CREATE")
        case "ALTER":
            return _read_alter(cursor, names)
        case "DROP":
            return _read_drop(cursor, names)
        case "TRUNCATE":
            return _read_truncate(cursor, names)
        case "EXEC" | "EXECUTE" | "SP_RENAME":
            cursor.take_any({"EXEC", "EXECUTE"})
            return read_execute(cursor, names)
        case "ENABLE" | "DISABLE" | "UPDATE" if cursor.sees(cursor.word, "TRIGGER") or cursor.sees(
            "UPDATE", "STATISTICS"
        ):
            cursor.skip_rest()
            return (NoChange("triggers or statistics"),)
        case word if word in _SESSION_WORDS:
            cursor.skip_rest()
            return (NoChange(word),)
    raise cursor.unknown()


def _read_alter(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("ALTER")
    if cursor.take("TABLE"):
        return read_alter_table(cursor, names)
    if cursor.take("SCHEMA"):
        return read_transfer(cursor, names)
    return _skip_object(cursor, "ALTER")


def _read_drop(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("DROP")
    if cursor.take("TABLE"):
        if_exists = cursor.take("IF", "EXISTS")
        tables = [names.read(cursor)]
        while cursor.take(","):
            tables.append(names.read(cursor))
        kept = [DropTable(table, if_exists) for table in tables if not is_temporary(table)]
        return tuple(kept) or (NoChange("temporary table"),)
    if cursor.take("DATABASE"):
        return _read_drop_database(cursor)
    return _skip_object(cursor, "DROP")


def _read_drop_database(cursor: Cursor) -> tuple[SchemaChange, ...]:
    if cursor.word in ("AUDIT", "SCOPED", "ENCRYPTION"):
        cursor.skip_rest()
        return (NoChange("DROP DATABASE …"),)
    cursor.take("IF", "EXISTS")
    found = [DropDatabase(cursor.name())]
    while cursor.take(","):
        found.append(DropDatabase(cursor.name()))
    return tuple(found)


def _read_truncate(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("TRUNCATE", "TABLE")
    table = names.read(cursor)
    if cursor.sees("WITH"):
        reason = "TRUNCATE TABLE … WITH (PARTITIONS …) removes rows, and the log has no event for each of them"
        raise UnsupportedChange(reason, moves_partitions=True)
    return (NoChange("temporary table"),) if is_temporary(table) else (TruncateTable(table),)


def _skip_object(cursor: Cursor, verb: str) -> tuple[SchemaChange, ...]:
    """Step over a statement for an object that is not a table. The body of a program may contain semicolons."""
    while cursor.take_any(_OBJECT_PREFIXES):
        pass
    kind = cursor.word
    if kind not in _OBJECTS:
        raise cursor.unknown()
    if kind in _PROGRAMS and verb != "DROP":
        cursor.skip_all()
    cursor.skip_rest()
    return (NoChange(f"{verb} {kind}"),)


GRAMMAR = Grammar(readings, Cursor, Names, _read_statement)
