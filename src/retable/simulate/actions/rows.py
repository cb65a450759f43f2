"""Actions that change rows, each in one transaction."""

from retable.simulate.actions.action import Action
from retable.simulate.columns import Row
from retable.simulate.database import RowKey, Table
from retable.simulate.shop import Shop

_MANY = 4


def _filled(table: Table) -> bool:
    return bool(table.rows)


def _keyed(table: Table) -> bool:
    return bool(table.keys)


def _keyed_row(table: Table) -> bool:
    return bool(table.keys and table.rows)


def _keyed_rows(table: Table) -> bool:
    return bool(table.keys) and len(table.rows) > 1


def _insert(shop: Shop, name: str) -> None:
    with shop.transaction() as work:
        work.insert(name, shop.new_row(name))


def _insert_many(shop: Shop, name: str) -> None:
    """Several rows by one statement."""
    rows: dict[RowKey, Row] = {}
    for _ in range(shop.chance.randrange(2, _MANY + 1)):
        row = shop.new_row(name)
        rows[shop.tables[name].key_of(row, len(rows))] = row
    with shop.transaction() as work:
        work.insert(name, *rows.values())


def _update(shop: Shop, name: str) -> None:
    (key,) = shop.pick_rows(name)
    with shop.transaction() as work:
        work.update(name, (key, shop.changed(name, key)))


def _update_many(shop: Shop, name: str) -> None:
    """Update several rows by one statement. Different columns change in each row."""
    with shop.transaction() as work:
        work.update(name, *((key, shop.changed(name, key)) for key in shop.pick_rows(name, _MANY)))


def _update_twice(shop: Shop, name: str) -> None:
    """The same row twice in one transaction."""
    (key,) = shop.pick_rows(name)
    with shop.transaction() as work:
        work.update(name, (key, shop.changed(name, key)))
        work.update(name, (key, shop.changed(name, key)))


def _no_op_update(shop: Shop, name: str) -> None:
    """An UPDATE that changes nothing but is in the log, as some servers and triggers write it."""
    (key,) = shop.pick_rows(name)
    with shop.transaction() as work:
        work.update(name, (key, shop.tables[name].rows[key]))


def _change_key(shop: Shop, name: str) -> None:
    (key,) = shop.pick_rows(name)
    with shop.transaction() as work:
        work.update(name, (key, shop.moved(name, key, shop.fresh_key(name))))


def _shift_keys(shop: Shop, name: str) -> None:
    """Change two keys by one statement, as `SET id = id + 1`: one row gets the former key of the other row."""
    first, second = shop.pick_rows(name, 2)
    fresh = shop.moved(name, second, shop.fresh_key(name))
    with shop.transaction() as work:
        work.update(name, (second, fresh), (first, shop.moved(name, first, second)))


def _swap_keys(shop: Shop, name: str) -> None:
    """Two rows exchange keys in one transaction, through a third key."""
    first, second = shop.pick_rows(name, 2)
    spare = shop.fresh_key(name)
    with shop.transaction() as work:
        for key, to in ((first, spare), (second, first), (spare, second)):
            work.update(name, (key, shop.moved(name, key, to)))


def _delete(shop: Shop, name: str) -> None:
    with shop.transaction() as work:
        work.delete(name, *shop.pick_rows(name))


def _delete_many(shop: Shop, name: str) -> None:
    with shop.transaction() as work:
        work.delete(name, *shop.pick_rows(name, _MANY))


def _delete_and_insert(shop: Shop, name: str) -> None:
    """Delete a row and insert another row with the same key in one transaction, as REPLACE does."""
    (key,) = shop.pick_rows(name)
    fresh = shop.changed(name, key)
    with shop.transaction() as work:
        work.delete(name, key)
        work.insert(name, fresh)


def _insert_and_delete(shop: Shop, name: str) -> None:
    """Insert and delete a row in one transaction, so that no reader ever sees it."""
    row = shop.new_row(name)
    with shop.transaction() as work:
        work.insert(name, row)
        work.delete(name, shop.tables[name].key_of(row, None))


def _insert_into_all(shop: Shop, _: str) -> None:
    """Insert a row into each table in one transaction, as for an order with its lines."""
    with shop.transaction() as work:
        for name in shop.tables:
            work.insert(name, shop.new_row(name))


def _roll_back(shop: Shop, name: str) -> None:
    """Roll a transaction back: the log has nothing of it, but its new keys are not used again."""
    (key,) = shop.pick_rows(name)
    with shop.transaction() as work:
        work.insert(name, shop.new_row(name))
        work.delete(name, key)
        work.roll_back()


ROW_ACTIONS: dict[str, Action] = {
    "insert": Action(_insert, weight=14),
    "insert_many": Action(_insert_many, weight=6),
    "update": Action(_update, _filled, 10),
    "update_many": Action(_update_many, _filled, 5),
    "update_twice": Action(_update_twice, _filled, 2),
    "no_op_update": Action(_no_op_update, _filled, 1),
    "change_key": Action(_change_key, _keyed_row, 4),
    "shift_keys": Action(_shift_keys, _keyed_rows, 2),
    "swap_keys": Action(_swap_keys, _keyed_rows, 2),
    "delete": Action(_delete, _filled, 5),
    "delete_many": Action(_delete_many, _filled, 1),
    "delete_and_insert": Action(_delete_and_insert, _keyed_row, 3),
    "insert_and_delete": Action(_insert_and_delete, _keyed, 1),
    "insert_into_all": Action(_insert_into_all, weight=2),
    "roll_back": Action(_roll_back, _filled, 2),
}
