"""Actions with a statement at which Retable may hold the table, depending on its settings."""

from retable.simulate.actions.action import Action
from retable.simulate.actions.columns import modify
from retable.simulate.chance import pick
from retable.simulate.columns import Column, ColumnType
from retable.simulate.shop import Shop

_DIGITS_OF_A_BIGINT = 18


def _change_type(shop: Shop, name: str) -> bool:
    """MODIFY to a type that may lose data: a shorter text, or from a decimal to an integer, to which MySQL rounds."""
    reserved = shop.reserved.get(name, frozenset())
    open_columns = [column for column in shop.tables[name].columns if column.name.lower() not in reserved]
    others = [(column, kind) for column in open_columns if (kind := _other_type(column.type)) is not None]
    if not others:
        return False
    column, kind = pick(shop.chance, others)
    modify(shop, name, column, Column(column.name, kind, column.nullable), holds=True)
    return True


def _other_type(kind: ColumnType) -> ColumnType | None:
    match kind.base:
        case "varchar":
            return ColumnType("varchar", (kind.arguments[0] - 1,))
        case "decimal" if kind.arguments[0] - kind.scale <= _DIGITS_OF_A_BIGINT:
            return ColumnType("bigint")
    return None


HELD_ACTIONS: dict[str, Action] = {
    "change_type": Action(_change_type),
}
