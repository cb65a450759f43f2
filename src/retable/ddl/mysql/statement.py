"""Read the DDL in the binlogs of MySQL and MariaDB. Canal, DTS and Debezium send it.

This package reads the tokens of sqlglot and does not use sqlglot's parser. The parser keeps RENAME TABLE, `ADD (…)`,
CONVERT TO and most partition clauses as plain text. It refuses SERIAL, INET6, `FULLTEXT KEY` in CREATE TABLE and DROP
PARTITION. It reads `DROP /*!40005 TEMPORARY */ TABLE` as the drop of a real table, and loses the spelling of types.
"""

from retable.ddl.mysql.alter import read_alter_table
from retable.ddl.mysql.comments import readings
from retable.ddl.mysql.create import read_create_table
from retable.ddl.mysql.cursor import Cursor
from retable.ddl.mysql.names import Names, skip_wait
from retable.ddl.statement import Grammar
from retable.errors import UnsupportedChange
from retable.model.schema_change import (
    DropDatabase,
    DropTable,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
    TruncateTable,
)

_PROGRAMS = frozenset({"TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE"})
_OBJECTS = _PROGRAMS | frozenset(
    {"DATABASE", "SCHEMA", "VIEW", "INDEX", "USER", "ROLE", "SERVER", "TABLESPACE", "LOGFILE", "RESOURCE"}
    | {"SEQUENCE", "INSTANCE", "REFERENCE", "PREPARE", "LIBRARY"}
)
_OBJECT_PREFIXES = frozenset(
    {"ALGORITHM", "DEFINER", "SQL", "AGGREGATE", "UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR", "UNDO", "ONLINE", "OFFLINE"}
)
_SESSION_WORDS = frozenset(
    {"GRANT", "REVOKE", "SET", "USE", "FLUSH", "OPTIMIZE", "CHECK", "REPAIR", "CHECKSUM", "LOCK", "UNLOCK", "BEGIN"}
    | {"START", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "XA", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "HELP"}
    | {"INSTALL", "UNINSTALL", "CACHE", "KILL", "RESET", "PURGE", "CHANGE", "STOP"}
)


def _read_statement(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    if cursor.take("SET", "STATEMENT"):
        cursor.skip_to("FOR")
        cursor.expect("FOR")
    match cursor.word:
        case "CREATE":
            return _read_create(cursor, names)
        case "ALTER":
            return _read_alter(cursor, names)
        case "DROP":
            return _read_drop(cursor, names)
        case "RENAME":
            return _read_rename(cursor, names)
        case "TRUNCATE":
            return _read_truncate(cursor, names)
        case "ANALYZE":
            return _read_analyze(cursor)
        case word if word in _SESSION_WORDS:
            cursor.skip_to()
            return (NoChange(word),)
    raise cursor.unknown()


def _read_create(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("CREATE")
    replacing = cursor.take("OR", "REPLACE")
    if cursor.sees("TEMPORARY"):
        return _skip_object(cursor, "CREATE")
    if cursor.take("TABLE"):
        return read_create_table(cursor, names, replacing)
    return _skip_object(cursor, "CREATE")


def _read_alter(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("ALTER")
    start = cursor.mark
    cursor.take_any({"ONLINE", "OFFLINE"})
    ignoring = cursor.take("IGNORE")
    if cursor.take("TABLE"):
        return read_alter_table(cursor, names, ignoring)
    cursor.rewind(start)
    return _skip_object(cursor, "ALTER")


def _read_drop(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("DROP")
    if cursor.take_any({"TABLE", "TABLES"}):
        return _read_drop_tables(cursor, names)
    if cursor.take_any({"DATABASE", "SCHEMA"}):
        cursor.take("IF", "EXISTS")
        return (DropDatabase(cursor.name()),)
    if cursor.sees("INDEX"):
        return _read_drop_index(cursor, names)
    return _skip_object(cursor, "DROP")


def _read_drop_tables(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    if_exists = cursor.take("IF", "EXISTS")
    tables = [names.read(cursor)]
    while cursor.take(","):
        tables.append(names.read(cursor))
    skip_wait(cursor)
    cursor.take_any({"RESTRICT", "CASCADE"})
    return tuple(DropTable(table, if_exists) for table in tables)


def _read_drop_index(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    """Read `DROP INDEX x ON t`. The index PRIMARY is the primary key."""
    cursor.expect("INDEX")
    cursor.take("IF", "EXISTS")
    index = cursor.name()
    cursor.expect("ON")
    table = names.read(cursor)
    if index.upper() == "PRIMARY":
        cursor.skip_to()
        return (SetKey(table, ()),)
    cursor.skip_to()
    return (NoChange("DROP INDEX"),)


def _read_rename(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("RENAME")
    if cursor.sees("USER"):
        return _skip_object(cursor, "RENAME")
    if not cursor.take_any({"TABLE", "TABLES"}):
        raise cursor.unknown()
    unsure = cursor.take("IF", "EXISTS")
    changes: list[SchemaChange] = []
    while not changes or cursor.take(","):
        table = names.read(cursor)
        skip_wait(cursor)
        cursor.expect("TO")
        changes.append(RenameTable(table, names.read(cursor)))
    if unsure:
        raise UnsupportedChange(
            "RENAME TABLE IF EXISTS does not show which tables existed; if this table existed, write RENAME TABLE "
            "without IF EXISTS with `retable hold release --as`, else use `--skip`"
        )
    return tuple(changes)


def _read_truncate(cursor: Cursor, names: Names) -> tuple[SchemaChange, ...]:
    cursor.expect("TRUNCATE")
    cursor.take("TABLE")
    table = names.read(cursor)
    skip_wait(cursor)
    return (TruncateTable(table),)


def _read_analyze(cursor: Cursor) -> tuple[SchemaChange, ...]:
    """Read `ANALYZE TABLE`. Refuse ANALYZE before another statement, which MariaDB then executes."""
    cursor.expect("ANALYZE")
    cursor.take_any({"LOCAL", "NO_WRITE_TO_BINLOG"})
    if not cursor.take_any({"TABLE", "TABLES"}):
        raise cursor.unknown()
    cursor.skip_to()
    return (NoChange("ANALYZE"),)


def _skip_object(cursor: Cursor, verb: str) -> tuple[SchemaChange, ...]:
    """Step over a statement for an object that is not a table. The body of a program may contain semicolons."""
    if cursor.take("TEMPORARY"):
        cursor.skip_to()
        return (NoChange(f"{verb} TEMPORARY"),)
    if cursor.word in _OBJECT_PREFIXES:
        cursor.skip_to(*_OBJECTS)
    kind = cursor.word
    if kind not in _OBJECTS:
        raise cursor.unknown()
    if kind in _PROGRAMS:
        cursor.skip_all()
    cursor.skip_to()
    return (NoChange(f"{verb} {kind}"),)


GRAMMAR = Grammar(readings, Cursor, Names, _read_statement)
