"""Statements that Retable is documented to hold on, though the source goes on after them."""

from retable.simulate.action import Action
from retable.simulate.chance import pick
from retable.simulate.column_actions import modify
from retable.simulate.columns import Column, ColumnType
from retable.simulate.database import Table
from retable.simulate.shop import Shop
from retable.simulate.statements import AlterTable


def _has_key(table: Table) -> bool:
    return bool(table.keys)


def _change_type(shop: Shop, name: str) -> bool:
    """MODIFY to a type that may cut values, though these rows lose nothing by it."""
    reserved = shop.reserved.get(name, frozenset())
    open_columns = [column for column in shop.tables[name].columns if column.name.lower() not in reserved]
    others = [(column, kind) for column in open_columns if (kind := _other_type(column.type)) is not None]
    if not others:
        return False
    column, kind = pick(shop.chance, others)
    modify(shop, name, column, Column(column.name, kind, column.nullable), holds=True)
    return True


def _other_type(kind: ColumnType) -> ColumnType | None:
    return ColumnType("varchar", (kind.arguments[0] - 1,)) if kind.base == "varchar" else None


def _drop_primary_key(shop: Shop, name: str) -> None:
    table, pen = shop.tables[name], shop.pen()
    layout = tuple((column, column.name) for column in table.columns)
    shop.execute(AlterTable(name, layout, (), holds=True), pen.alter(name, pen.words("DROP PRIMARY KEY")))


HELD_ACTIONS: dict[str, Action] = {
    "change_type": Action(_change_type),
    "drop_primary_key": Action(_drop_primary_key, _has_key),
}
