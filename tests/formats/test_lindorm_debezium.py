"""What lindorm_debezium makes of messages that the golden ones do not show."""

import base64
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import raw
from formats.test_bad_inputs import cases, value_of
from laws.world import World, make_settings
from retable.decode.context import context_of
from retable.errors import BadValue, Blocked, Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.lindorm_debezium import LindormOptions
from retable.formats.reading import Value, ValueRules, value_reader
from retable.formats.registry import decode_message, find_format
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType, parse_gold_type
from retable.model.sequence import Sequence

TABLE = TableName("ld-x", "shop", "t")
SQL = DecodeContext(source_format="lindorm_debezium", keys_of=lambda _: ("id",))
KEYLESS = DecodeContext(source_format="lindorm_debezium")
HBASE = DecodeContext(source_format="lindorm_debezium", options=LindormOptions(model="hbase"))
SOURCE = {"version": "v2.0", "db": "ld-x", "namespace": "shop", "table": "t", "ts_ms": 1700000000000}
Row = Mapping[str, object]


def message(
    op: str = "c",
    before: Row | None = None,
    after: Row | None = None,
    schema: object = None,
    source: Row | None = None,
    offset: int = 7,
) -> RawMessage:
    """A message; without an image it is an insert of one."""
    image = {"id": 1, "c": "x"} if before is None and after is None and op == "c" else after
    payload = {
        "op": op,
        "ts_ms": 1700000000007,
        "before": before,
        "after": image,
        "source": {**SOURCE, **(source or {})},
    }
    document = {"schema": {} if schema is None else schema, "payload": payload}
    return raw(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode(), offset)


def schema_of(columns: Mapping[str, str], parts: tuple[str, ...] = ("before", "after")) -> dict[str, object]:
    """The schema part, as Kafka Connect describes a struct; `bytes as Decimal` has a semantic type."""
    fields = []
    for name, told in columns.items():
        kind, _, meaning = told.partition(" as ")
        fields.append({"type": kind, "optional": False, "field": name, **({"name": meaning} if meaning else {})})
    images = [{"type": "struct", "fields": fields, "optional": True, "field": part} for part in parts]
    return {"type": "struct", "fields": [{"type": "string", "optional": False, "field": "op"}, *images]}


def decoded(message: RawMessage, context: DecodeContext = SQL) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


def test_an_event_carries_the_address_and_the_source_epoch_and_compares_in_its_partition() -> None:
    event = decoded(message(offset=9), replace(SQL, source_epoch=3))
    assert (event.address, event.sequence) == (Address("erp", 0, 9), Sequence(3, 9, 0))
    assert (event.sequence_scope, event.part) == ("partition", "erp/0")
    assert (event.source_system, event.table_name, event.tx_id) == ("lindorm", TABLE, None)
    assert not find_format("lindorm_debezium").partitions_in_order


def test_tokens_of_a_row_stay_as_the_message_wrote_them() -> None:
    text = (message().value or b"").decode().replace('{"id":1,"c":"x"}', '{"id": 1.10E+2 , "c":"\\u00e9\\/"}')
    assert decoded(raw(text.encode())).after == '{"id":1.10E+2,"c":"\\u00e9\\/"}'


ROW = {"id": 1, "c": "x"}
FILLED = {("c", False, True), ("r", False, True), ("u", True, True), ("u", False, True), ("d", True, False)}


@pytest.mark.parametrize("op", ["c", "u", "d", "r"])
@pytest.mark.parametrize("before", [None, {}, ROW])
@pytest.mark.parametrize("after", [None, {}, ROW])
def test_images_that_do_not_fit_their_operation_are_refused(op: str, before: Row | None, after: Row | None) -> None:
    document = json.loads(message(op, ROW).value or b"")
    document["payload"] |= {"before": before, "after": after}
    value = raw(json.dumps(document).encode())
    if (op, bool(before), bool(after)) in FILLED:
        event = decoded(value)
        assert (event.before is not None, event.after is not None) == (bool(before), bool(after))
        return
    with pytest.raises(Malformed, match=f"{op} is not valid with .* image") as refused:
        decoded(value)
    assert refused.value.facts == {"place": "payload", "table": TABLE}


