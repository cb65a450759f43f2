"""Order the actions of one ALTER TABLE so that they can be applied one by one.

MySQL applies all actions at once: it looks for changed and dropped columns in the table before the statement, and for
the column of `AFTER` in the table after the statement. The order is: drop the key (if the statement also drops columns,
because the key may contain them), drop columns, change columns that keep their position, add or move columns as
written, set the key, change foreign keys, rename the table. Statements of other databases fit this order.
"""

from collections.abc import Collection
from dataclasses import replace

from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    DropColumn,
    DropForeignKey,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
)

ColumnChange = AddColumn | ChangeColumn | DropColumn


def in_order(changes: list[SchemaChange]) -> tuple[SchemaChange, ...]:
    """Return the actions of one ALTER TABLE in the order in which Retable applies them.

    If no action changes the columns, the key or the name of the table, the result is one NoChange, which lists the
    actions, and after it the changes of foreign keys.

    ADD … IF NOT EXISTS does nothing if the table had the column, or a key, before the statement. If the same statement
    drops or changes this column, or drops the key, the table had it. Then the ADD is left out.
    """
    there = {change.name.lower() for change in changes if isinstance(change, ChangeColumn | DropColumn)}
    actions = [change for change in changes if isinstance(change, ColumnChange)]
    columns = sorted((change for change in actions if not _is_there(change, there)), key=_rank)
    renames = [change for change in changes if isinstance(change, RenameTable)]
    keys = [change for change in changes if isinstance(change, SetKey)]
    dropped = [change for change in changes if isinstance(change, DropForeignKey)]
    references = (*dropped, *(change for change in changes if isinstance(change, AddForeignKey)))
    if columns or keys or renames:
        gone = [key for key in keys if not key.keys][:1]
        new = [key for key in keys if key.keys and not (gone and key.if_not_exists)][-1:]
        added = {change.column.name.lower() for change in columns if isinstance(change, AddColumn)}
        columns = [_for_good(change, added) for change in columns]
        if any(isinstance(change, DropColumn) for change in columns):
            return (*gone, *_without_collisions(columns), *new, *references, *renames[-1:])
        return (*_without_collisions(columns), *(new or gone), *references, *renames[-1:])
    words = dict.fromkeys(change.what for change in changes if isinstance(change, NoChange))
    return (NoChange(f"ALTER TABLE: {', '.join(words) or 'no action'}"), *references)


def _for_good(change: ColumnChange, added: Collection[str]) -> ColumnChange:
    """Mark a drop or rename of a column if the same statement adds a column with the old name.

    MariaDB finds the columns of a key by name, so the added column may then be in the key.
    """
    match change:
        case DropColumn() if change.name.lower() in added:
            return replace(change, leaves_key=False)
        case ChangeColumn() if change.name.lower() in added and change.name.lower() != change.column.name.lower():
            return replace(change, is_replaced=True)
    return change


def _is_there(change: ColumnChange, there: Collection[str]) -> bool:
    return isinstance(change, AddColumn) and change.if_not_exists and change.column.name.lower() in there


def _rank(change: ColumnChange) -> int:
    match change:
        case DropColumn():
            return 0
        case ChangeColumn(place=None):
            return 1
    return 2


def _without_collisions(changes: list[ColumnChange]) -> list[ColumnChange]:
    """Rename a column to a temporary name first if an earlier change takes its old name.

    An example is `CHANGE a b …, CHANGE b a …`. The temporary name ends in a blank, which MySQL allows in no name.
    """
    drops = [change for change in changes if isinstance(change, DropColumn)]
    temporary: list[ColumnChange] = []
    ordered: list[ColumnChange] = []
    taken: set[str] = set()
    for change in changes[len(drops) :]:
        if isinstance(change, ChangeColumn) and change.name.lower() in taken:
            step = ChangeColumn(change.table, change.name, ColumnSpec(f"{change.name} ", ""), None, change.if_exists)
            temporary.append(step)
            ordered.append(replace(change, name=step.column.name))
        else:
            ordered.append(change)
        taken.add(_new_name(change))
    return [*drops, *temporary, *ordered]


def _new_name(change: ColumnChange) -> str:
    return "" if isinstance(change, DropColumn) else change.column.name.lower()
