"""Compares gold with the source's own tables at a checkpoint.

Equal means: integers, decimals and dates by value; a float at its own width; times, and wall clocks, by their digits;
binary by bytes; JSON as parsed; rows by primary key, and without one as a multiset; columns by name, whatever their
order or case. Retable's own columns do not count, nor those that gold keeps of an older type (`__until_1`).
"""

import gzip
import json
import re
import struct
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import postgres_text
from retable.gold.names import Case, gold_column, gold_table
from retable.gold.read import PublishedTable, list_gold, read_rows
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake
from retable.model.event import TableName
from retable.printable import printable_json

MOST_LINES = 20
_KEPT = re.compile(r"__until_[0-9]+\Z")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that the reader of the binlog made, before Retable.

    `excuses` says it of a value of gold and of the truth; with `column` None, of a row that only gold has.
    """

    table: str
    column: str | None
    reason: str
    excuses: Callable[[Any, Any], bool]


def _replaced(gold: str | None, truth: str | None) -> bool:
    return gold is not None and truth is not None and "\ufffd" in gold and not truth.isascii()


KNOWN = (
    Known("shop.legacy_gbk", "memo", "Canal destroys text of a gbk column", _replaced),
    Known("shop.legacy_gbk", "lat", "Canal destroys text of a latin1 column", _replaced),
    Known("shop.wl_marker", None, "the stream ends behind the last checkpoint", lambda row, _: row["id"] == 999999),
)


def differences(lake: Lake, truth_dir: Path, checkpoint: str, known: Sequence[Known] = KNOWN) -> dict[str, list[str]]:
    """Give, by gold name, what differs from the source's tables at a checkpoint: no more than 20 lines a table.

    A table that only gold has is no difference when the source dropped it and gold has emptied it.
    """
    folder = truth_dir / checkpoint
    schema = json.loads(gzip.decompress((folder / "schema.json.gz").read_bytes()))
    published = {table.name: table for table in list_gold(lake)}
    found: dict[str, list[str]] = {}
    for source in schema:
        truth = read_truth(folder, source)
        name = gold_table(lake.settings.lake, TableName(*_split(source)))
        table = published.pop(name, None)
        lines = ["gold has no such table"] if table is None else _compare_published(lake, table, truth, known)
        found[name] = _shortened(list(lines))
    for name, table in published.items():
        if table.rows or table.state.state != "dropped":
            found[name] = [f"only gold has this table ({table.state.state}, {table.rows} rows)"]
    return {name: lines for name, lines in found.items() if lines}


@dataclass(frozen=True, slots=True)
class Truth:
    """One table of the source: how each column is compared, its primary key, its rows."""

    table: str
    readers: Mapping[str, Callable[[Any], Hashable]]
    keys: tuple[str, ...]
    rows: list[Row]

    def canonical(self, row: Row) -> dict[str, Hashable]:
        return {name: _canonical(reader, row.get(name)) for name, reader in self.readers.items()}


@dataclass(frozen=True, slots=True)
class Difference:
    """What is not as the source has it: a column's value or the column itself, or with `column` None a whole row."""

    column: str | None
    words: str


def _compare_published(lake: Lake, table: PublishedTable, truth: Truth, known: Sequence[Known]) -> Iterator[str]:
    lines = (line for batch in read_rows(lake, table.name) for line in json_rows(batch))
    names = {column.name for column in table.columns}
    return (found.words for found in compare(names, lines, truth, known, lake.settings.lake.case))


def compare(
    names: Set[str], lines: Iterable[str], truth: Truth, known: Sequence[Known] = (), case: Case = "lower"
) -> Iterator[Difference]:
    """Compare a gold table with the source's: its columns, and its rows as `retable rows` prints them."""
    names = {name for name in names if not _KEPT.search(name)}
    spelled = {gold: name for name in truth.readers if (gold := _match(name, names, case)) is not None}
    lost = sorted(truth.readers.keys() - spelled.values())
    yield from (Difference(name, f"gold has no column {name!r}") for name in lost)
    yield from (Difference(name, f"only gold has the column {name!r}") for name in sorted(names - spelled.keys()))
    shared = {name: reader for name, reader in truth.readers.items() if name in spelled.values()}
    rows = [{spelled[name]: value for name, value in json.loads(line).items() if name in spelled} for line in lines]
    common = Truth(truth.table, shared, truth.keys, truth.rows)
    mine = [item for item in known if item.table == truth.table]
    if truth.keys and set(truth.keys) <= shared.keys():
        yield from _compare_by_key(common, rows, mine)
    else:
        yield from _compare_as_multiset(common, rows)


def _compare_by_key(truth: Truth, gold: list[Row], known: Sequence[Known]) -> Iterator[Difference]:
    def key_of(row: Row) -> Hashable:
        return tuple(_canonical(truth.readers[key], row[key]) for key in truth.keys)

    def spell(row: Row) -> str:
        return ", ".join(f"{key} {_text(row[key])}" for key in truth.keys)

    expected = {key_of(row): row for row in truth.rows}
    seen: set[Hashable] = set()
    for row in gold:
        key = key_of(row)
        other = expected.get(key)
        if key in seen:
            yield Difference(None, f"{spell(row)}: gold has the row more than once")
        elif other is not None:
            for name, words in _compare_values(truth, row, other, known):
                yield Difference(name, f"{spell(row)}: {words}")
        elif not any(item.column is None and item.excuses(row, None) for item in known):
            yield Difference(None, f"{spell(row)}: only gold has the row")
        seen.add(key)
    absent = (row for key, row in expected.items() if key not in seen)
    yield from (Difference(None, f"{spell(row)}: gold has no such row") for row in absent)


