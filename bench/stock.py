"""What one would write without Retable: `json.loads` or fastavro, and a dict for each row, inside `mapInArrow`.

Nothing is checked, numbers go through floats, and a message that cannot be read ends the batch: the least that a reader
of these formats does, so it is the floor that the decoder is measured against.
"""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import fastavro
import pyarrow as pa

Change = tuple[str, str | None, str | None, Any, Any]
"""Operation, database, table, the row before and the row after."""

Reader = Callable[[bytes], Iterable[Change]]

ROWS = pa.schema(
    {
        "topic": pa.string(),
        "partition": pa.int32(),
        "offset": pa.int64(),
        "row_index": pa.int32(),
        "op": pa.string(),
        "database": pa.string(),
        "table": pa.string(),
        "before": pa.string(),
        "after": pa.string(),
    }
)


def map_in_arrow(batches: Iterable[pa.RecordBatch], read: Reader) -> Iterator[pa.RecordBatch]:
    """Turn batches of bronze into rows, as a function for `DataFrame.mapInArrow` does."""
    for batch in batches:
        rows = []
        for message in batch.select(["topic", "partition", "offset", "value"]).to_pylist():
            value = message.pop("value")
            for index, (op, database, table, before, after) in enumerate(read(value)):
                row = {**message, "row_index": index, "op": op, "database": database, "table": table}
                rows.append({**row, "before": _text(before), "after": _text(after)})
        yield pa.RecordBatch.from_pylist(rows, schema=ROWS)


def _text(image: Any) -> str | None:
    return None if image is None else json.dumps(image, ensure_ascii=False, default=str)


def canal(value: bytes) -> Iterator[Change]:
    message = json.loads(value)
    rows = message.get("data") or [None]
    old = message.get("old") or [None] * len(rows)
    for before, after in zip(old, rows, strict=True):
        yield message["type"], message["database"], message["table"], before, after


def debezium(value: bytes) -> Iterator[Change]:
    message = json.loads(value)
    change = message.get("payload", message)
    source = change["source"]
    yield change["op"], source["db"], source["table"], change["before"], change["after"]


def streamx(value: bytes) -> Iterator[Change]:
    message = json.loads(value)
    change, source = message["payload"], message["schema"]["source"]
    images = (image and image["dataColumn"] for image in (change.get("before"), change.get("after")))
    yield change["op"], source["dbName"], source["tableName"], *images


def tuple_record(value: bytes) -> Iterator[Change]:
    row = json.loads(value)
    op, after = row.pop("_operation_type_"), row.pop("_after_image_")
    images = (None, row) if after == "Y" else (row, None)
    yield op, None, row.get("_source_table_"), *images


def shareplex(value: bytes) -> Iterator[Change]:
    message = json.loads(value)
    yield message["meta"]["op"], None, message["meta"]["table"], message.get("key"), message.get("data")


def dts(schema: str) -> Reader:
    """Read a record of DTS by its older schema, each value as the dict that fastavro makes of it."""
    older = json.loads(schema)
    older["fields"] = [field for field in older["fields"] if field["name"] != "bornTimestamp"]
    parsed = fastavro.parse_schema(older)

    def read(value: bytes) -> Iterator[Change]:
        record: Any = fastavro.schemaless_reader(io.BytesIO(value), parsed, None)
        names = [field["name"] for field in record["fields"] or ()]
        before, after = (
            dict(zip(names, image, strict=True)) if isinstance(image, list) else image
            for image in (record["beforeImages"], record["afterImages"])
        )
        yield record["operation"], record["objectName"], None, before, after

    return read