@pytest.mark.parametrize("op", ["C", "t", "m", "", "create"])
def test_an_operation_that_lindorm_does_not_have_is_refused(op: str) -> None:
    with pytest.raises(UnknownOperation) as refused:
        decoded(message(op, ROW, ROW))
    assert refused.value.facts == {"place": "payload.op", "table": TABLE}


def test_a_column_that_is_missing_behind_the_change_is_null_in_front_of_whatever_the_message_has() -> None:
    event = decoded(message("u", {"id": 1, "a": "x", "b": None, "c": 2}, {"c": 3, "id": 1, "d": 4}))
    assert event.after == '{"c":3,"id":1,"d":4,"a":null,"b":null}'
    assert event.before == '{"id":1,"a":"x","b":null,"c":2}'
    assert not event.partial_after


def test_a_key_column_that_was_deleted_blocks_the_message() -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(message("u", ROW, {"c": "y"}))
    assert (blocked.value.facts["problem"], blocked.value.facts["table"]) == ("KEY_NOT_IN_IMAGE", TABLE)
    assert '["1"]' in blocked.value.facts["keys"]


def test_the_namespace_is_the_schema_of_the_table_and_may_be_empty() -> None:
    asked = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ("id",)

    assert decoded(message(source={"namespace": ""}), replace(SQL, keys_of=keys_of)).schema is None
    assert asked == [TableName("ld-x", None, "t")]


@pytest.mark.parametrize("part", ["db", "table"])
def test_a_message_of_no_known_table_is_blocked(part: str) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(message(source={part: ""}))
    assert blocked.value.facts["problem"] == "TABLE_UNKNOWN"


@pytest.mark.parametrize("part", ["db", "namespace", "table", "ts_ms"])
@pytest.mark.parametrize("value", [None, [], {}, 1.5, True])
def test_a_source_part_that_is_none_is_refused(part: str, value: object) -> None:
    with pytest.raises(Malformed):
        decoded(message(source={part: value}))


@pytest.mark.parametrize("time", [-1, 0])
def test_a_time_before_time_is_unknown(time: int) -> None:
    assert decoded(message(source={"ts_ms": time})).event_time_ms is None


def test_a_message_without_a_value_is_refused() -> None:
    with pytest.raises(Malformed, match="no value"):
        decoded(raw(None))


def test_a_message_of_debezium_is_none_of_lindorm() -> None:
    source = {"version": "2.1.4.Final", "connector": "mysql", "name": "a", "db": "shop", "table": "t", "ts_ms": 1}
    payload = {"op": "c", "ts_ms": 2, "before": None, "after": ROW, "source": source}
    with pytest.raises(Malformed, match="namespace"):
        decoded(raw(json.dumps({"schema": {}, "payload": payload}).encode()))


# --- the schema part ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [{}, {"type": "struct"}, {"fields": []}, schema_of({}, ())])
def test_without_a_schema_there_are_no_types_and_that_is_no_problem(schema: object) -> None:
    event = decoded(message(schema=schema))
    assert (event.column_types, event.problems) == (None, ())


def test_types_are_those_of_both_images_and_neighbours_share_them() -> None:
    schema = schema_of({"id": "int64", "c": "string"})
    first, second = decoded(message(schema=schema)), decoded(message("u", ROW, ROW, schema))
    assert first.column_types == {"id": "int64", "c": "string"}
    assert first.column_types is second.column_types
    only_before = decoded(message("d", ROW, schema=schema_of({"id": "int64", "c": "string"}, ("before",))))
    assert only_before.column_types == {"id": "int64", "c": "string"}


