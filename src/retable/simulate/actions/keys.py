"""Actions that change the primary key of a table. The rows stay, but are identified by other columns."""

from itertools import permutations

from retable.simulate.actions.action import Action
from retable.simulate.actions.statements import AlterTable
from retable.simulate.chance import pick
from retable.simulate.columns import Column
from retable.simulate.database import Table
from retable.simulate.shop import Shop

_MOST_COLUMNS = 2


def _drop_primary_key(shop: Shop, name: str) -> None:
    _alter(shop, name, (), shop.pen().words("DROP PRIMARY KEY"))


def _change_primary_key(shop: Shop, name: str) -> bool:
    """ADD PRIMARY KEY over columns that are unique in the present rows. An existing key is dropped with it."""
    table, pen = shop.tables[name], shop.pen()
    others = [keys for keys in _possible_keys(table) if keys != table.keys]
    if not others:
        return False
    keys = pick(shop.chance, others)
    adds = f"{pen.words('ADD PRIMARY KEY')} ({', '.join(map(pen.name, keys))})"
    _alter(shop, name, keys, f"{pen.words('DROP PRIMARY KEY')}, {adds}" if table.keys else adds)
    return True


def _possible_keys(table: Table) -> list[tuple[str, ...]]:
    names = [column.name for column in table.columns if _can_be_key(column)]
    return [
        keys
        for width in range(1, _MOST_COLUMNS + 1)
        for keys in permutations(names, width)
        if len({Table(table.columns, keys).key_of(row, None) for row in table.rows.values()}) == len(table.rows)
    ]


def _can_be_key(column: Column) -> bool:
    return not column.nullable and (column.type.is_whole or column.type.base in ("decimal", "varchar"))


def _alter(shop: Shop, name: str, keys: tuple[str, ...], action: str) -> None:
    layout = tuple((column, column.name) for column in shop.tables[name].columns)
    shop.execute(AlterTable(name, layout, keys), shop.pen().alter(name, action))


KEY_ACTIONS: dict[str, Action] = {
    "drop_primary_key": Action(_drop_primary_key, lambda table: bool(table.keys)),
    "change_primary_key": Action(_change_primary_key),
}
