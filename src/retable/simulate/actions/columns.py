"""Actions that change columns with ALTER TABLE. Each action makes the statement's text and its true result."""

from collections.abc import Sequence
from dataclasses import replace

from retable.simulate.actions.action import Action
from retable.simulate.actions.statements import AlterTable
from retable.simulate.chance import hits, pick
from retable.simulate.columns import Column, ColumnType
from retable.simulate.database import Table
from retable.simulate.designs import ADDED_NAMES, new_column
from retable.simulate.shop import Shop
from retable.simulate.sql import Pen

Layout = list[tuple[Column, str | None]]

_MOST_COLUMNS = 12
_STEP = {"tinyint": "int", "smallint": "int", "mediumint": "int", "int": "bigint"}


def _alter(shop: Shop, pen: Pen, name: str, layout: Sequence[tuple[Column, str | None]], *clauses: str) -> None:
    table = shop.tables[name]
    renamed = {source: column.name for column, source in layout if source is not None}
    keys = tuple(renamed[key] for key in table.keys)
    shop.execute(AlterTable(name, tuple(layout), keys), pen.alter(name, *clauses))


def _as_it_is(table: Table) -> Layout:
    return [(column, column.name) for column in table.columns]


def _free_names(shop: Shop, name: str) -> list[str]:
    table, reserved = shop.tables[name], shop.reserved.get(name, frozenset())
    return [other for other in ADDED_NAMES if table.column(other) is None and other.lower() not in reserved]


def _add_column(shop: Shop, name: str) -> bool:
    """ADD COLUMN at the end, FIRST, or AFTER another column. Sometimes one statement adds two columns."""
    free = _free_names(shop, name)
    if not free or len(shop.tables[name].columns) >= _MOST_COLUMNS:
        return False
    pen, layout, clauses = shop.pen(), _as_it_is(shop.tables[name]), []
    names = free[: 1 + hits(shop.chance, 0.2)]
    for column_name in names:
        column = new_column(shop.chance, column_name)
        at = shop.chance.randrange(0, len(layout) + 2)
        clauses.append(f"{pen.words('ADD COLUMN')} {pen.column(column)}{_put(pen, layout, column, None, at)}")
    _alter(shop, pen, name, layout, *clauses)
    return True


def _put(pen: Pen, layout: Layout, column: Column, source: str | None, at: int) -> str:
    """Insert a column into the layout: 0 is the end, 1 the front, else after another column. Return its clause."""
    if at == 0:
        layout.append((column, source))
        return ""
    layout.insert(at - 1, (column, source))
    return pen.place(None if at == 1 else layout[at - 2][0].name, first=at == 1)


def _loose_columns(table: Table) -> list[Column]:
    return [column for column in table.columns if column.name not in table.keys]


def _drop_column(shop: Shop, name: str) -> bool:
    loose = _loose_columns(shop.tables[name])
    if len(shop.tables[name].columns) < 3 or not loose:
        return False
    gone, pen = pick(shop.chance, loose), shop.pen()
    layout = [pair for pair in _as_it_is(shop.tables[name]) if pair[0] != gone]
    _alter(shop, pen, name, layout, f"{pen.words('DROP COLUMN')} {pen.name(gone.name)}")
    return True


def _drop_and_add_column(shop: Shop, name: str) -> bool:
    """Drop a column and add a column of the same name with a different type, by one statement or by two."""
    reserved = shop.reserved.get(name, frozenset())
    loose = [column for column in _loose_columns(shop.tables[name]) if column.name.lower() not in reserved]
    if len(shop.tables[name].columns) < 3 or not loose:
        return False
    gone, pen = pick(shop.chance, loose), shop.pen()
    fresh = new_column(shop.chance, gone.name)
    if fresh.type.base == gone.type.base:
        fresh = Column(gone.name, ColumnType("decimal", (9, 3)))
    drop, add = f"{pen.words('DROP COLUMN')} {pen.name(gone.name)}", f"{pen.words('ADD COLUMN')} {pen.column(fresh)}"
    without = [pair for pair in _as_it_is(shop.tables[name]) if pair[0] != gone]
    if hits(shop.chance, 0.3):
        _alter(shop, pen, name, [*without, (fresh, None)], drop, add)
    else:
        _alter(shop, pen, name, without, drop)
        _alter(shop, pen, name, [*_as_it_is(shop.tables[name]), (fresh, None)], add)
    return True


def _rename_column(shop: Shop, name: str) -> bool:
    """RENAME COLUMN, or CHANGE with the whole definition, also of a key column. Sometimes only the case changes."""
    old, pen = pick(shop.chance, shop.tables[name].columns), shop.pen()
    free = [other for other in (*_free_names(shop, name), old.name.swapcase()) if other != old.name]
    if not free:
        return False
    new = replace(old, name=pick(shop.chance, free))
    layout = [(new, source) if column == old else (column, source) for column, source in _as_it_is(shop.tables[name])]
    rename = f"{pen.words('RENAME COLUMN')} {pen.name(old.name)} {pen.words('TO')} {pen.name(new.name)}"
    change = f"{pen.words('CHANGE')} {pen.name(old.name)} {pen.column(new)}"
    _alter(shop, pen, name, layout, pick(shop.chance, (rename, change)))
    return True


