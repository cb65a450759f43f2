"""Read ALTER TABLE of MySQL. Retable applies no action of a statement if it does not understand all of them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from retable.ddl.mysql.columns import ColumnDefinition, read_charset, read_column, read_place
from retable.ddl.mysql.cursor import Cursor
from retable.ddl.mysql.elements import read_elements, read_key, skip_enforcement, skip_index_visibility
from retable.ddl.mysql.names import Names, skip_wait
from retable.ddl.mysql.references import of_database
from retable.ddl.order import in_order
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    ColumnPosition,
    DropColumn,
    DropForeignKey,
    ForeignKey,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
)

_PARTITION_WORDS = frozenset(
    {"PARTITION", "REMOVE", "COALESCE", "REORGANIZE", "ANALYZE", "CHECK", "OPTIMIZE", "REBUILD", "REPAIR"}
)
_OPTIONS_WITHOUT_SIGN = frozenset(
    {"ENGINE", "TYPE", "COMMENT", "AUTO_INCREMENT", "ROW_FORMAT", "COLLATE", "ALGORITHM", "LOCK", "KEY_BLOCK_SIZE"}
    | {"AVG_ROW_LENGTH", "CHECKSUM", "MAX_ROWS", "MIN_ROWS", "PACK_KEYS", "DELAY_KEY_WRITE", "COMPRESSION"}
    | {"ENCRYPTION", "CONNECTION", "INSERT_METHOD", "PASSWORD", "UNION", "SECONDARY_ENGINE", "ENGINE_ATTRIBUTE"}
    | {"SECONDARY_ENGINE_ATTRIBUTE", "STATS_AUTO_RECALC", "STATS_PERSISTENT", "STATS_SAMPLE_PAGES", "TABLESPACE"}
    | {"STORAGE", "TABLE_CHECKSUM", "PAGE_CHECKSUM", "TRANSACTIONAL"}
)


@dataclass(frozen=True, slots=True)
class _Default(NoChange):
    column: str


def read_alter_table(cursor: Cursor, names: Names, ignoring: bool) -> tuple[SchemaChange, ...]:
    """Read the text after ALTER TABLE. `ignoring` is True after ALTER IGNORE: a new unique index then deletes rows."""
    cursor.take("IF", "EXISTS")
    table = names.read(cursor)
    skip_wait(cursor)
    changes: list[SchemaChange] = []
    more = not _at_end(cursor)
    while more:
        cursor.begin_clause()
        changes += _read_action(cursor, table, names)
        more = cursor.take(",") or _at_partitioning(cursor)
    added = {change.column.name.lower() for change in changes if isinstance(change, AddColumn)}
    if any(isinstance(change, _Default) and change.column.lower() in added for change in changes):
        raise UnsupportedChange("the default of an added column is in another clause; write it in ADD with `--as`")
    if ignoring and NoChange("unique index") in changes:
        raise UnsupportedChange("ALTER IGNORE with a unique index removes rows, and the log has no event for them")
    _check_conditions(changes)
    keys = {name.lower() for change in changes if isinstance(change, SetKey) for name in change.keys}
    return in_order([_without_nulls(change, keys) for change in changes])


def _check_conditions(changes: Sequence[SchemaChange]) -> None:
    """Raise UnsupportedChange if the effect of IF NOT EXISTS depends on another clause of the statement."""
    added = Counter(change.column.name.lower() for change in changes if isinstance(change, AddColumn))
    if twice := next((name for name, times in added.items() if times > 1), None):
        raise UnsupportedChange(f"column {twice!r} is added twice; write only the ADD that took effect with `--as`")
    asks = any(isinstance(change, SetKey) and change.if_not_exists for change in changes)
    if asks and any(isinstance(change, DropColumn) for change in changes):
        raise UnsupportedChange("the new key is not known: DROP may remove the old key, and ADD has IF NOT EXISTS")


def _without_nulls(change: SchemaChange, keys: Collection[str]) -> SchemaChange:
    """Make an added column NOT NULL if it is in the key. Old rows then show the default of its type."""
    if not isinstance(change, AddColumn) or change.column.name.lower() not in keys:
        return change
    return replace(change, column=replace(change.column, not_null=True))


def _at_end(cursor: Cursor) -> bool:
    return cursor.ended or cursor.sees(";")


def _at_partitioning(cursor: Cursor) -> bool:
    """Return whether a clause about partitions comes next. It comes after the last action, without a comma."""
    return cursor.sees("PARTITION", "BY") or cursor.sees("REMOVE", "PARTITIONING")


def _read_action(cursor: Cursor, table: TableName, names: Names) -> list[SchemaChange]:
    match cursor.word:
        case "ADD":
            return _read_add(cursor, table)
        case "DROP":
            return _read_drop(cursor, table, names)
        case "CHANGE" | "MODIFY":
            return _read_change(cursor, table)
        case "RENAME":
            return [_read_rename(cursor, table, names)]
        case "ALTER":
            return [_read_alter(cursor)]
        case "TRUNCATE" | "EXCHANGE" | "DISCARD" | "IMPORT":
            raise _moves_rows(cursor, names)
        case "CONVERT":
            return [_read_convert(cursor, names)]
        case word if word in _PARTITION_WORDS:
            return [_skip_partitions(cursor)]
        case "ENABLE" | "DISABLE":
            cursor.next()
            cursor.expect("KEYS")
            return [NoChange("keys")]
        case "FORCE" | "SECONDARY_LOAD" | "SECONDARY_UNLOAD":
            return [NoChange(cursor.next().text.lower())]
        case "WITH" | "WITHOUT":
            cursor.next()
            cursor.expect("VALIDATION")
            return [NoChange("validation")]
        case "ORDER":
            return [_skip_order(cursor)]
    return _read_options(cursor)


def _read_add(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    cursor.expect("ADD")
    if cursor.sees("PARTITION"):
        return [_skip_partitions(cursor)]
    if cursor.sees("SYSTEM", "VERSIONING"):
        raise UnsupportedChange("ADD SYSTEM VERSIONING: the table keeps rows that the log shows as deleted")
    if key := read_key(cursor):
        if key.reference is not None:
            return [_referring(table, key.reference)]
        return [SetKey(table, key.columns) if key.columns else NoChange(key.what)]
    cursor.take("COLUMN")
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    if cursor.sees("("):
        elements = read_elements(cursor)
        keys = [SetKey(table, elements.primary)] if elements.primary else []
        keys += [SetKey(table, (column.name,)) for column in elements.columns if column.primary]
        references = [_referring(table, key) for key in elements.references]
        return [
            *(_added(table, column, ColumnPosition(), if_not_exists) for column in elements.columns),
            *keys,
            *references,
        ]
    column = read_column(cursor, cursor.name())
    return [
        _added(table, column, read_place(cursor) or ColumnPosition(), if_not_exists),
        *_keys_of(table, column, if_not_exists),
    ]


def _keys_of(table: TableName, column: ColumnDefinition, if_not_exists: bool = False) -> list[SchemaChange]:
    """Return the keys in the definition of a column. With IF NOT EXISTS, MariaDB adds no second primary key."""
    references = [_referring(table, column.reference)] if column.reference else []
    return [*([SetKey(table, (column.name,), if_not_exists)] if column.primary else []), *references]


def _referring(table: TableName, key: ForeignKey) -> AddForeignKey:
    return AddForeignKey("foreign key", table, of_database(key, table.database))


def _added(table: TableName, column: ColumnDefinition, place: ColumnPosition, if_not_exists: bool) -> AddColumn:
    if column.numbered:
        raise UnsupportedChange(
            f"the source fills column {column.name!r} of old rows with numbers, and the log has no event with these "
            "numbers; `retable hold release --as` can add a column without numbering, which is null in old rows"
        )
    if column.has_default and not column.tells_default:
        raise UnsupportedChange(f"the default of column {column.name!r} is bytes that Retable cannot write as text")
    return AddColumn(table, _changed_spec(column), place, if_not_exists)


def _changed_spec(column: ColumnDefinition) -> ColumnSpec:
    if column.generated:
        raise UnsupportedChange(
            f"the source computes column {column.name!r} in old rows, and the log has no event with the values; "
            "`retable hold release --as` can declare a plain column, which does not get these values"
        )
    return column.spec()


def _read_drop(cursor: Cursor, table: TableName, names: Names) -> list[SchemaChange]:
    if cursor.sees("DROP", "PARTITION"):
        raise _moves_rows(cursor, names)
    cursor.expect("DROP")
    if cursor.sees("SYSTEM", "VERSIONING") or cursor.sees("PERIOD", "FOR"):
        raise cursor.unknown()
    if cursor.take("PRIMARY", "KEY"):
        return [SetKey(table, ())]
    if cursor.word in ("INDEX", "KEY", "CONSTRAINT", "CHECK", "FOREIGN"):
        return [_read_drop_key(cursor, table)]
    cursor.take("COLUMN")
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.name()
    cursor.take_any({"RESTRICT", "CASCADE"})
    return [DropColumn(table, name, if_exists, leaves_key=True)]


def _read_drop_key(cursor: Cursor, table: TableName) -> SetKey | NoChange:
    """Read `DROP INDEX x` and similar. The index PRIMARY is the primary key. MariaDB allows `t.fk` as a foreign key."""
    what = "foreign key" if cursor.take("FOREIGN") else cursor.word.lower()
    cursor.next()
    cursor.take("IF", "EXISTS")
    name = cursor.name()
    if what == "foreign key" and cursor.take("."):
        name = cursor.name(after_dot=True)
    if what != "foreign key" and name.upper() == "PRIMARY":
        return SetKey(table, ())
    if what in ("foreign key", "constraint"):
        return DropForeignKey(what, table, name)
    return NoChange("index" if what == "key" else what)


def _read_change(cursor: Cursor, table: TableName) -> list[SchemaChange]:
    renames = cursor.sees("CHANGE")
    cursor.next()
    cursor.take("COLUMN")
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.name()
    column = read_column(cursor, cursor.name() if renames else name)
    change = ChangeColumn(table, name, _changed_spec(column), read_place(cursor), if_exists)
    return [change, *_keys_of(table, column)]


def _read_rename(cursor: Cursor, table: TableName, names: Names) -> SchemaChange:
    cursor.expect("RENAME")
    if cursor.take("COLUMN"):
        if_exists = cursor.take("IF", "EXISTS")
        name = cursor.name()
        cursor.expect("TO")
        return ChangeColumn(table, name, ColumnSpec(cursor.name(), ""), None, if_exists)
    if cursor.take_any({"INDEX", "KEY"}):
        cursor.take("IF", "EXISTS")
        cursor.name()
        cursor.expect("TO")
        cursor.name()
        return NoChange("index")
    cursor.take_any({"TO", "AS", "="})
    return RenameTable(table, names.read(cursor, changes=False))


def _read_alter(cursor: Cursor) -> NoChange:
    """Read `ALTER [COLUMN] … SET DEFAULT`. It affects later rows only, and their messages contain the values."""
    cursor.expect("ALTER")
    if cursor.word in ("INDEX", "KEY", "CHECK", "CONSTRAINT"):
        what = cursor.next().text.lower()
        cursor.name()
        if not skip_index_visibility(cursor):
            skip_enforcement(cursor)
        return NoChange(what)
    cursor.take("COLUMN")
    cursor.take("IF", "EXISTS")
    name = cursor.name()
    if not (cursor.sees("SET") or cursor.sees("DROP", "DEFAULT")):
        raise cursor.unknown()
    cursor.next()
    if cursor.word not in ("DEFAULT", "VISIBLE", "INVISIBLE"):
        raise cursor.unknown()
    cursor.skip_to(",")
    return _Default("default", name)


def _read_convert(cursor: Cursor, names: Names) -> NoChange:
    if cursor.sees("CONVERT", "PARTITION") or cursor.sees("CONVERT", "TABLE"):
        raise _moves_rows(cursor, names)
    cursor.expect("CONVERT", "TO")
    charset = read_charset(cursor)
    if charset is None:
        raise cursor.unknown()
    if charset == "BINARY":
        raise UnsupportedChange("CONVERT TO CHARACTER SET binary makes all text columns bytes and names none of them")
    if cursor.take("COLLATE"):
        cursor.take("=")
        cursor.next()
    return NoChange("character set")


def _moves_rows(cursor: Cursor, names: Names) -> UnsupportedChange:
    """Return the error for an action that moves rows. A second table in it (EXCHANGE PARTITION) is held too."""
    what = f"{cursor.next().text} {cursor.word}".strip().upper()
    while not (_at_end(cursor) or cursor.take("TABLE")):
        cursor.next()
    if not _at_end(cursor):
        names.read(cursor)
    moves = what in ("DROP PARTITION", "TRUNCATE PARTITION", "EXCHANGE PARTITION")
    return UnsupportedChange(
        f"{what} removes or adds rows, and the log has no event for each of them", moves_partitions=moves
    )


def _skip_partitions(cursor: Cursor) -> NoChange:
    """Step to the end of the statement, because an action on partitions is always the last clause."""
    if not cursor.take("REMOVE", "PARTITIONING"):
        if not cursor.sees("PARTITION"):
            cursor.next()
        cursor.expect("PARTITION")
        cursor.skip_to()
    return NoChange("partitions")


def _skip_order(cursor: Cursor) -> NoChange:
    """Step over `ORDER BY a, b DESC`. Its commas do not separate actions."""
    cursor.expect("ORDER", "BY")
    while True:
        cursor.name()
        while cursor.take("."):
            cursor.name(after_dot=True)
        cursor.take_any({"ASC", "DESC"})
        comma = cursor.mark
        if not (cursor.take(",") and _at_order_column(cursor)):
            cursor.rewind(comma)
            return NoChange("order")


def _at_order_column(cursor: Cursor) -> bool:
    start = cursor.mark
    cursor.next()
    alone = _at_end(cursor) or cursor.word in (".", ",", "ASC", "DESC")
    cursor.rewind(start)
    return alone


def _read_options(cursor: Cursor) -> list[SchemaChange]:
    options: list[SchemaChange] = []
    while not (_at_end(cursor) or cursor.sees(",") or _at_partitioning(cursor)):
        cursor.take("DEFAULT")
        if read_charset(cursor) is None:
            options.append(NoChange(_read_option(cursor)))
        else:
            options.append(NoChange("character set"))
    if not options:
        raise cursor.unknown()
    return options


def _read_option(cursor: Cursor) -> str:
    directory = cursor.sees("DATA", "DIRECTORY") or cursor.sees("INDEX", "DIRECTORY")
    start = cursor.mark
    if directory:
        cursor.next()
    name = cursor.name()
    if not (cursor.take("=") or directory or name.upper() in _OPTIONS_WITHOUT_SIGN) or cursor.word in (",", ";", ")"):
        cursor.rewind(start)
        raise cursor.unknown()
    cursor.skip()
    return name.lower()
