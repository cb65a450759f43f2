"""Change events as golden files spell them, and raw messages that tests make."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from retable.decode.silver import hash_keys
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.options import FormatOptions
from retable.formats.registry import find_format
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage

CANAL = DecodeContext(source_format="canal_json")
STREAMX = DecodeContext(source_format="streamx_json")
INSERT = {
    "database": "shop",
    "table": "t",
    "type": "INSERT",
    "isDdl": False,
    "es": 1700000000000,
    "pkNames": ["id"],
    "mysqlType": {"id": "bigint", "c": "varchar(9)"},
    "sqlType": {"id": -5, "c": 12},
    "data": [{"id": "1", "c": "x"}],
}


def options_of(name: str, **given: object) -> FormatOptions:
    """Options of a format: of those that are given, the ones that it reads."""
    options = find_format(name).options
    return options.model_validate({key: value for key, value in given.items() if key in options.model_fields})


def key_hashes(event: ChangeEvent) -> tuple[int | None, int | None]:
    """The hash of an event's key, and of the one before it."""
    return hash_keys([event])[0]


def raw(value: bytes | None, offset: int = 7) -> RawMessage:
    return RawMessage("erp", 0, offset, 1_700_000_000_000, None, value)


def canal(offset: int = 7, **fields: object) -> RawMessage:
    """An INSERT of Canal with some fields set otherwise."""
    return raw(json.dumps({**INSERT, **fields}, ensure_ascii=False).encode(), offset)


def streamx(
    columns: Mapping[str, str] = MappingProxyType({"id": "LONG", "c": "STRING"}),
    source: Mapping[str, object] | None = MappingProxyType({"dbType": "MySQL", "dbName": "shop", "tableName": "t"}),
    keys: Sequence[str] | None = ("id",),
    **payload: object,
) -> RawMessage:
    """An INSERT of StreamX with some fields of its payload set otherwise; an image may be given as a row."""
    fields = {
        "before": None,
        "after": {"id": 1, "c": "x"},
        "sequenceId": "1700000000000000001",
        "timestamp": {"eventTime": 1700000000000, "systemTime": 1700000000007},
        "op": "INSERT",
        "ddl": None,
        **payload,
    }
    images = {name: row and {"dataColumn": row} for name in ("before", "after") if (row := fields[name]) is not None}
    listed = [{"name": name, "type": kind} for name, kind in columns.items()]
    document = {
        "schema": {"dataColumn": listed, "primaryKey": keys, "source": source and dict(source)},
        "payload": {**fields, **images},
        "version": "0.0.1",
    }
    return raw(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def spelled(event: ChangeEvent) -> dict[str, Any]:
    """Spell an event: images as objects of raw values, a sequence as text, and nothing that is null, false or empty."""
    facts = {name: getattr(event, name) for name in ChangeEvent.__struct_fields__ if name != "address"}
    facts["sequence"] = event.sequence and str(event.sequence)
    for name in ("before", "after"):
        facts[name] = facts[name] and read_image(facts[name])
    for name in ("keys", "problems"):
        facts[name] = facts[name] and list(facts[name])
    return {name: fact for name, fact in facts.items() if fact not in (None, False, ())} | {
        "row": event.address.row_index
    }
