"""Read the schema part of a Debezium message, which has the types of a table's columns in Kafka Connect's form."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec
from msgspec import Raw

from retable.errors import Malformed
from retable.formats.json_text import read_json

DECIMAL = "org.apache.kafka.connect.data.Decimal"
NUMERIC = f"{DECIMAL}.number"
"""A decimal that the converter wrote as a JSON number (`decimal.format=NUMERIC`), not as bytes."""
BITS = "io.debezium.data.Bits"
LABELS = frozenset({"io.debezium.data.Enum", "io.debezium.data.EnumSet"})

Row = Mapping[str, Raw]
_KNOWN_BY_NAME = ("io.debezium.", "org.apache.kafka.connect.data.")
_LONG_SCHEMA = 256 * 1024
_NULL = b"null"
_EMPTY = frozenset(
    {
        *(_NULL, b'""', b"0", b"0.0", b"false", b"[]", b"{}", b'"{}"', b'"AA=="', b'{"scale":0,"value":"AA=="}'),
        *(b'"1970-01-01T00:00:00Z"', b'"1970-01-01T00:00:00.000000Z"', b'"00:00:00Z"'),
    }
)
"""How the connector writes null, 0, an empty text or the first moment."""
_SCALE = re.compile("[0-9]{1,2}")
_DIGITS = frozenset({b"-", *(b"%d" % digit for digit in range(10))})
_CONNECTOR = re.compile(r"io\.debezium\.connector\.([a-z0-9]+)\.Source\Z")


class _Field(msgspec.Struct, gc=False):
    type: str
    field: str | None = None
    name: str | None = None
    parameters: dict[str, str] | None = None
    optional: bool = False
    default: Raw = Raw(_NULL)
    fields: list["_Field"] | None = None


@dataclass(frozen=True, slots=True)
class SchemaPart:
    """What a schema part says about the changes of a table.

    - `name`: the name of the schema part, `<server>.<table>.Envelope`.
    - `connector`: the connector's name, such as `mysql`.
    - `types`: the type of each column, for messages with decimals as bytes. None if the schema part names no column.
    - `fillings`: for each column, the JSON tokens that the connector writes if the source did not log the value: null
      and the column's default. A NOT NULL column without a default has null and empty values, such as `0` or `""`.
    - `decimals`: the names of the columns that are decimals.
    - `as_numbers`: the type of each column, for messages with decimals as JSON numbers.
    """

    name: str | None
    connector: str | None
    types: dict[str, str] | None
    fillings: dict[str, frozenset[bytes]]
    decimals: tuple[str, ...] = ()
    as_numbers: dict[str, str] = field(default_factory=dict)

    def types_of(self, *rows: Row | None) -> dict[str, str] | None:
        """Return the type of each column of the table, for a message with these rows; None if no column is named.

        If one decimal in the rows is a JSON number, all are. The result is then `as_numbers`.
        """
        if any(row and _is_number(row.get(name)) for row in rows for name in self.decimals):
            return self.as_numbers
        return self.types


_SCHEMA = msgspec.json.Decoder(_Field | None)


def read_schema_part(schema: bytes) -> SchemaPart | None:
    """Read the schema part of a message, or return None if it is null.

    Adjacent messages of one table share the same object.
    """
    if schema == _NULL:
        return None
    return _read_schema(schema) if len(schema) > _LONG_SCHEMA else _remembered_schema(schema)


def _read_schema(schema: bytes) -> SchemaPart | None:
    try:
        whole = read_json(schema, _SCHEMA)
    except Malformed as error:
        raise Malformed(f"the schema part of the message is unreadable: {error}", place="schema") from error
    if whole is None:
        return None
    parts = {part.field: part for part in whole.fields or ()}
    source, row = parts.get("source"), parts.get("after") or parts.get("before")
    found = _CONNECTOR.match(source.name) if source is not None and source.name else None
    columns = row.fields or [] if row is not None else []
    types = {column.field: wire_type(column) for column in columns if column.field is not None}
    if len(types) != len(columns):
        raise Malformed("a column in the schema part of the message occurs twice or has no name", place="schema")
    decimals = tuple(column.field for column in columns if column.field is not None and column.name == DECIMAL)
    return SchemaPart(
        whole.name,
        found[1] if found else None,
        types or None,
        {column.field: _fillings(column) for column in columns if column.field is not None},
        decimals,
        types | {name: types[name].replace(DECIMAL, NUMERIC, 1) for name in decimals},
    )


_remembered_schema = lru_cache(maxsize=256)(_read_schema)


def _fillings(column: _Field) -> frozenset[bytes]:
    """Return the tokens for an unknown value: null, the default of the column, or an empty value if it is NOT NULL."""
    default = bytes(column.default)
    if column.optional or default != _NULL:
        return frozenset({_NULL, default})
    scale = (column.parameters or {}).get("scale", "0")
    return _EMPTY | {b"0." + b"0" * int(scale)} if column.name == DECIMAL and _SCALE.fullmatch(scale) else _EMPTY


def _is_number(token: Raw | None) -> bool:
    return token is not None and bytes(token)[:1] in _DIGITS


def wire_type(column: _Field) -> str:
    """Return a column's type in the message, as one text.

    It is the semantic name, such as `io.debezium.time.Date`, with parameters if they matter. Without a semantic name,
    it is Kafka Connect's primitive type, such as `int32`. If the semantic name is neither of Debezium nor of Kafka
    Connect, the text has both, such as `int32 com.example.Money`.
    """
    parameters = column.parameters or {}
    match column.name:
        case None:
            return column.type
        case "org.apache.kafka.connect.data.Decimal":
            return f"{DECIMAL}({parameters.get('connect.decimal.precision', '*')},{parameters.get('scale', '*')})"
        case "io.debezium.data.Bits":
            return f"{BITS}({parameters.get('length', '*')})"
        case name if name in LABELS:
            return f"{name}({parameters.get('allowed', '')})"
        case name if name.startswith(_KNOWN_BY_NAME):
            return name
        case name:
            return f"{column.type} {name}"