def test_a_semantic_type_stands_for_its_values_and_is_unknown() -> None:
    event = decoded(message(schema=schema_of({"id": "int64", "c": "bytes as org.example.Decimal"})))
    assert (event.column_types, event.problems) == ({"id": "int64", "c": "org.example.Decimal"}, ("TYPES_UNKNOWN",))


def test_a_column_that_the_schema_does_not_describe_is_refused() -> None:
    with pytest.raises(BadValue, match="the column 'c' of the row is not in the schema part") as refused:
        decoded(message("u", ROW, {"id": 2, "c": "y"}, schema_of({"id": "int64"})))
    assert refused.value.facts == {"place": "schema", "table": TABLE, "keys": ('["1"]', '["2"]')}


def test_a_column_of_two_types_is_refused() -> None:
    both = [*_fields(schema_of({"id": "int64"}, ("before",))), *_fields(schema_of({"id": "string"}, ("after",)))]
    with pytest.raises(Malformed, match="the column 'id' has the types 'int64' and 'string'"):
        decoded(message("u", {"id": 1}, {"id": 1}, {"fields": both}))


def _fields(schema: dict[str, object]) -> list[object]:
    fields = schema["fields"]
    assert isinstance(fields, list)
    return fields


@pytest.mark.parametrize("schema", ["", 1, [], {"fields": {}}, {"fields": [1]}, {"fields": [{"fields": [{}]}]}])
def test_a_schema_that_is_none_is_refused(schema: object) -> None:
    with pytest.raises(Malformed, match="schema part is unreadable") as refused:
        decoded(message(schema=schema))
    assert refused.value.facts["place"] == "schema"


# --- tables of the HBase interface --------------------------------------------------------------------------------


def b64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def test_the_key_of_hbase_is_row_whatever_the_settings_name() -> None:
    row = {"ROW": b64(b"user1"), "f_name": b64(b"lucky"), "f_a_b": None}
    event = decoded(message(after=row), replace(HBASE, keys_of=lambda _: ("f_name",)))
    assert (event.keys, event.keys_origin, event.problems) == (("ROW",), "hbase_row", ())
    assert event.column_types == dict.fromkeys(row, "base64")


def test_a_row_of_hbase_without_row_blocks_the_message() -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(message(after={"f_name": "bHVja3k="}), HBASE)
    assert blocked.value.facts["problem"] == "KEY_NOT_IN_IMAGE"


@pytest.mark.parametrize("value", [1, True, [], {"a": "b"}])
def test_a_value_of_hbase_is_text_or_null(value: object) -> None:
    with pytest.raises(BadValue, match="the column 'f_n' is not base64 text; .* `model = .sql.`") as refused:
        decoded(message(after={"ROW": "dXNlcjE=", "f_n": value}), HBASE)
    assert refused.value.facts == {"place": "payload", "table": TABLE, "keys": ('["dXNlcjE="]',)}


def test_the_schema_of_hbase_says_nothing_of_its_bytes() -> None:
    schema = schema_of({"ROW": "string", "f_n": "string"})
    event = decoded(message(after={"ROW": "AA==", "f_n": "AQ=="}, schema=schema), HBASE)
    assert event.column_types == {"ROW": "base64", "f_n": "base64"}


def test_neighbours_of_hbase_share_their_types() -> None:
    first, second = (decoded(message(after={"ROW": "AA==", "f_n": "AQ=="}), HBASE) for _ in range(2))
    assert first.column_types is second.column_types


def test_the_model_is_an_option_of_the_source() -> None:
    source = make_settings("lindorm_debezium", model="hbase").source("shop")
    assert decoded(message(after={"ROW": "AA=="}), context_of(source)).keys_origin == "hbase_row"


# --- values -------------------------------------------------------------------------------------------------------


def read(wire: str | None, gold: str, text: str) -> Value:
    kind = parse_gold_type(gold)
    assert kind is not None
    return value_reader("lindorm_debezium", wire, kind, ValueRules())(text)


