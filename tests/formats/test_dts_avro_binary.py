"""Bytes of Avro: what a library writes is read as it was, and what no writer writes is refused."""

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import fastavro
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formats.dts import BORN, DTS, NEWER, OLDER, dts, raw, record, written
from retable.errors import Malformed, MessageError
from retable.formats.dts.binary import Torn, compile_schema
from retable.formats.dts.record import SCHEMA, DtsRecord, read_record
from retable.formats.registry import decode_message

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ints, longs = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
part = st.none() | ints
times = st.fixed_dictionaries(dict.fromkeys(("year", "month", "day", "hour", "minute", "second", "millis"), part))
octets = st.binary(max_size=8)


def branch(name: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(name), st.fixed_dictionaries(fields))


values = st.one_of(
    st.none(),
    st.sampled_from(["NULL", "NONE"]),
    branch("Integer", precision=ints, value=texts),
    branch("Character", charset=texts, value=octets),
    branch("Decimal", value=texts, precision=ints, scale=ints),
    branch("Float", value=st.floats(allow_nan=False), precision=ints, scale=ints),
    branch("Timestamp", timestamp=longs, millis=ints),
    times.map(lambda parts: ("DateTime", parts)),
    branch("TimestampWithTimeZone", value=times, timezone=texts),
    branch("BinaryGeometry", type=texts, value=octets),
    branch("TextGeometry", type=texts, value=texts),
    branch("BinaryObject", type=texts, value=octets),
    branch("TextObject", type=texts, value=texts),
)
images = st.none() | texts | st.lists(values, max_size=5)
records = st.fixed_dictionaries(
    {
        "version": ints,
        "id": longs,
        "sourceTimestamp": longs,
        "sourcePosition": texts,
        "safeSourcePosition": texts,
        "sourceTxid": texts,
        "source": st.fixed_dictionaries({"sourceType": st.sampled_from(["MySQL", "OTHER"]), "version": texts}),
        "operation": st.sampled_from(["INSERT", "UPDATE", "DELETE", "DDL", "HEARTBEAT", "INIT", "NOOP"]),
        "objectName": st.none() | texts,
        "processTimestamps": st.none() | st.lists(longs, max_size=3),
        "tags": st.dictionaries(texts, texts, max_size=3),
        "fields": st.none()
        | texts
        | st.lists(st.fixed_dictionaries({"name": texts, "dataTypeNumber": ints}), max_size=3),
        "beforeImages": images,
        "afterImages": images,
    },
    optional={BORN: longs},
)


def flat(value: Any) -> Any:
    """A value as the reader gives it: the fields of a record in their order, those of a branch behind its name."""
    match value:
        case (str(name), dict(fields)):
            return [name, *flat(fields)]
        case dict():
            return [flat(value[name]) for name in ORDERS[frozenset(value)]]
        case list():
            return [flat(item) for item in value]
    return value


def orders(schema: Any) -> Iterator[list[str]]:
    """The fields of every record of a schema."""
    if isinstance(schema, list):
        yield from chain.from_iterable(map(orders, schema))
    if isinstance(schema, dict):
        fields = schema.get("fields", [])
        yield [field["name"] for field in fields]
        yield from chain.from_iterable(orders(part) for part in (*(f["type"] for f in fields), schema.get("items")))
        yield from orders(schema["type"])


ORDERS = {frozenset(names): names for names in orders(json.loads(SCHEMA))}


def flat_record(fields: dict[str, Any]) -> DtsRecord:
    ordered = {name: fields[name] if name == "tags" else flat(fields[name]) for name in record()}
    return DtsRecord(*ordered.values(), born_timestamp=fields.get(BORN, 0))


@given(records)
def test_a_record_that_a_library_writes_is_read_as_it_was(fields: dict[str, Any]) -> None:
    assert read_record(written(fields)) == flat_record(fields)


@given(st.lists(records, min_size=1, max_size=3))
def test_a_record_is_read_the_same_whatever_was_read_before_it(several: list[dict[str, Any]]) -> None:
    for fields in several + several:
        assert read_record(written(fields)) == flat_record(fields)