def _swap_columns(shop: Shop, name: str) -> bool:
    """Two columns exchange names in one statement: CHANGE a b …, CHANGE b a …"""
    reserved = shop.reserved.get(name, frozenset())
    columns = [column for column in shop.tables[name].columns if column.name.lower() not in reserved]
    if len(columns) < 2:
        return False
    at = shop.chance.randrange(0, len(columns) - 1)
    first, second = columns[at], columns[at + 1]
    swapped = {first.name: replace(first, name=second.name), second.name: replace(second, name=first.name)}
    layout: Layout = [(swapped.get(c.name, c), c.name) for c in shop.tables[name].columns]
    pen = shop.pen()
    clauses = [f"{pen.words('CHANGE COLUMN')} {pen.name(old)} {pen.column(new)}" for old, new in swapped.items()]
    _alter(shop, pen, name, layout, *clauses)
    return True


def _move_column(shop: Shop, name: str) -> bool:
    """MODIFY with a position: only the order of columns changes."""
    table = shop.tables[name]
    if len(table.columns) < 2:
        return False
    column, pen = pick(shop.chance, table.columns), shop.pen()
    layout = [pair for pair in _as_it_is(table) if pair[0] != column]
    ending = _put(pen, layout, column, column.name, shop.chance.randrange(1, len(layout) + 2))
    _alter(shop, pen, name, layout, f"{pen.words('MODIFY')} {pen.column(column)}{ending}")
    return True


def _widen_column(shop: Shop, name: str) -> bool:
    """MODIFY a column, also a key column, to a wider type of the same family."""
    wider = [(column, kind) for column in shop.tables[name].columns if (kind := widened(column.type)) is not None]
    if not wider:
        return False
    column, kind = pick(shop.chance, wider)
    modify(shop, name, column, replace(column, type=kind), holds=False)
    return True


def _rewrite_column(shop: Shop, name: str) -> bool:
    """MODIFY a column outside the key to a type of another family that keeps every value."""
    reserved = {*shop.reserved.get(name, frozenset()), *(key.lower() for key in shop.tables[name].keys)}
    open_columns = [column for column in shop.tables[name].columns if column.name.lower() not in reserved]
    others = [(column, kind) for column in open_columns if (kind := _rewritten(column.type)) is not None]
    if not others:
        return False
    column, kind = pick(shop.chance, others)
    modify(shop, name, column, Column(column.name, kind, column.nullable), holds=False)
    return True


def _rewritten(kind: ColumnType) -> ColumnType | None:
    """Return a type that keeps every value, but to which Iceberg cannot promote this type. None if there is none."""
    match kind.base:
        case "decimal" if kind.arguments[0] < 34:
            return ColumnType("decimal", (kind.arguments[0] + 4, kind.scale + 2))
        case "date":
            return ColumnType("datetime", (3,))
        case _ if kind.is_whole:
            return ColumnType("varchar", (24,))
    return None


def modify(shop: Shop, name: str, old: Column, new: Column, holds: bool) -> None:
    """Change the column `old` of a table to `new` by MODIFY COLUMN.

    `holds` says whether Retable is documented to hold the table at this statement.
    """
    pen, table = shop.pen(), shop.tables[name]
    layout = tuple((new, old.name) if column == old else (column, column.name) for column in table.columns)
    text = pen.alter(name, f"{pen.words('MODIFY COLUMN')} {pen.column(new)}")
    shop.execute(AlterTable(name, layout, table.keys, holds), text)


def widened(kind: ColumnType) -> ColumnType | None:
    """Return the next wider type to which Iceberg can promote this type without loss.

    Return None if there is no such type.
    """
    match kind.base:
        case base if base in _STEP and not (kind.unsigned and _STEP[base] == "bigint"):
            return replace(kind, base=_STEP[base], arguments=())
        case "decimal" if kind.arguments[0] < 34:
            return replace(kind, arguments=(kind.arguments[0] + 2, kind.scale))
        case "varchar" if kind.arguments[0] < 200:
            return replace(kind, arguments=(kind.arguments[0] * 2,))
        case "varbinary" if kind.arguments[0] < 200:
            return replace(kind, arguments=(kind.arguments[0] * 2,))
        case "enum" if len(kind.labels) < 6:
            return replace(kind, labels=(*kind.labels, f"label {len(kind.labels)}"))
        case "datetime" | "timestamp" if kind.scale < 6:
            return replace(kind, arguments=(6,))
    return None


def _relax(shop: Shop, name: str) -> bool:
    """MODIFY a NOT NULL column so that it takes NULL."""
    table = shop.tables[name]
    strict = [column for column in _loose_columns(table) if not column.nullable]
    if not strict:
        return False
    column = pick(shop.chance, strict)
    modify(shop, name, column, replace(column, nullable=True), holds=False)
    return True


COLUMN_ACTIONS: dict[str, Action] = {
    "add_column": Action(_add_column, weight=4),
    "drop_column": Action(_drop_column),
    "drop_and_add_column": Action(_drop_and_add_column),
    "rename_column": Action(_rename_column, weight=2),
    "swap_columns": Action(_swap_columns),
    "move_column": Action(_move_column),
    "widen_column": Action(_widen_column, weight=2),
    "rewrite_column": Action(_rewrite_column),
    "relax": Action(_relax),
}
