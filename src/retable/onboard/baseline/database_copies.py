"""Reads a table of a running database as a full copy, in ranges of its key, so that an interrupted read can continue.

Other clients may change the table during the read. The source's messages contain every change since the copy's
position, and replace the rows of the copy. So gold is correct when the messages up to the end of the read are replayed.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

from retable.ddl.registry import gold_type
from retable.errors import InvalidSetting, NotFound
from retable.formats.options import nearest
from retable.model.event import TableName
from retable.model.schema import ColumnSpec, GoldType
from retable.onboard.baseline.copies import Copy
from retable.onboard.schema.databases import connected, read_address, read_database
from retable.onboard.schema.tables import Schema

_ROWS = 5_000
"""The number of rows that one query reads."""

_STORED: dict[str, pa.DataType] = {
    "int": pa.int32(),
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    "binary": pa.binary(),
}
"""The Arrow types in which values of these gold types are read. Values of all other types are read as text."""

_NO_ORDER = ("float", "double")
_OTHER_ORDER = ("enum", "set")
"""MySQL sorts these types by their internal number, but compares them as text. So `key > value` does not find exactly
the rows that come later in the order."""

_SESSION = {
    "mysql": (
        "SET SESSION TRANSACTION READ ONLY",
        "SET SESSION time_zone = '+00:00'",
    ),
    "postgresql": (
        "SET default_transaction_read_only = on",
        "SET TIME ZONE 'UTC'",
        "SET DateStyle = 'ISO'",
        "SET IntervalStyle = 'iso_8601'",
    ),
}
_GEOMETRY = ("geometry", "point", "linestring", "polygon", "multi", "geomcollection")

Rows = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _Column:
    """A column to read. `asked` is its SQL expression; `convert` makes the Arrow value from the driver's value."""

    name: str
    asked: str
    gold: GoldType
    stored: pa.DataType
    convert: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table to read, and its address. `keys` are the indexes of the key columns, and `quoted` their SQL names."""

    url: sa.URL
    address: str
    name: str
    columns: tuple[_Column, ...]
    keys: tuple[int, ...]
    quoted: tuple[str, ...]

    @property
    def system(self) -> str:
        return self.url.get_backend_name()


def open_table(address: str, password: str | None, name: TableName) -> tuple[Copy, Schema, tuple[str, ...]]:
    """Open a table of a database as a full copy. Return the copy, the schema of the database, and the key columns.

    `password` is None if none is given. InvalidSetting if the table cannot be read in ranges of its key: it has no
    primary key, or a key column is a float, or an ENUM or SET of MySQL. NotFound if there is no such table.
    ConflictError if the database cannot be reached, now or while rows are read.
    """
    url = read_address(address, password)
    if url.get_backend_name() not in _SESSION:
        raise InvalidSetting(
            f"Retable cannot copy tables from a running {url.get_backend_name()} database; dump {name} into Parquet or "
            f"CSV files, and give these files"
        )
    schema = read_database(address, password)
    found = _find(schema, name, address)
    declared = schema.tables[found].table
    table = _table(url, address, found, declared.columns, declared.keys)
    copy = Copy(
        address,
        _digest(table),
        {column.name: column.gold for column in table.columns},
        lambda: _read(table, None),
        lambda row: _read(table, tuple(_again(table.columns[at], row) for at in table.keys)),
    )
    return copy, schema, declared.keys


def _find(schema: Schema, name: TableName, address: str) -> TableName:
    """Return the name of a table as the database has it.

    If no table has exactly this name, the only table with the same table name in any schema is taken. NotFound if
    there are none or several.
    """
    if name in schema.tables:
        return name
    same = [each for each in schema.tables if (each.schema or each.database, each.table) == (name.schema, name.table)]
    same = same or [each for each in schema.tables if each.table == name.table]
    if len(same) == 1:
        return same[0]
    known = {str(each): each for each in schema.tables}
    raise NotFound(
        f"{address} has {len(same) or 'no'} tables with the name {name.table}{nearest(str(name), known)}",
        table=str(name),
    )


def _table(url: sa.URL, address: str, name: TableName, specs: Sequence[ColumnSpec], keys: Sequence[str]) -> _Table:
    if not keys:
        raise InvalidSetting(
            f"{name} has no primary key, so its rows cannot be read in ranges of the key; dump the table at one log "
            f"position into files, and give these files"
        )
    system = url.get_backend_name()
    quote = _quote(system)
    columns = tuple(_column(system, spec, f"t.{quote(spec.name)}") for spec in specs)
    places = tuple(next(at for at, spec in enumerate(specs) if spec.name.lower() == key.lower()) for key in keys)
    if unordered := [columns[at].name for at in places if columns[at].gold.kind in _NO_ORDER]:
        raise InvalidSetting(
            f"{name} cannot be read in ranges of its key, because the key column {unordered[0]} is a float; dump the "
            f"table into files, and give these files"
        )
    if system == "mysql" and (other := [specs[at] for at in places if _word(specs[at]) in _OTHER_ORDER]):
        raise InvalidSetting(
            f"{name} cannot be read in ranges of its key: MySQL orders the key column {other[0].name} "
            f"({other[0].source_type}) by number but compares it as text; dump the table into files, and give these "
            f"files"
        )
    home = name.schema or name.database
    return _Table(
        url,
        address,
        f"{quote(home)}.{quote(name.table)}",
        columns,
        places,
        tuple(f"t.{quote(columns[at].name)}" for at in places),
    )


def _word(spec: ColumnSpec) -> str:
    return spec.source_type.partition("(")[0].strip().lower()


def _quote(system: str) -> Callable[[str], str]:
    sign = "`" if system == "mysql" else '"'
    return lambda name: sign + name.replace(sign, sign * 2).replace("%", "%%") + sign


def _column(system: str, spec: ColumnSpec, quoted: str) -> _Column:
    """Return how to read a column without loss. Values that a driver would round or refuse are selected as text."""
    gold = gold_type(system, spec.source_type) or GoldType("string")
    stored, source_type = _STORED.get(gold.kind, pa.string()), spec.source_type.lower()
    if system == "postgresql":
        asked = quoted if gold.kind in _STORED else f"{quoted}::text"
    elif gold.kind == "binary" and source_type.startswith(_GEOMETRY):
        asked = f"ST_AsWKB({quoted})"
    elif gold.kind == "float":
        # MySQL shows six digits of a FLOAT; as a double it shows all.
        asked = f"{quoted} + 0e0"
    elif source_type.startswith("bit"):
        asked = f"{quoted} + 0" if gold.kind in _STORED else f"CAST({quoted} + 0 AS CHAR)"
    else:
        asked = quoted if gold.kind in _STORED else f"CAST({quoted} AS CHAR)"
    return _Column(spec.name, asked, gold, stored, _CONVERSIONS.get(gold.kind, _as_it_is))


def _as_it_is(value: Any) -> object:
    return value


def _moment(value: str) -> str:
    return value.replace(" ", "T", 1)


def _instant(value: str) -> str:
    return _moment(value.removesuffix("+00")) + "Z"


_CONVERSIONS: dict[str, Callable[[Any], object]] = {
    "boolean": bool,
    "binary": bytes,
    "timestamp": _moment,
    "timestamptz": _instant,
}


def _read(table: _Table, after: tuple[object, ...] | None) -> Rows:
    """Read the rows whose key is greater than `after`, in the order of the key. If it is None, read all rows."""
    with connected(table.url, table.address) as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        for statement in _SESSION[table.system]:
            connection.exec_driver_sql(statement)
        while True:
            condition, values = ("", ()) if after is None else _behind(table, after)
            rows = connection.exec_driver_sql(_question(table, condition), values).all()
            if not rows:
                return
            yield _batch(table, rows)
            after = tuple(rows[-1][len(table.columns) + at] for at in range(len(table.keys)))
            if len(rows) < _ROWS:
                return


def _question(table: _Table, condition: str) -> str:
    asked = ", ".join([*(column.asked for column in table.columns), *table.quoted])
    return f"SELECT {asked} FROM {table.name} AS t{condition} ORDER BY {', '.join(table.quoted)} LIMIT {_ROWS}"


def _behind(table: _Table, after: tuple[object, ...]) -> tuple[str, tuple[object, ...]]:
    """Return the SQL condition "key greater than `after`" and its values.

    For MySQL it does not use a row comparison, because MySQL would not use the index for it.
    """
    first, *more = table.quoted
    if not more:
        return f" WHERE {first} > %s", after
    if table.system == "postgresql":
        return f" WHERE ({', '.join(table.quoted)}) > ({', '.join(['%s'] * len(after))})", after
    parts: list[str] = []
    values: list[object] = [after[0]]
    for at, column in enumerate(table.quoted):
        same = "".join(f"{other} = %s AND " for other in table.quoted[:at])
        parts.append(f"({same}{column} > %s)")
        values += after[: at + 1]
    return f" WHERE {first} >= %s AND ({' OR '.join(parts)})", tuple(values)


def _batch(table: _Table, rows: Sequence[Sequence[Any]]) -> pa.RecordBatch:
    arrays = [
        pa.array([None if row[at] is None else column.convert(row[at]) for row in rows], column.stored)
        for at, column in enumerate(table.columns)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in table.columns])


def _again(column: _Column, row: Mapping[str, object]) -> object:
    """Return the key value of a stored row, in the form that the database accepts in a query."""
    value = row[column.name]
    match column.gold.kind:
        case "binary":
            return base64.b64decode(str(value))
        case "decimal":
            return Decimal(str(value))
        case "timestamp" | "timestamptz":
            return str(value).replace("T", " ").removesuffix("Z")
        case _:
            return value


def _digest(table: _Table) -> str:
    """Return a digest of host, table, columns and key. A read continues only if the digest is the same."""
    columns = [[column.name, str(column.gold)] for column in table.columns]
    host = [table.url.host, table.url.port, table.url.database, table.name]
    return hashlib.sha256(json.dumps([host, columns, table.keys]).encode()).hexdigest()[:16]
