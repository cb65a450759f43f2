"""The tables with which the simulated shop begins, and the columns and tables that it can add later."""

from decimal import Decimal

from retable.simulate.chance import Chance, pick
from retable.simulate.columns import Column, ColumnType, Value
from retable.simulate.database import Table
from retable.simulate.values import type_value

_ID, _UNSIGNED_ID = ColumnType("bigint"), ColumnType("bigint", unsigned=True)
_INT, _SMALL, _FLAG = ColumnType("int"), ColumnType("smallint"), ColumnType("tinyint", (1,))
_DOUBLE, _DATE, _MILLIS, _STAMP = (
    ColumnType("double"),
    ColumnType("date"),
    ColumnType("datetime", (3,)),
    ColumnType("timestamp", (3,)),
)


def _text(length: int) -> ColumnType:
    return ColumnType("varchar", (length,))


def _decimal(precision: int, scale: int) -> ColumnType:
    return ColumnType("decimal", (precision, scale))


DESIGNS: dict[str, tuple[tuple[Column, ...], tuple[str, ...]]] = {
    "orders": (
        (
            Column("id", _ID, nullable=False),
            Column("customer", _UNSIGNED_ID),
            Column("status", ColumnType("enum", labels=("new", "paid", "sent, late", "it's back")), nullable=False),
            Column("total", _decimal(12, 2), nullable=False, has_default=True, default=Decimal("0.00")),
            Column("created", _MILLIS),
            Column("note", _text(64)),
        ),
        ("id",),
    ),
    "order_lines": (
        (
            Column("order_id", _INT, nullable=False),
            Column("line", _SMALL, nullable=False),
            Column("sku", _text(40), nullable=False),
            Column("qty", _INT),
            Column("price", _decimal(10, 4)),
        ),
        ("order_id", "line"),
    ),
    "customers": (
        (
            Column("id", _UNSIGNED_ID, nullable=False),
            Column("name", _text(64), nullable=False),
            Column("born", _DATE),
            Column("balance", _decimal(30, 10)),
            Column("active", _FLAG, nullable=False, has_default=True, default=1),
            Column("photo", ColumnType("varbinary", (64,))),
        ),
        ("id",),
    ),
    "events": (
        (Column("kind", _text(16)), Column("n", _INT), Column("weight", _DOUBLE), Column("seen", _MILLIS)),
        (),
    ),
    "stock": (
        (Column("sku", _text(40), nullable=False), Column("qty", _DOUBLE), Column("seen", _STAMP)),
        ("sku",),
    ),
}
"""The columns and the primary key of each of the shop's five tables. `events` has no key, so it can have equal rows."""

ADDED_NAMES = ("colour", "weight_g", "Tags", "order", "数量", "group", "rating", "Extra_Info")
ADDED_TYPES = (
    *(_INT, _text(32), _decimal(8, 2), _DOUBLE, ColumnType("enum", labels=("a", "b", "o'c")), _DATE, _MILLIS, _STAMP),
    *(ColumnType("varbinary", (16,)), _ID, ColumnType("int", unsigned=True), _SMALL, _FLAG),
)
TABLE_NAMES = ("returns", "coupons", "orders_2025", "clients", "Basket", "archive_1", "archive_2")
_DEFAULT_TEXTS = ("n/a", "", "it's", "é 😀", "a;b -- c")
_DATED = ("date", "datetime", "timestamp")


def declared_by_settings_only(kind: ColumnType) -> bool:
    """Return whether messages of streamx_json show too little of this source type to find the gold type.

    The setting `types` must then declare the gold type of the column. Such messages name only a family of types, such
    as LONG for all integer types.
    """
    return kind.is_whole or kind.base in ("decimal", *_DATED)


def designed(name: str) -> Table:
    """Return the table with this name in `DESIGNS`, without rows."""
    columns, keys = DESIGNS[name]
    return Table(columns, keys)


def new_column(chance: Chance, name: str) -> Column:
    """Return a column with this name, a random type, and a random choice of NULL, NOT NULL and DEFAULT."""
    kind, way = pick(chance, ADDED_TYPES), chance.randrange(0, 4)
    if way == 0 or (way == 3 and kind.base in _DATED):
        return Column(name, kind)
    if way == 3:
        return Column(name, kind, nullable=False)
    return Column(name, kind, way == 1, has_default=True, default=_default(kind, chance.randrange(0, 100)))


def _default(kind: ColumnType, number: int) -> Value:
    """Return a default that an SQL literal can contain without escapes."""
    match kind.base:
        case "varbinary":
            return b"blob"[: kind.arguments[0]]
        case "varchar":
            return _DEFAULT_TEXTS[number % len(_DEFAULT_TEXTS)][: kind.arguments[0]]
        case "double":
            return number / 4
    return type_value(kind, number)
