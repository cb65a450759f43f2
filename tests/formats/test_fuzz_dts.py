"""Whatever a record of DTS holds, it decodes as a library reads it, or it is refused as a message."""

import io
from base64 import b64decode
from typing import Any

import fastavro
from hypothesis import given
from hypothesis import strategies as st

from formats.dts import DTS, NEWER, OLDER, record, written
from formats.events import raw
from formats.mutating import NUMBERS, TEXTS, changed_bytes, seeds
from formats.test_dts_avro_binary import ints, longs, octets, texts, times, values
from formats.test_fuzz import FUZZ, check_stored, check_values, events_of
from retable.formats.image_text import read_image
from retable.model.event import ChangeEvent

NAME = "dts_avro"
words = st.sampled_from([*TEXTS, *NUMBERS]) | texts
charsets = st.sampled_from(["", "utf8mb4", "gbk", "latin1", "utf16", "utf16le", "binary", "ucs2", "idna", "zlib"])
zones = st.sampled_from(["Z", "+08:00", "-25:61", "+0800", "Asia/Shanghai", "America", "../x", "Factory", "", "a\0b"])
parts = st.none() | st.integers(-1, 61) | st.sampled_from([-1, 0, 1582, 2024, 9999, 10000, 999999, 1000000, -(2**31)])
clocks = st.fixed_dictionaries(
    {
        "year": st.none() | st.sampled_from([-1, 0, 1, 1582, 1900, 1970, 2024, 2155, 9999, 10000, 2**31 - 1]),
        **dict.fromkeys(("month", "day", "hour", "minute", "second", "millis"), parts),
    }
)


def cell(branch: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(branch), st.fixed_dictionaries(fields))


one = st.just(1)
cells = st.one_of(
    values,
    cell("Integer", precision=one, value=words),
    cell("Decimal", value=words, precision=one, scale=one),
    cell("Float", value=st.floats(), precision=one, scale=one),
    cell("Timestamp", timestamp=longs, millis=ints | st.sampled_from([0, 1, 999_999, 1_000_000])),
    clocks.map(lambda parts: ("DateTime", parts)),
    cell("TimestampWithTimeZone", value=clocks | times, timezone=zones),
    cell("Character", charset=charsets, value=octets),
    cell("TextObject", type=st.sampled_from(["BOOL", "JSON"]), value=words),
    cell("BinaryObject", type=st.sampled_from(["TEXT", "BLOB"]), value=octets),
)
tables = st.none() | st.sampled_from(["shop.t", "a.b.c", "a.b.c.d", "a\\u002Eb.t", "\\u00", "."]) | words
names = st.sampled_from(["id", "c", "", "#alibaba_rds_row_id#", "a.b", "\u5217"])


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """A row change whose parts fit together, but for one now and then."""
    columns = draw(st.lists(names, min_size=1, max_size=4, unique=draw(st.integers(0, 9)) < 9))
    image = st.lists(cells, min_size=len(columns), max_size=len(columns))
    operation = draw(st.sampled_from(["INSERT", "UPDATE", "DELETE", "INIT", "DDL", "HEARTBEAT"]))
    keys = draw(st.sampled_from(['{"PRIMARY":["id"]}', "{}", '{"PRIMARY":"id"}', "[", '{"PRIMARY":[1]}', *TEXTS]))
    numbers = st.sampled_from([0, 3, 4, 5, 7, 8, 10, 11, 12, 13, 16, 246, 252, 253, 254, 255]) | ints
    return record(
        operation=operation,
        sourceTimestamp=draw(longs | st.just(1772323256)),
        sourceTxid=draw(words),
        source={"sourceType": draw(st.sampled_from(["MySQL", "Oracle", "PostgreSQL", "OTHER"])), "version": ""},
        objectName=draw(tables),
        tags={"pk_uk_info": keys, "readerThroughoutTime": draw(words)},
        fields=[{"name": name, "dataTypeNumber": draw(numbers)} for name in columns],
        beforeImages=draw(image) if operation in ("UPDATE", "DELETE") else None,
        afterImages=draw(words if operation == "DDL" else image) if operation not in ("DELETE", "HEARTBEAT") else None,
        **(draw(st.sampled_from([{}, {"bornTimestamp": 1772323256321}, {"bornTimestamp": 2**63 - 1}]))),
    )


@FUZZ
@given(records())
def test_a_record_of_strange_values_is_read_exactly_or_refused(fields: dict[str, Any]) -> None:
    value = written(fields)
    events = events_of((raw(value), DTS))
    check_stored(events)
    check_values(events)
    for event in events:
        check_against_library(event, value)


@FUZZ
@given(st.sampled_from(seeds(NAME)).flatmap(lambda seed: changed_bytes(seed[0].value or b"", NAME)))
def test_bytes_that_are_nearly_a_record_are_read_as_a_library_reads_them_or_refused(value: bytes) -> None:
    events = events_of((raw(value), DTS))
    check_stored(events)
    check_values(events)
    for event in events:
        check_against_library(event, value)


def check_against_library(event: ChangeEvent, value: bytes) -> None:
    """One of the two schemas reads the bytes to their end, and to the same operation, time, columns and digits."""
    read = [_by_library(value, schema) for schema in (NEWER, OLDER)]
    assert any(told is not None and agrees(event, told) for told in read), read


def _by_library(value: bytes, schema: Any) -> Any:
    stream = io.BytesIO(value)
    try:
        told = fastavro.schemaless_reader(stream, schema, return_record_name=True)
    except (EOFError, ValueError, IndexError, OverflowError):
        return None
    return told if stream.tell() == len(value) else None


def agrees(event: ChangeEvent, told: Any) -> bool:
    seconds = told["sourceTimestamp"]
    if event.op_raw != told["operation"] or event.event_time_ms not in (None, seconds * 1000):
        return False
    if event.kind != "row":
        return event.ddl_text in (None, told["afterImages"])
    names = [field["name"] for field in told["fields"]]
    images = [(event.before, told["beforeImages"]), (event.after, told["afterImages"])]
    return all(
        image is None
        or all(_is_spelled(read_image(image), name, cell) for name, cell in zip(names, cells, strict=True))
        for image, cells in images
    )


def _is_spelled(image: dict[str, str | None], name: str, cell: Any) -> bool:
    """Numbers, texts and bytes; how times are spelled is for other tests."""
    match cell:
        case "NONE" | (_, "NONE"):
            return name not in image
        case None | "NULL" | (_, "NULL"):
            return image[name] is None
    branch, content = cell
    raw_value = image[name]
    assert raw_value is not None
    match branch.rpartition(".")[2]:
        case "Integer" | "Decimal" | "TextGeometry":
            return bool(raw_value == content["value"])
        case "Float":
            return repr(float(raw_value)) == repr(content["value"])
        case "BinaryObject" | "BinaryGeometry":
            return bool(b64decode(raw_value) == content["value"])
        case "Character" if content["charset"] in ("", "binary"):
            return bool(b64decode(raw_value) == content["value"])
    return True
