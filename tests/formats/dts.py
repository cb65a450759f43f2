"""Messages of DTS that tests make, written by a library that the decoder does not know."""

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro

from formats.events import raw
from retable.formats.context import DecodeContext
from retable.formats.dts.record import SCHEMA
from retable.model.message import RawMessage

DTS = DecodeContext(source_format="dts_avro")
BORN = "bornTimestamp"
_SCHEMA = json.loads(SCHEMA)
NEWER = fastavro.parse_schema({**_SCHEMA, "name": "Newer", "fields": _SCHEMA["fields"]})
OLDER = fastavro.parse_schema({**_SCHEMA, "fields": [field for field in _SCHEMA["fields"] if field["name"] != BORN]})

Value = tuple[str, Any] | str | None
"""A branch of the union by its name, with its fields; the symbol of an EmptyObject; None for null."""

ONE: Value = ("Integer", {"precision": 8, "value": "1"})
TEXT: Value = ("Character", {"charset": "utf8mb4", "value": b"x"})
NONE: Value = "NONE"
NULL: Value = "NULL"


def record(**fields: object) -> dict[str, Any]:
    """An INSERT into shop.t with some fields set otherwise."""
    return {
        "version": 0,
        "id": 1000037,
        "sourceTimestamp": 1772323256,
        "sourcePosition": "3000111@1",
        "safeSourcePosition": "3000061@1",
        "sourceTxid": "7",
        "source": {"sourceType": "MySQL", "version": "8.0.36"},
        "operation": "INSERT",
        "objectName": "shop.t",
        "processTimestamps": None,
        "tags": {"pk_uk_info": '{"PRIMARY":["id"]}', "readerThroughoutTime": "1772323256321"},
        "fields": columns({"id": 8, "c": 253}),
        "beforeImages": None,
        "afterImages": [ONE, TEXT],
        **fields,
    }


def columns(numbers: Mapping[str, int]) -> list[dict[str, object]]:
    return [{"name": name, "dataTypeNumber": number} for name, number in numbers.items()]


def written(fields: Mapping[str, Any]) -> bytes:
    """A record as Avro; the newer schema where it has what only that one has."""
    stream = io.BytesIO()
    images = {name: fields[name] for name in ("beforeImages", "afterImages") if isinstance(fields[name], list)}
    named = {name: list(map(_named, values)) for name, values in images.items()}
    fastavro.schemaless_writer(stream, NEWER if BORN in fields else OLDER, {**fields, **named})
    return stream.getvalue()


def _named(value: Value) -> Value:
    return (f"com.alibaba.dts.formats.avro.{value[0]}", value[1]) if isinstance(value, tuple) else value


def dts(**fields: object) -> RawMessage:
    return raw(written(record(**fields)))


def one(number: int, value: Value, system: str = "MySQL") -> RawMessage:
    """An INSERT of one column with this number and value."""
    source = {"sourceType": system, "version": ""}
    return dts(fields=columns({"c": number}), afterImages=[value], tags={}, source=source)