@pytest.mark.parametrize(
    ("wire", "gold", "text", "value"),
    [
        ("int8", "int", "-128", -128),
        ("int64", "long", "9223372036854775807", 2**63 - 1),
        ("int64", "string", "1004", "1004"),
        ("float32", "float", "1.1", 1.100000023841858),
        ("float64", "double", "1.0E-300", 1e-300),
        ("boolean", "boolean", "true", True),
        ("bytes", "binary", "AP8=", b"\x00\xff"),
        ("base64", "binary", "dXNlcjE=", b"user1"),
        ("base64", "string", "dXNlcjE=", "user1"),
        ("org.example.Decimal", "string", "EFo=", "EFo="),
        (None, "string", "1004", "1004"),
        (None, "long", "1004", 1004),
        (None, "boolean", "true", True),
        (None, "binary", "AP8=", b"\x00\xff"),
    ],
)
def test_a_value_becomes_what_its_column_is(wire: str | None, gold: str, text: str, value: Value) -> None:
    assert read(wire, gold, text) == value


@pytest.mark.parametrize(
    ("wire", "gold", "text"),
    [
        ("int32", "int", "2147483648"),
        ("int64", "long", "1.0"),
        ("bytes", "binary", "AP8"),
        ("base64", "binary", "lucky!"),
        ("base64", "string", "/w=="),
        ("base64", "long", "AAAAAAAAACo="),
        (None, "binary", "é"),
        ("boolean", "boolean", "2"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(wire: str | None, gold: str, text: str) -> None:
    with pytest.raises(BadValue):
        read(wire, gold, text)


# --- the way to gold ----------------------------------------------------------------------------------------------


def test_a_deleted_column_is_null_in_gold_and_a_new_one_is_added() -> None:
    world = World(make_settings("lindorm_debezium", {"ld-x.shop.t": {"keys": ["id"], "types": {"id": "long"}}}))
    rows = [{"id": 1, "first": "Anne Marie", "last": "K"}, {"id": 1, "first": "Anne Marie"}]
    world.deliver([message(after=rows[0], offset=1), message("u", *rows, offset=2)])
    world.deliver([message("u", None, {"id": 2, "mail": "a@b"}, offset=3), message("d", {"id": 7}, offset=2)])
    world.deliver([message("u", {"id": 2, "mail": "a@b"}, {"id": 3, "mail": "a@b"}, offset=4)])
    world.deliver([message(after={"id": 4, "first": "Jo", "last": "D"}, offset=5)])
    world.deliver([message("u", None, {"id": 4, "last": "D"}, offset=6)])
    for window in (*world.names, world.names[0]):
        world.replay(window)
    (gold,) = world.gold().values()
    assert gold.columns == ("id", "first", "last", "mail")
    assert gold.rows == (
        '{"id": 1, "first": "Anne Marie", "last": null, "mail": null}',
        '{"id": 3, "first": null, "last": null, "mail": "a@b"}',
        '{"id": 4, "first": null, "last": "D", "mail": null}',
    )


def test_bytes_of_hbase_are_bytes_in_gold_and_its_rows_have_whatever_columns_they_have() -> None:
    world = World(make_settings("lindorm_debezium", {"*": {"types": {"f_name": "string"}}}, model="hbase"))
    full = {"ROW": b64(b"u1"), "f_name": b64(b"lucky"), "f_age": b64(b"\x00\x2a")}
    world.deliver([message(after=full, offset=1), message(after={"ROW": b64(b"u2")}, offset=2)])
    world.deliver([message("u", full, {"ROW": b64(b"u1"), "f_name": b64(b"joe")}, offset=3)])
    for window in world.names:
        world.replay(window)
    (gold,) = world.gold().values()
    assert gold.rows == (
        '{"row": "dTE=", "f_name": "joe", "f_age": null}',
        '{"row": "dTI=", "f_name": null, "f_age": null}',
    )


# --- the law: what is encoded by the documentation comes back -----------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "int8": st.integers(-128, 127),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float32": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    "bytes": st.binary(max_size=12),
}
"""Values of gold, of the type that a column of this type of Kafka Connect has."""

Values = dict[str, Value]


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, dict[str, str], Values | None, Values | None]:
    """An operation, the types of the columns, and rows that lack what is NULL."""
    columns = draw(st.dictionaries(names, st.sampled_from(sorted(VALUES)), min_size=1, max_size=6))
    rows = st.fixed_dictionaries({}, optional={name: VALUES[kind] for name, kind in columns.items()}).filter(bool)
    op, before, after = draw(st.sampled_from(sorted(FILLED)))
    return op, columns, draw(rows) if before else None, draw(rows) if after else None


@given(changes(), st.integers(0, 2**63 - 1))
def test_what_is_encoded_by_the_documentation_comes_back(
    change: tuple[str, dict[str, str], Values | None, Values | None], offset: int
) -> None:
    op, columns, before, after = change
    images = [row and {name: encoded(value) for name, value in row.items()} for row in (before, after)]
    event = decoded(message(op, *images, schema_of(columns), offset=offset), KEYLESS)
    assert (event.op_raw, event.sequence, event.column_types) == (op, Sequence(0, offset, 0), columns)
    assert values(event.before, columns) == before
    deleted = dict.fromkeys(name for name in before or {} if after is not None and name not in after)
    assert values(event.after, columns) == (None if after is None else after | deleted)


def encoded(value: Value) -> object:
    """A value as Kafka Connect writes it into JSON."""
    return b64(value) if isinstance(value, bytes) else value


def values(image: str | None, columns: dict[str, str]) -> Values | None:
    if image is None:
        return None
    kinds = {name: find_format("lindorm_debezium").default_type(kind) for name, kind in columns.items()}
    return {name: shown(columns[name], kinds[name], text) for name, text in read_image(image).items()}


def shown(wire: str, kind: object, text: str | None) -> Value:
    assert isinstance(kind, GoldType)
    return value_reader("lindorm_debezium", wire, kind, ValueRules())(text)


@given(st.dictionaries(names, st.none() | st.binary(max_size=12), max_size=5), st.binary(min_size=1, max_size=12))
def test_bytes_of_hbase_come_back(row: dict[str, bytes | None], key: bytes) -> None:
    whole = {**row, "ROW": key}
    event = decoded(message(after={name: encoded(octets) for name, octets in whole.items()}), HBASE)
    assert values(event.after, dict.fromkeys(whole, "base64")) == whole


VALUE = message("u", {"id": 1, "c": "x"}, {"id": 1, "c": None}, schema_of({"id": "int64", "c": "string"})).value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        event = decoded(raw(value), KEYLESS)
    except MessageError:
        return
    found = json.loads(value)
    payload, source = found["payload"], found["payload"]["source"]
    assert (event.op_raw, event.database, event.table) == (payload["op"], source["db"], source["table"])
    assert (event.schema or "", event.event_time_ms) == (source["namespace"], source["ts_ms"])
    before, after = payload.get("before"), payload.get("after")
    assert json.loads(event.before or "null") == before
    assert json.loads(event.after or "null") == {**dict.fromkeys(before or {}), **after}
    schema = found.get("schema") or {}
    parts = [part for part in schema.get("fields", ()) if part.get("field") in ("before", "after")]
    listed = {column["field"]: column["type"] for part in parts for column in part.get("fields", ())}
    assert (event.column_types or {}) == listed


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_why_a_message_is_no_json_is_told(case: dict[str, object]) -> None:
    with pytest.raises(MessageError) as refused:
        decoded(raw(value_of(case)))
    assert refused.value.code == ("TOO_LARGE" if case["outcome"] == "TOO_LARGE" else "MALFORMED")
