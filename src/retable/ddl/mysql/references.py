"""Read foreign keys of MySQL and MariaDB: the parent table, its columns, and the actions ON DELETE and ON UPDATE.

Up to MySQL 9.5, and in MariaDB, InnoDB itself deletes or changes the rows of a child table. The log has no event for
these rows.
"""

from dataclasses import replace

from retable.ddl.mysql.cursor import Cursor
from retable.model.event import TableName
from retable.model.schema_change import ForeignKey, OnReferenced

_ACTIONS: dict[tuple[str, ...], OnReferenced] = {
    ("RESTRICT",): "refuse",
    ("NO", "ACTION"): "refuse",
    ("CASCADE",): "cascade",
    ("SET", "NULL"): "set_null",
    # InnoDB does not support this action and refuses the table.
    ("SET", "DEFAULT"): "refuse",
}


def read_foreign_key(cursor: Cursor, name: str | None) -> ForeignKey:
    """Read a foreign key from the words FOREIGN KEY on.

    `name` is the name after CONSTRAINT, which was read before, or None without such a name.
    """
    cursor.expect("FOREIGN", "KEY")
    cursor.take("IF", "NOT", "EXISTS")
    if not cursor.sees("("):
        index = cursor.name()
        name = name or index
    return replace(read_reference(cursor, read_key_columns(cursor)), name=name)


def read_reference(cursor: Cursor, columns: tuple[str, ...]) -> ForeignKey:
    """Read a foreign key from the word REFERENCES on. `columns` are the columns in the child table that refer.

    If the statement does not name the database of the parent table, it is "" in the result. The caller then sets it
    with `of_database`.
    """
    cursor.expect("REFERENCES")
    parts = cursor.names()
    if len(parts) > 2:
        raise cursor.unknown()
    parent = TableName(parts[0] if len(parts) == 2 else "", None, parts[-1])
    key = ForeignKey(None, columns, parent, read_key_columns(cursor) if cursor.sees("(") else ())
    while True:
        if cursor.take("MATCH"):
            if not cursor.take_any({"FULL", "PARTIAL", "SIMPLE"}):
                raise cursor.unknown()
        elif cursor.take("ON", "DELETE"):
            key = replace(key, on_delete=_read_action(cursor))
        elif cursor.take("ON", "UPDATE"):
            key = replace(key, on_update=_read_action(cursor))
        else:
            return key


def of_database(key: ForeignKey, database: str) -> ForeignKey:
    """Return the foreign key, with `database` as the database of its parent table if the statement names none."""
    return key if key.parent.database else replace(key, parent=replace(key.parent, database=database))


def read_key_columns(cursor: Cursor) -> tuple[str, ...]:
    """Read `(a, b(10) DESC)` and return the columns, `a` and `b`.

    The prefix length 10 is ignored. If the first 10 characters of `b` are unique, the whole values are unique, too.
    """
    columns: list[str] = []
    cursor.expect("(")
    while True:
        columns.append(cursor.name())
        cursor.skip_group()
        cursor.take_any({"ASC", "DESC"})
        if not cursor.take(","):
            cursor.expect(")")
            return tuple(columns)


def _read_action(cursor: Cursor) -> OnReferenced:
    for words, action in _ACTIONS.items():
        if cursor.take(*words):
            return action
    raise cursor.unknown()