def _compare_values(truth: Truth, gold: Row, other: Row, known: Sequence[Known]) -> Iterator[tuple[str, str]]:
    for name, reader in truth.readers.items():
        mine, theirs = gold[name], other[name]
        if _canonical(reader, mine) != _canonical(reader, theirs) and not any(
            item.column == name and item.excuses(mine, theirs) for item in known
        ):
            yield name, f"{name}: gold {_text(mine)}, truth {_text(theirs)}"


def _compare_as_multiset(truth: Truth, gold: list[Row]) -> Iterator[Difference]:
    shown: dict[Hashable, Row] = {}

    def count(rows: list[Row]) -> Counter[Hashable]:
        whole = [(tuple(truth.canonical(row).items()), row) for row in rows]
        shown.update(whole)
        return Counter(key for key, _ in whole)

    mine, theirs = count(gold), count(truth.rows)
    for key, row in shown.items():
        if mine[key] != theirs[key]:
            shown_row = _text({name: row[name] for name in truth.readers})
            yield Difference(None, f"{shown_row}: gold has {mine[key]}, truth {theirs[key]}")


# --- reading a value by the type that the source gave its column ----------------------------------------------------


def read_truth(folder: Path, table: str) -> Truth:
    """Read a table of a checkpoint, named as its folder names it."""
    facts = json.loads(gzip.decompress((folder / "schema.json.gz").read_bytes()))[table]
    readers = {column["name"]: _reader(column, facts.get("create", "")) for column in facts["columns"]}
    return Truth(table, readers, tuple(facts["primary_key"]), list(_objects(folder / f"{table}.jsonl.gz")))


def _reader(column: Row, create: str) -> Callable[[Any], Hashable]:
    # MariaDB has no JSON type of its own: it is a longtext with this check.
    if f"json_valid(`{column['name']}`)" in create:
        return _json_value
    if "data_type" in column:
        return _READERS.get(column["data_type"], _as_it_is)
    kind = re.sub(r"\(.*?\)", "", column["type"])
    return postgres_text.READERS.get(kind) or _READERS.get(kind, _as_it_is)


def _as_it_is(value: Any) -> Hashable:
    return value  # type: ignore[no-any-return]  # JSON


def _integer(value: Any) -> Hashable:
    return Decimal(str(int(value) if isinstance(value, bool) else value))


def _float(value: Any) -> Hashable:
    return struct.pack("<f", float(value))


def _double(value: Any) -> Hashable:
    return float(value)


def _decimal(value: Any) -> Hashable:
    return Decimal(str(value))


def _clock(value: Any) -> Hashable:
    """A moment by its digits: gold writes a T, six digits of fraction, and Z where it has a zone."""
    whole, _, fraction = value.removesuffix("Z").replace("T", " ").partition(".")
    return f"{whole}.{fraction:0<6}"


def _json_value(value: Any) -> Hashable:
    return "json", _frozen(json.loads(value))


def _frozen(value: Any) -> Hashable:
    match value:
        case bool():
            return "bool", value
        case dict():
            return frozenset((name, _frozen(item)) for name, item in value.items())
        case list():
            return tuple(map(_frozen, value))
        case _:
            return _as_it_is(value)


_READERS: dict[str, Callable[[Any], Hashable]] = {
    **dict.fromkeys(("bit", "tinyint", "smallint", "mediumint", "int", "bigint", "year"), _integer),
    "decimal": _decimal,
    "float": _float,
    "double": _double,
    "datetime": _clock,
    "timestamp": _clock,
    "integer": _integer,
    "numeric": _decimal,
    "real": _float,
    "double precision": _double,
    **dict.fromkeys(("json", "jsonb"), _json_value),
    "timestamp without time zone": _clock,
}


def _canonical(reader: Callable[[Any], Hashable], value: Any) -> Hashable:
    """Read a value; one that cannot be read equals only itself."""
    if value is None:
        return None
    try:
        return reader(value)
    except (ValueError, TypeError, ArithmeticError, AttributeError, struct.error):
        return "unreadable", str(value)


# --- names, files, words ---------------------------------------------------------------------------------------------


def _split(source: str) -> tuple[str, None, str]:
    database, table = source.split(".", 1)
    return database, None, table


def _match(name: str, gold: Set[str], case: Case) -> str | None:
    """The gold column of a source column: by the rule for names, else by the name itself, case aside."""
    ruled = gold_column(name, case)
    return ruled if ruled in gold else next((other for other in gold if other.lower() == name.lower()), None)


def _objects(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _text(value: Any) -> str:
    text = printable_json(json.dumps(value, ensure_ascii=False))
    return text if len(text) <= 200 else f"{text[:200]}…"


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*islice(lines, MOST_LINES - 1), f"and {len(lines) - MOST_LINES + 1} more"]
