"""Foreign keys of MySQL and MariaDB: the rows that they refer to, and what the engine does to them without an event.

Up to MySQL 9.5, and in MariaDB, InnoDB itself deletes or changes the rows of a child. Its log has no event for them.
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
    """Read from FOREIGN KEY on. `name` is the name of its constraint, if it has one."""
    cursor.expect("FOREIGN", "KEY")
    cursor.take("IF", "NOT", "EXISTS")
    if not cursor.sees("("):
        index = cursor.name()
        name = name or index
    return replace(read_reference(cursor, read_key_columns(cursor)), name=name)


def read_reference(cursor: Cursor, columns: tuple[str, ...]) -> ForeignKey:
    """Read from REFERENCES on. A parent without a database is in the child's database."""
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
    """Give the key with this database for its parent, if the parent has none."""
    return key if key.parent.database else replace(key, parent=replace(key.parent, database=database))


def read_key_columns(cursor: Cursor) -> tuple[str, ...]:
    """Read `(a, b(10) DESC)`. A unique prefix makes the whole value unique."""
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
