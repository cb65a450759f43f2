"""The classes of the benchmark, that is, kinds of changes: their windows, and the expected contents of gold."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

import numpy as np

from bench.scale.messages import (
    CHANGED,
    TABLE,
    TUPLE_SCHEMA,
    canal,
    create,
    dataworks,
    debezium,
    shareplex,
    statement,
    tuples,
    two_spellings,
    whole,
)
from bench.scale.rows import COLUMNS, Changes, Keys, Table

_START = 1_000_000
_LATE_WINDOWS, _LATE = 24, 0.01
_LOAD_WINDOWS = 6
_SHARDS = 8


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its key and its Kafka partition."""

    value: str
    key: str | None = None
    partition: int = 0


Window = Callable[[], Iterator[Message]]


@dataclass(frozen=True, slots=True)
class Made:
    """The windows of a class, and the table after them. The first window is not measured.

    Columns from number `fixed` on have the same value in every version. `since` is the first row version that has the
    last column, if a statement adds this column; else it is 0.
    """

    windows: list[Window]
    table: Table
    fixed: int = COLUMNS
    since: int = 0


@dataclass(frozen=True, slots=True)
class Class:
    """A kind of changes. `make` makes the given number of changes. `act` is what is measured: replay or rebuild."""

    words: str
    make: Callable[[int], Made]
    format: str = "streamx_json"
    options: str = ""
    act: str = "replay"
    gold: str = f"gold_shop.{TABLE}"


def _positions(count: int, first: int = _START) -> Keys:
    return np.arange(first, first + count)


def _text(*texts: str) -> Window:
    return partial(map, Message, texts)


