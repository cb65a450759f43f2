"""Read the keys and constraints of a column or a table of SQL Server."""

from retable.ddl.sqlserver.cursor import Cursor

_KINDS = frozenset({"CLUSTERED", "NONCLUSTERED", "HASH", "COLUMNSTORE", "UNIQUE"})


def read_key(cursor: Cursor) -> tuple[str, ...]:
    """Read PRIMARY KEY or UNIQUE, its columns and the options of its index.

    Return the columns of the key. The result is empty if the text names none, as in the definition of a column.
    """
    if not cursor.take("PRIMARY", "KEY"):
        cursor.expect("UNIQUE")
    while cursor.take_any(_KINDS):
        pass
    columns = _read_columns(cursor) if cursor.sees("(") else ()
    skip_index_options(cursor)
    cursor.take("NOT", "ENFORCED")
    return columns


def skip_index_options(cursor: Cursor) -> None:
    """Step over the options of an index, such as WITH, INCLUDE, ON and WHERE."""
    while True:
        if cursor.take_any(_KINDS) or cursor.skip_group():
            continue
        if cursor.sees("WITH", "(") or cursor.sees("INCLUDE", "("):
            cursor.next()
        elif cursor.take("WITH", "FILLFACTOR"):
            cursor.expect("=")
            cursor.number()
        elif cursor.take("ON") or cursor.take("FILESTREAM_ON"):
            cursor.next()
            cursor.skip_group()
        elif cursor.take("WHERE"):
            while not (cursor.at_end_of_element or cursor.word in ("WITH", "ON")):
                cursor.skip()
        else:
            return


def skip_check(cursor: Cursor) -> None:
    cursor.expect("CHECK")
    cursor.take("NOT", "FOR", "REPLICATION")
    if not cursor.skip_group():
        raise cursor.unknown()


def skip_reference(cursor: Cursor) -> None:
    cursor.expect("REFERENCES")
    cursor.names()
    cursor.skip_group()
    while cursor.take("ON", "DELETE") or cursor.take("ON", "UPDATE") or cursor.take("NOT", "FOR", "REPLICATION"):
        if not (cursor.take("SET", "NULL") or cursor.take("SET", "DEFAULT") or cursor.take("NO", "ACTION")):
            cursor.take("CASCADE")


def read_constraint(cursor: Cursor) -> tuple[str, tuple[str, ...]]:
    """Read a constraint of the table. Return its kind in words, and its columns if it is a primary key, else none."""
    if cursor.take("CONSTRAINT"):
        cursor.name()
    match cursor.word:
        case "PRIMARY":
            return "primary key", read_key(cursor)
        case "UNIQUE":
            read_key(cursor)
            return "unique index", ()
        case "INDEX":
            cursor.next()
            cursor.name()
            skip_index_options(cursor)
            return "index", ()
        case "CHECK":
            skip_check(cursor)
            return "check", ()
        case "FOREIGN":
            cursor.expect("FOREIGN", "KEY")
            cursor.skip_group()
            skip_reference(cursor)
            return "foreign key", ()
        case "DEFAULT":
            return "default", _skip_default(cursor)
        case "CONNECTION":
            cursor.skip_to(",")
            return "connection", ()
    raise cursor.unknown()


def _skip_default(cursor: Cursor) -> tuple[str, ...]:
    """Step over `DEFAULT … FOR column`. It affects later rows only, and their messages contain the values."""
    cursor.next()
    while cursor.word != "FOR":
        if cursor.at_end_of_element:
            raise cursor.unknown()
        cursor.skip()
    cursor.expect("FOR")
    cursor.name()
    if cursor.take("WITH"):
        cursor.expect("VALUES")
    return ()


def _read_columns(cursor: Cursor) -> tuple[str, ...]:
    """Read `(a, b DESC)` and return the columns."""
    cursor.expect("(")
    columns: list[str] = []
    while not columns or cursor.take(","):
        columns.append(cursor.name())
        cursor.take_any({"ASC", "DESC"})
    cursor.expect(")")
    return tuple(columns)