def long(number: int) -> bytes:
    """A number as Avro writes it: zigzag, seven bits a byte, the lowest first."""
    rest, out = (number << 1) ^ (number >> 63), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*out, rest])


def text(value: bytes) -> bytes:
    return long(len(value)) + value


HEAD = long(0) + long(1) + long(1772323256) + text(b"p") + text(b"") + text(b"7") + long(0) + text(b"v") + long(0)
TABLE = long(1) + text(b"shop.t")
NO_TIMES, NO_TAGS = long(0), long(0)
FIELDS = long(2) + long(1) + text(b"id") + long(8) + long(0)
VALUE = long(1) + long(8) + text(b"1")
IMAGE = long(2) + long(1) + VALUE + long(0)
START = HEAD + TABLE + NO_TIMES
REST = NO_TAGS + FIELDS + long(0) + IMAGE
WHOLE = START + REST
HUGE = long(2**62)


def tags(*pairs: bytes) -> bytes:
    return START + long(len(pairs) // 2) + b"".join(map(text, pairs)) + long(0)


def image(value: bytes, count: int = 1) -> bytes:
    return START + NO_TAGS + FIELDS + long(0) + long(2) + long(count) + value + long(0)


BAD = {
    "B1 no bytes": b"",
    "B2 a magic byte and an id in front": b"\0\0\0\0\x01" + WHOLE,
    "B6 a number that ends early": WHOLE[:-1] + b"\x80",
    "B7 a number of eleven bytes": b"\x80" * 10 + b"\x00" + WHOLE[1:],
    "B7 a number of ten bytes and 70 bits": b"\xff" * 9 + b"\x7f" + WHOLE[1:],
    "a number of 33 bits where 32 belong": long(2**31) + WHOLE[1:],
    "B8 a negative length, and its byte again as a block": image(long(1) + long(8) + long(-1) + long(1) + long(0)),
    "B8 a negative length of bytes": image(long(2) + text(b"") + long(-1) + long(1) + long(0)),
    "B9 a length of 2^31": image(long(1) + long(8) + long(2**31)),
    "B10 a length beyond the end": image(long(1) + long(8) + long(100) + b"1"),
    "B11 a block of another size than it says": START + long(-1) + long(9) + text(b"a") + text(b"b") + REST,
    "B11 a block of a negative size": START + long(-1) + long(-9) + text(b"a") + text(b"b") + REST,
    "B12 a block of 2^62 items": START + long(2**62) + REST,
    "B12 a block of -2^63 items": START + long(-(2**63)) + long(0) + REST,
    "B13 a thousand million nulls": image(long(0), count=10**9),
    "B14 a tag that stands twice": tags(b"a", b"1", b"a", b"2") + REST[1:],
    "B15 a branch beyond the union": image(long(13)),
    "B15 a branch of two bytes": image(b"\x80\x00"),
    "B16 a negative branch": image(long(-1) + long(0)),
    "B17 a symbol beyond the enum": HEAD[:-1] + long(17) + WHOLE[len(HEAD) :],
    "B17 a negative symbol": HEAD[:-1] + long(-1) + WHOLE[len(HEAD) :],
    "B19 text that is not UTF-8": tags(b"\xff", b"x") + REST[1:],
    "B20 bytes behind the record": WHOLE + long(1) + b"\x00",
    "B20 a number behind the record that ends early": WHOLE + b"\x80",
    "B60 a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "B60 a pickle": b"\x80\x04\x95\x0c\0\0\0\0\0\0\0\x8c\x08builtins",
    "B59 a serialized Java object": b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap",
    "a double that ends early": START + NO_TAGS + FIELDS + long(0) + long(2) + long(1) + long(4) + b"\0" * 7,
}


@pytest.mark.parametrize("value", BAD.values(), ids=BAD.keys())
def test_bytes_that_no_writer_writes_are_refused_with_their_place(value: bytes) -> None:
    with pytest.raises(Malformed) as refused:
        decode_message(raw(value), DTS)
    assert "byte " in str(refused.value.facts["place"])


def test_the_place_is_the_path_of_the_field_and_the_byte() -> None:
    with pytest.raises(Malformed, match="not a record of DTS: the length is 100, but 3 bytes are left") as refused:
        read_record(image(long(1) + long(8) + long(100) + b"1") + b"\0")
    at = len(START + NO_TAGS + FIELDS + long(0) + long(2) + long(1) + long(1) + long(8) + long(100))
    assert refused.value.facts["place"] == f"afterImages[0].value, byte {at}"


def test_blocks_of_any_size_make_one_list() -> None:
    pairs = text(b"a") + text(b"1"), text(b"b") + text(b"2")
    sized = START + long(1) + pairs[0] + long(-1) + long(len(pairs[1])) + pairs[1] + long(0)
    assert read_record(sized + WHOLE[len(START) + 1 :]).tags == {"a": "1", "b": "2"}


READ_LAXLY = {
    *("B7 a number of eleven bytes", "B7 a number of ten bytes and 70 bits", "a number of 33 bits where 32 belong"),
    *("B11 a block of another size than it says", "B11 a block of a negative size"),
    *("B14 a tag that stands twice", "B16 a negative branch", "B17 a negative symbol"),
}


@pytest.mark.parametrize("name", sorted(READ_LAXLY))
def test_a_library_reads_in_silence_what_is_refused_here(name: str) -> None:
    """When this fails, look again at docs/decisions: the library may have become strict enough to read with."""
    assert fastavro.schemaless_reader(io.BytesIO(BAD[name]), OLDER, None)


MESSAGE = dts(operation="UPDATE", beforeImages=record()["afterImages"], bornTimestamp=1696984408).value or b""


@given(st.integers(0, len(MESSAGE) - 1), st.integers(0, 7))
def test_a_changed_bit_is_seen_or_is_data(at: int, bit: int) -> None:
    changed = bytearray(MESSAGE)
    changed[at] ^= 1 << bit
    _is_refused_or_equal(bytes(changed))


@given(st.integers(0, len(MESSAGE) - 1))
def test_a_cut_message_is_refused_or_of_the_older_schema(end: int) -> None:
    _is_refused_or_equal(MESSAGE[:end])


@given(st.integers(0, len(MESSAGE) - 1), st.sampled_from([HUGE, long(-1), long(2**31), long(-(2**63)), long(10**6)]))
@example(0, HUGE)
def test_a_huge_number_anywhere_is_seen_or_is_data(at: int, number: bytes) -> None:
    _is_refused_or_equal(MESSAGE[:at] + number + MESSAGE[at + 1 :])


def _is_refused_or_equal(value: bytes) -> None:
    """A message is refused, or the library that writes DTS's schema gives the same bytes for what was read of it."""
    try:
        found = read_record(value)
    except MessageError:
        return
    stream = io.BytesIO()
    schema = NEWER if _has_born(value) else OLDER
    fastavro.schemaless_writer(stream, schema, fastavro.schemaless_reader(io.BytesIO(value), schema, None, **NAMED))
    assert read_record(stream.getvalue()) == found


NAMED = {"return_record_name": True}


def _has_born(value: bytes) -> bool:
    stream = io.BytesIO(value)
    fastavro.schemaless_reader(stream, OLDER, None)
    return stream.tell() < len(value)


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_no_bytes_crash_the_decoder(value: bytes) -> None:
    for start in (b"", START):
        try:
            decode_message(raw(start + value), DTS)
        except MessageError:
            continue


def _peak(act: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        act()
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def test_a_message_cannot_make_its_reader_spend_much_more_memory_than_its_bytes() -> None:
    """An empty DateTime is a byte for each part that it does not have, and a list of them in memory."""
    parts = image((long(6) + long(0) * 7) * 1_000_000, count=1_000_000)

    def read() -> None:
        with pytest.raises(Malformed, match="the maximum is 100000"):
            read_record(parts)

    assert _peak(read) < 1 << 20


def test_a_schema_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="this Avro schema is not supported"):
        compile_schema({"type": "fixed", "name": "x", "size": 4})
    with pytest.raises(KeyError):
        compile_schema("Unknown")
    with pytest.raises(Torn, match="more than 64 bits"):
        compile_schema("long")(b"\xff" * 11, 0)
