"""Makes the parts of Debezium's messages about columns: the schemas and values of Kafka Connect, and `tableChanges`."""

from base64 import b64encode
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from retable.simulate.columns import Column, ColumnType, Value
from retable.simulate.database import Table

Json = dict[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = {"tinyint": "int16", "smallint": "int16", "mediumint": "int32", "int": "int32", "bigint": "int64"}
_UNSIGNED = _INTEGERS | {"smallint": "int32", "int": "int64"}
_MILLIS_DIGITS = 3
_JDBC_TYPES = {
    **dict(zip(("tinyint", "smallint", "mediumint", "int", "bigint"), (5, 5, 4, 4, -5), strict=True)),
    **dict(zip(("decimal", "double", "enum", "varchar", "varbinary"), (3, 8, 1, 12, -3), strict=True)),
    **dict(zip(("date", "datetime", "timestamp"), (91, 93, 2014), strict=True)),
}
"""The code of java.sql.Types that the connector writes for each type of MySQL."""

_SOURCE = (
    *(("version", "string"), ("connector", "string"), ("name", "string"), ("ts_ms", "int64"), ("snapshot", "string")),
    *(("db", "string"), ("sequence", "string"), ("ts_us", "int64"), ("ts_ns", "int64"), ("table", "string")),
    *(("server_id", "int64"), ("gtid", "string"), ("file", "string"), ("pos", "int64"), ("row", "int32")),
    *(("thread", "int64"), ("query", "string")),
)
_ALWAYS = frozenset({"version", "connector", "name", "ts_ms", "db", "server_id", "file", "pos", "row"})
_ORDER = (("id", "string"), ("total_order", "int64"), ("data_collection_order", "int64"))


def with_schema(payload: Json, name: str, fields: Iterable[Json]) -> Json:
    """Return a message that contains its schema, as Kafka Connect's JSON converter writes it.

    `name` is the name of the payload's schema, and `fields` are the schemas of the payload's fields.
    """
    return {"schema": struct(name, fields, optional=False), "payload": payload}


def struct(name: str, fields: Iterable[Json], optional: bool = True, **place: str) -> Json:
    """Return a struct schema of Kafka Connect. `name` is the name of the schema.

    If the struct is a field of another struct, `place` is `field="before"`, with the name of that field.
    """
    return {"type": "struct", "fields": list(fields), "optional": optional, "name": name, **place}


def change_fields(table: str, columns: Iterable[Column]) -> list[Json]:
    """Return the schemas of the fields of a row change's payload (`before`, `after`, `op` and others).

    `table` is the name of the topic, `server.database.table`. The names of the row schemas begin with it.
    """
    rows = [column_field(column) for column in columns]
    order = [_plain(name, kind, optional=False) for name, kind in _ORDER]
    return [
        struct(f"{table}.Value", rows, field="before"),
        struct(f"{table}.Value", rows, field="after"),
        _source(),
        struct("event.block", order, field="transaction"),
        _plain("op", "string", optional=False),
        *times(),
    ]


def statement_fields() -> list[Json]:
    """Return the schemas of the fields of a DDL statement's payload.

    The entries of `tableChanges` have a struct schema without fields, which is simpler than what Debezium writes.
    """
    texts = [_plain(name, "string") for name in ("databaseName", "schemaName", "ddl")]
    changes = {"type": "array", "items": {"type": "struct", "fields": [], "optional": False}, "optional": False}
    return [_source(), *times(), *texts, changes | {"field": "tableChanges"}]


def boundary_fields() -> list[Json]:
    """Return the schemas of the fields of a message about the begin or end of a transaction."""
    counted = {"type": "struct", "fields": [_plain("data_collection", "string"), _plain("event_count", "int64")]}
    changes = {"type": "array", "items": {**counted, "optional": False}, "optional": True, "field": "data_collections"}
    texts = [_plain(name, "string", optional=False) for name in ("status", "id")]
    return [*texts, _plain("event_count", "int64"), changes, _plain("ts_ms", "int64", optional=False)]


def _source() -> Json:
    fields = [_plain(name, kind, name not in _ALWAYS) for name, kind in _SOURCE]
    return struct("io.debezium.connector.mysql.Source", fields, optional=False, field="source")


def times() -> list[Json]:
    """Return the schemas of the fields `ts_ms`, `ts_us` and `ts_ns`."""
    return [_plain(name, "int64") for name in ("ts_ms", "ts_us", "ts_ns")]


def _plain(name: str, kind: str, optional: bool = True) -> Json:
    return {"type": kind, "optional": optional, "field": name}


def column_field(column: Column) -> Json:
    """Return the schema of a column, with its default if it has a default."""
    known: Json = {"optional": column.nullable}
    if column.has_default and column.default is not None:
        known["default"] = wire_value(column, column.default)
    return {**_wire_type(column.type), **known, "field": column.name}


def _wire_type(kind: ColumnType) -> Json:
    if kind.is_whole:
        return {"type": (_UNSIGNED if kind.unsigned else _INTEGERS)[kind.base]}
    match kind.base:
        case "decimal":
            digits = {"scale": str(kind.scale), "connect.decimal.precision": str(kind.arguments[0])}
            return _named("bytes", "org.apache.kafka.connect.data.Decimal", digits)
        case "double":
            return {"type": "double"}
        case "enum":
            labels = ",".join(label.replace(",", "\\,") for label in kind.labels)
            return _named("string", "io.debezium.data.Enum", {"allowed": labels})
        case "date":
            return _named("int32", "io.debezium.time.Date")
        case "datetime":
            fine = kind.scale > _MILLIS_DIGITS
            return _named("int64", f"io.debezium.time.{'MicroTimestamp' if fine else 'Timestamp'}")
        case "timestamp":
            return _named("string", "io.debezium.time.ZonedTimestamp")
        case "varbinary":
            return {"type": "bytes"}
    return {"type": "string"}


def _named(kind: str, name: str, parameters: dict[str, str] | None = None) -> Json:
    return {"type": kind, "name": name, "version": 1, **({"parameters": parameters} if parameters else {})}


def wire_value(column: Column, value: Value) -> int | float | str | None:
    """Return a value of a row as the connector writes it in its default modes.

    Decimals are exact, and times are as precise as their column.
    """
    match value:
        case int() if column.type.base == "bigint" and value >= 1 << 63:
            return value - (1 << 64)
        case Decimal():
            return b64encode(_unscaled(value)).decode()
        case bytes():
            return b64encode(value).decode()
        case datetime() if column.type.base == "timestamp":
            digits = column.type.scale
            text = value.replace(tzinfo=None).isoformat(timespec="microseconds")
            return (text[: len(text) - 6 + digits] if digits else text[:-7]) + "Z"
        case datetime():
            unit = timedelta(microseconds=1 if column.type.scale > _MILLIS_DIGITS else 1000)
            return (value.replace(tzinfo=UTC) - _EPOCH) // unit
        case date():
            return (value - _EPOCH.date()).days
    return value


def _unscaled(value: Decimal) -> bytes:
    """Return all digits as one integer: big-endian bytes in two's complement."""
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    return number.to_bytes((number.bit_length() + 8) // 8, signed=True)


def table_change(kind: str, database: str, name: str, table: Table | None) -> Json:
    """Return an entry of `tableChanges` (the table after a DDL statement).

    `kind` is CREATE, ALTER or DROP. If the table was dropped, `table` is None.
    """
    return {"type": kind, "id": f'"{database}"."{name}"', "table": None if table is None else _table(table)}


def _table(table: Table) -> Json:
    columns = [_column(position, column) for position, column in enumerate(table.columns, 1)]
    keys = {"defaultCharsetName": "utf8mb4", "primaryKeyColumnNames": list(table.keys)}
    return {**keys, "columns": columns, "comment": None}


def _column(position: int, column: Column) -> Json:
    kind = column.type
    name = f"{kind.base.upper()}{' UNSIGNED' if kind.unsigned else ''}"
    default = column.default if column.has_default else None
    return {
        "name": column.name,
        "jdbcType": _JDBC_TYPES[kind.base],
        "nativeType": None,
        "typeName": name,
        "typeExpression": name,
        "charsetName": "utf8mb4" if kind.base in ("varchar", "enum") else None,
        "length": kind.arguments[0] if kind.arguments else None,
        "scale": kind.scale if kind.base == "decimal" else None,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": False,
        "generated": False,
        "comment": None,
        "defaultValueExpression": None if default is None else _text(default),
        "enumValues": [f"'{label}'" for label in kind.labels] or None,
    }


def _text(default: Value) -> str:
    return default.decode() if isinstance(default, bytes) else str(default)
