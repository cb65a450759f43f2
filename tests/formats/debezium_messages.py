"""Messages of Debezium that tests make, by an encoder of their own, and the genuine ones of `tests/captures`."""

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage

CAPTURES = Path(__file__).parents[1] / "captures"
DEBEZIUM = DecodeContext(source_format="debezium_json")
PLACEHOLDER = "__debezium_unavailable_value"
SOURCE = {
    "version": "3.4.0.Final",
    "connector": "mysql",
    "name": "erp",
    "ts_ms": 1700000000000,
    "snapshot": "false",
    "db": "shop",
    "table": "t",
    "gtid": None,
    "file": "bin.000003",
    "pos": 1234,
    "row": 0,
}
POSTGRES = {
    **{name: value for name, value in SOURCE.items() if name not in ("gtid", "file", "pos", "row")},
    "connector": "postgresql",
    "schema": "public",
    "sequence": '["100","120"]',
    "lsn": 120,
}
ORACLE = {
    **{name: value for name, value in SOURCE.items() if name not in ("gtid", "file", "pos", "row")},
    "connector": "oracle",
    "schema": "S",
    "scn": "7",
}

Row = Mapping[str, object]


def text_of(document: object) -> str:
    """JSON as Kafka's converter writes it: no blanks, and no character escaped that need not be."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def message(value: object, key: object = None, topic: str = "erp.shop.t", offset: int = 7) -> RawMessage:
    """A record; a value or a key of None is the null of Kafka, and text is taken as it is."""
    written = [
        None if part is None else (part if isinstance(part, str) else text_of(part)).encode() for part in (key, value)
    ]
    return RawMessage(topic, 0, offset, 1_700_000_000_000, written[0], written[1])


def payload(
    op: str = "c", before: Row | None = None, after: Row | None = None, source: Row = SOURCE, **more: object
) -> dict[str, object]:
    """The content of a change; a create of one row where nothing else is said."""
    if before is None and after is None and op != "t":
        after = {"id": 1, "c": "x"}
    return {"before": before, "after": after, "source": dict(source), "op": op, "ts_ms": 1700000000500, **more}


def with_schema(content: Mapping[str, object], columns: list[dict[str, object]]) -> dict[str, object]:
    """A change beside its schema part; `columns` are the fields of its rows."""
    source = content["source"]
    assert isinstance(source, dict)
    rows = [{"type": "struct", "fields": columns, "optional": True, "field": part} for part in ("before", "after")]
    origin = {"type": "struct", "fields": [], "name": f"io.debezium.connector.{source['connector']}.Source"}
    fields = [*rows, {**origin, "optional": False, "field": "source"}, {"type": "string", "field": "op"}]
    name = f"{source['name']}.{source['db']}.{source['table']}.Envelope"
    return {"schema": {"type": "struct", "fields": fields, "optional": False, "name": name}, "payload": content}


def column(name: str, kind: str, meaning: str | None = None, **parameters: object) -> dict[str, object]:
    """A field of a row as Kafka Connect's schema describes it."""
    told: dict[str, object] = {"type": kind, "optional": True, "field": name}
    if meaning is not None:
        told |= {"name": meaning, "version": 1}
    return told | ({"parameters": {key: str(value) for key, value in parameters.items()}} if parameters else {})


def decoded(value: object, key: object = None, context: DecodeContext = DEBEZIUM, **more: Any) -> ChangeEvent:
    """The one event of a message."""
    (event,) = decode_message(message(value, key, **more), context)
    return event


def capture(database: str, schemas: bool) -> Iterator[RawMessage]:
    """A genuine stream; without schemas each message is its payload alone, as the connector then writes it."""
    with gzip.open(CAPTURES / f"debezium_{database}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            key, value = (
                None if text is None else (text if schemas else _payload_text(text)).encode()
                for text in (record["key"], record["value"])
            )
            address = record["topic"], record["partition"], record["offset"]
            yield RawMessage(*address, record["timestamp"], key, value)


def _payload_text(text: str) -> str:
    """Cut the payload out of its envelope, character by character as it stands."""
    start = json.JSONDecoder().raw_decode(text, text.index("{", 1))[1]
    assert text.startswith(',"payload":', start)
    return text[start + len(',"payload":') : -1]