def _all(table: Table, rows: int, moves: float = 0.0) -> Changes:
    """Return `rows` changes: the first half are inserts, the second half change these rows."""
    return Changes.joined(table.load(rows - rows // 2), table.change(rows // 2, moves))


def _plain(rows: int) -> Made:
    table = Table()
    changes = _all(table, rows)
    return Made([_text(statement(create(), 1)), partial(_tell, changes)], table)


def _tell(changes: Changes, first: int = _START, keys: tuple[str, ...] = ("id",)) -> Iterator[Message]:
    return map(Message, dataworks(changes, _positions(len(changes), first), whole, keys=keys))


def _moves(rows: int) -> Made:
    table = Table()
    changes = _all(table, rows, moves=_LATE)
    return Made([_text(statement(create(), 1)), partial(_tell, changes)], table)


def _shift(rows: int) -> Made:
    """The first window inserts all rows. In the second window, updates add one to every key."""
    table = Table()
    load = table.load(rows)
    shifted = table.shift()

    def first() -> Iterator[Message]:
        return chain([Message(statement(create(), 1))], _tell(load))

    return Made([first, partial(_tell, shifted, _START + rows)], table)


def _add_column(rows: int) -> Made:
    table = Table()
    before, after = table.load(rows - rows // 2), table.change(rows // 2)
    middle = _START + len(before)

    def told() -> Iterator[Message]:
        old = dataworks(before, _positions(len(before)), whole, COLUMNS - 1)
        new = dataworks(after, _positions(len(after), middle + 1), whole)
        add = statement(f"ALTER TABLE `{TABLE}` ADD COLUMN `c{COLUMNS - 1}` VARCHAR(64)", middle)
        return (Message(value) for value in chain(old, [add], new))

    return Made([_text(statement(create(columns=COLUMNS - 1), 1)), told], table, since=1)


def _rewrite(what: str, keys: tuple[str, ...], rows: int) -> Made:
    """The second measured window has a statement that Iceberg cannot apply to the rows, and one row with these keys."""
    table = Table()
    changes, last = _all(table, rows), table.load(1)
    then = _START + len(changes)
    alter = statement(f"ALTER TABLE `{TABLE}` {what}", then)

    def told() -> Iterator[Message]:
        return chain([Message(alter)], _tell(last, then + 1, keys))

    return Made([_text(statement(create(), 1)), partial(_tell, changes), told], table)


def _partitions(rows: int) -> Made:
    table = Table()
    first, changes = table.load(1), _all(table, rows)

    def told(part: Changes) -> Iterator[Message]:
        keys = part.ids.tolist()
        return (Message(value, partition=key % 4) for value, key in zip(canal(part), keys, strict=True))

    return Made([partial(told, first), partial(told, changes)], table)


def _no_key(rows: int) -> Made:
    table = Table()
    changes = _all(table, rows)

    def told() -> Iterator[Message]:
        return map(Message, dataworks(changes, _positions(len(changes)), whole, keys=()))

    return Made([_text(statement(create(has_key=False), 1)), told], table)


def _no_key_late(rows: int) -> Made:
    """One change in a hundred comes in the second measured window, and is older than most of the first one."""
    table = Table()
    changes = _all(table, rows)
    places = np.arange(len(changes))

    def told(mine: Keys) -> Iterator[Message]:
        return map(Message, dataworks(changes.at(mine), _START + mine, whole, keys=()))

    windows = [partial(told, places[places % 100 != 0]), partial(told, places[places % 100 == 0])]
    return Made([_text(statement(create(has_key=False), 1)), *windows], table)


def _late(rows: int) -> Made:
    """The position of a change decides its window. One change in a hundred comes in a later window."""
    table, dice = Table(), np.random.default_rng(11)
    changes = _all(table, rows)
    places = np.arange(len(changes))
    own = places * _LATE_WINDOWS // len(changes)
    is_late = (dice.random(len(changes)) < _LATE) & (own < _LATE_WINDOWS - 1)
    arrives = np.where(is_late, dice.integers(np.minimum(own + 1, _LATE_WINDOWS - 1), _LATE_WINDOWS), own)

    def told(window: int) -> Iterator[Message]:
        mine = np.flatnonzero(arrives == window)
        return map(Message, dataworks(changes.at(mine), _START + mine, whole))

    windows = [partial(told, window) for window in range(_LATE_WINDOWS)]
    return Made([_text(statement(create(), 1)), *windows], table)


def _decimal_keys(rows: int) -> Made:
    table = Table()
    changes = _all(table, rows)

    def told() -> Iterator[Message]:
        return map(Message, dataworks(changes, _positions(len(changes)), two_spellings, wire="DOUBLE"))

    return Made([_text(statement(create("DECIMAL(20,2)"), 1)), told], table)


def _untyped(rows: int) -> Made:
    table = Table()
    first, changes = table.load(1), _all(table, rows)

    def told(part: Changes, start: int) -> Iterator[Message]:
        return (Message(value, key) for key, value in debezium(part, _positions(len(part), start), whole))

    return Made([partial(told, first, _START), partial(told, changes, _START + 1)], table)


def _partial(rows: int) -> Made:
    table = Table()
    first, changes = table.load(1), _all(table, rows)

    def told(part: Changes, start: int) -> Iterator[Message]:
        return map(Message, shareplex(part, _positions(len(part), start)))

    return Made([partial(told, first, _START), partial(told, changes, _START + 1)], table, fixed=CHANGED)


def _shards(rows: int) -> Made:
    """The key of a row decides to which of several source tables it belongs."""
    table = Table()
    changes = _all(table, rows)
    names = [f"{TABLE}_{number}" for number in range(_SHARDS)]

    def told() -> Iterator[Message]:
        for number, called in enumerate(names):
            mine = np.flatnonzero(changes.ids % _SHARDS == number)
            yield from map(Message, dataworks(changes.at(mine), _START + mine, whole, table=called))

    return Made([_text(*(statement(create(table=each), 1 + at, each) for at, each in enumerate(names))), told], table)


def _told_as_tuples(part: Changes, start: int, is_load: bool = False) -> Iterator[Message]:
    return map(Message, tuples(part, _positions(len(part), start), is_load))


def _halves(rows: int) -> Made:
    table = Table()
    first, changes = table.load(1), _all(table, rows)
    return Made([partial(_told_as_tuples, first, _START), partial(_told_as_tuples, changes, _START + 1)], table)


def _full_load(rows: int) -> Made:
    """The rows of a full load come in six windows. Each window also has a part of the changes after the full load."""
    table = Table()
    first, load = table.load(1), table.load(rows - rows // 2)
    changes = table.change(rows // 2)
    ends = [len(changes) * at // _LOAD_WINDOWS for at in range(_LOAD_WINDOWS)]

    def told(window: int) -> Iterator[Message]:
        mine = changes.part(window, _LOAD_WINDOWS)
        loaded = _told_as_tuples(load.part(window, _LOAD_WINDOWS), 0, is_load=True)
        return chain(_told_as_tuples(mine, _START + 1 + ends[window]), loaded)

    windows = [partial(told, window) for window in range(_LOAD_WINDOWS)]
    return Made([partial(_told_as_tuples, first, _START), *windows], table)


_KEYS = '[tables."{}"]\nkeys = ["id"]\n'
_AS_TUPLES = (
    f'database = "shop"\ntuple_schema = {{ {", ".join(f"{a} = {b!r}" for a, b in TUPLE_SCHEMA.items())} }}\n'
    + _KEYS.format("shop.t")
)
_AS_ONE = f'[tables."shop.{TABLE}_*"]\nto = "shop.{TABLE}"\n'
_AS_SHAREPLEX = 'database = "shop"\n' + _KEYS.format("shop.SHOP.t")

CLASSES: dict[str, Class] = {
    "plain": Class("inserts, updates and deletes of whole rows", _plain),
    "add_column": Class("one ADD COLUMN between them", _add_column),
    "retype": Class(
        "a column takes another type, so that all rows are written again",
        partial(_rewrite, "MODIFY COLUMN `c2` DECIMAL(16,4)", ("id",)),
    ),
    "rekey": Class(
        "the primary key changes, so that all rows are written again",
        partial(_rewrite, "DROP PRIMARY KEY, ADD PRIMARY KEY (`c1`, `id`)", ("c1", "id")),
    ),
    "partitions": Class("a topic of four partitions, each with an order of its own", _partitions, "canal_json"),
    "no_key": Class("a table without a key", _no_key),
    "no_key_late": Class("a table without a key, and one change in a hundred comes late", _no_key_late),
    "late": Class("one change in a hundred comes late, over 24 windows", _late),
    "moves": Class("one update in a hundred changes its key", _moves),
    "shift": Class("every key goes up by one", _shift),
    "untyped": Class("Debezium without schemas", _untyped, "debezium_json"),
    "decimal_keys": Class("a decimal key in two spellings", _decimal_keys),
    "partial": Class(
        "SharePlex: updates have only the changed columns, the settings name the key",
        _partial,
        "shareplex_json",
        _AS_SHAREPLEX,
        gold=f"gold_shop__shop.{TABLE}",
    ),
    "halves": Class("an update is two messages", _halves, "datahub_tuple", _AS_TUPLES),
    "full_load": Class("a full load over six windows, while changes stream", _full_load, "datahub_tuple", _AS_TUPLES),
    "shards": Class("eight tables of the source that go into one", _shards, options=_AS_ONE),
    "rebuild": Class("all of them again, by a rebuild", _plain, act="rebuild"),
}
