"""What datahub_tuple makes of records that the golden ones do not show."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import raw
from formats.test_bad_inputs import cases, value_of
from lakes import SettingsWriter
from laws.world import World, make_settings
from retable.decode.context import context_of
from retable.errors import BadValue, Blocked, InvalidSetting, Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.datahub.tuple import DataHubTupleOptions, TupleType
from retable.formats.image_text import read_image
from retable.formats.reading import Value, ValueRules, value_reader
from retable.formats.registry import decode_message, find_format
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType, parse_gold_type
from retable.model.sequence import Sequence
from retable.settings.sources import SourceSettings

TABLE = TableName("shop", None, "orders")


def named(**options: object) -> DecodeContext:
    """What is said of records without a key."""
    return DecodeContext(source_format="datahub_tuple", options=DataHubTupleOptions.model_validate(options))


def with_schema(columns: dict[str, str]) -> DataHubTupleOptions:
    named = {"database": "shop", "table": "orders", "tuple_schema": columns}
    return DataHubTupleOptions.model_validate(named)


KEYLESS = named(database="shop", table="orders")
CONTEXT = replace(KEYLESS, keys_of=lambda _: ("id",))
INSERT = {
    "_sequence_id_": "1649991610688000000",
    "_operation_type_": "I",
    "_excute_time_": "1649991726000",
    "_before_image_": "N",
    "_after_image_": "Y",
}
SCHEMA = {"id": "BIGINT", "v": "STRING"}


def record(offset: int = 7, without: str = "", schema: object = None, **columns: object) -> RawMessage:
    """An INSERT with some columns set otherwise, and perhaps with its topic's schema."""
    value = {"id": "1", "v": "x", **INSERT, **columns}
    value.pop(without, None)
    headers = () if schema is None else (("tuple_schema", json.dumps(schema).encode()),)
    message = raw(json.dumps(value, ensure_ascii=False).encode(), offset)
    return msgspec.structs.replace(message, headers=headers)


def decoded(message: RawMessage, context: DecodeContext = CONTEXT) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


PRINTED = [
    ("1649991610688000000", "I", "1649991726000", "N", "Y", "INSERT", "full", 1),
    ("1649991610688000001", "U", "1649991756000", "Y", "N", "UPDATE", "before_half", 0),
    ("1649991610688000001", "U", "1649991756000", "N", "Y", "UPDATE", "after_half", 1),
    ("1649991610688000002", "D", "1649991774000", "Y", "N", "DELETE", "full", 1),
]
"""The four records of DataWorks' documentation, which prints no column but those of Data Integration."""


@pytest.mark.parametrize(("order", "op_raw", "time", "before", "after", "op", "image", "phase"), PRINTED)
def test_a_record_as_printed_is_understood_and_only_its_key_is_missing(
    order: str, op_raw: str, time: str, before: str, after: str, op: str, image: str, phase: int
) -> None:
    names = ("_sequence_id_", "_operation_type_", "_excute_time_", "_before_image_", "_after_image_")
    message = raw(json.dumps(dict(zip(names, (order, op_raw, time, before, after), strict=True))).encode())
    (event,) = find_format("datahub_tuple").decode(message, CONTEXT)
    assert (event.op, event.op_raw, event.image, event.event_time_ms) == (op, op_raw, image, int(time))
    assert (event.sequence, event.sequence_scope, event.part) == (Sequence(0, int(order), phase), "stream", None)
    assert (event.before, event.after) == (("{}", None) if before == "Y" else (None, "{}"))
    assert (event.keys, event.keys_origin, event.column_types) == (("id",), "registry", None)
    with pytest.raises(Blocked) as blocked:
        decode_message(message, CONTEXT)
    assert blocked.value.facts["problem"] == "KEY_NOT_IN_IMAGE"
    with pytest.raises(Malformed, match="has no column of its table"):
        decode_message(message, KEYLESS)


def test_an_event_carries_the_address_the_source_epoch_and_the_system_of_the_settings() -> None:
    event = decoded(record(offset=9), replace(CONTEXT, source_epoch=3, source_system="mysql"))
    assert event.address == Address("erp", 0, 9)
    assert event.sequence == Sequence(3, 1649991610688000000, 1)
    assert (event.source_system, event.process_time_ms, event.tx_id) == ("mysql", None, None)


def test_tokens_of_a_row_stay_as_they_came_and_the_metadata_is_no_part_of_it() -> None:
    text = (record().value or b"").decode().replace('"v": "x"', '"v" : "\\u00e9\\/" , "n":1.10E+2')
    assert decoded(raw(text.encode())).after == '{"id":"1","v":"\\u00e9\\/","n":1.10E+2}'


KNOWN_FLAGS = {("I", "N", "Y"), ("U", "Y", "N"), ("U", "N", "Y"), ("D", "Y", "N")}


@pytest.mark.parametrize("op", ["I", "U", "D", "i", "", "X", "INSERT"])
@pytest.mark.parametrize("before", ["Y", "N", "", "T"])
@pytest.mark.parametrize("after", ["Y", "N", "", "T"])
def test_flags_that_do_not_fit_their_operation_are_refused(op: str, before: str, after: str) -> None:
    message = record(_operation_type_=op, _before_image_=before, _after_image_=after)
    if (op, before, after) in KNOWN_FLAGS:
        assert decoded(message).op_raw == op
        return
    with pytest.raises(UnknownOperation) as refused:
        decoded(message)
    assert refused.value.facts == {"place": "_operation_type_", "table": TABLE}


@pytest.mark.parametrize("without", ["_sequence_id_", "_operation_type_", "_before_image_", "_after_image_"])
def test_a_topic_that_data_integration_did_not_make_is_refused(without: str) -> None:
    with pytest.raises(Malformed, match=f"Data Integration.*{without}"):
        decoded(record(without=without))
    with pytest.raises(Malformed, match="Data Integration"):
        decoded(record(**{without: None}))


@pytest.mark.parametrize("order", ["-1", "", -1])
def test_a_full_load_is_below_every_change_and_only_inserts_are_of_one(order: object) -> None:
    event = decoded(record(_sequence_id_=order))
    assert (event.op, event.sequence) == ("READ", Sequence(0, -1, 1))
    for op, before, after in KNOWN_FLAGS - {("I", "N", "Y")}:
        with pytest.raises(Malformed) as refused:
            decoded(record(_sequence_id_=order, _operation_type_=op, _before_image_=before, _after_image_=after))
        assert refused.value.facts == {"place": "_sequence_id_", "table": TABLE}


@pytest.mark.parametrize("order", ["x", "1.0", "-2", "１", " 1", "1e3", "9" * 39])
def test_an_order_that_is_no_digits_is_refused(order: str) -> None:
    with pytest.raises(Malformed, match="expected digits"):
        decoded(record(_sequence_id_=order))


@pytest.mark.parametrize("order", [1.5, True, [1], {}])
def test_an_order_that_is_no_text_is_refused(order: object) -> None:
    with pytest.raises(Malformed):
        decoded(record(_sequence_id_=order))


@pytest.mark.parametrize(
    ("columns", "time"),
    [
        ({"_excute_time_": "1649991726000"}, 1649991726000),
        ({"_excute_time_": 1649991726000}, 1649991726000),
        ({"_excute_time_": None, "_execute_time_": "5"}, 5),
        ({"_excute_time_": "5", "_execute_time_": "6"}, 5),
        ({"_excute_time_": None}, None),
        ({"_excute_time_": ""}, None),
        ({"_excute_time_": "-1"}, None),
        ({"_excute_time_": "0"}, None),
    ],
)
def test_the_time_is_read_in_both_its_spellings(columns: dict[str, object], time: int | None) -> None:
    event = decoded(record(**columns))
    assert event.event_time_ms == time
    assert event.after == '{"id":"1","v":"x"}'


@pytest.mark.parametrize("time", ["2022-04-15 03:02:06", "1.5", "9" * 19])
def test_a_time_that_is_no_milliseconds_is_refused(time: str) -> None:
    with pytest.raises(Malformed, match="not a time in milliseconds"):
        decoded(record(_excute_time_=time))
    assert decoded(record(without="_excute_time_")).event_time_ms is None


def test_the_records_own_table_wins_over_that_of_the_settings() -> None:
    asked = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ("id",)

    context = replace(CONTEXT, keys_of=keys_of)
    assert decoded(record(_source_table_="Items"), context).table == "Items"
    assert decoded(record(_source_table_=""), context).table == "orders"
    assert asked == [TableName("shop", None, "Items"), TABLE]


@pytest.mark.parametrize("context", [named(database="shop"), named(table="orders")])
def test_a_record_of_no_known_table_is_blocked(context: DecodeContext) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(record(), context)
    assert blocked.value.facts["problem"] == "TABLE_UNKNOWN"


def test_without_keys_the_table_is_a_bag() -> None:
    event = decoded(record(), KEYLESS)
    assert (event.keys, event.keys_origin, event.problems) == (None, None, ("KEYS_UNKNOWN",))


# --- the topic's schema -------------------------------------------------------------------------------------------


def listed(columns: dict[str, str], **never_null: bool) -> list[dict[str, object]]:
    return [{"name": name, "type": kind, "notnull": never_null.get(name, False)} for name, kind in columns.items()]


def test_the_schema_comes_with_the_record_else_from_the_settings_else_there_is_none() -> None:
    by_settings = replace(CONTEXT, options=with_schema({"id": "STRING", "v": "STRING"}))
    assert decoded(record()).column_types is None
    assert decoded(record(), by_settings).column_types == {"id": "STRING", "v": "STRING"}
    for schema in (listed(SCHEMA), {"fields": listed(SCHEMA)}):
        assert decoded(record(schema=schema), by_settings).column_types == SCHEMA


def test_types_are_read_in_any_case_and_those_of_the_metadata_are_left_out() -> None:
    schema = listed({"id": "bigint", "v": "String", **dict.fromkeys(INSERT, "string"), "_source_table_": "string"})
    assert decoded(record(schema=schema)).column_types == SCHEMA


def test_neighbours_share_their_types() -> None:
    first, second = (decoded(record(schema=listed(SCHEMA))) for _ in range(2))
    assert first.column_types is second.column_types
    context = replace(CONTEXT, options=with_schema(SCHEMA))
    assert decoded(record(), context).column_types is decoded(record(), context).column_types


def test_an_unknown_type_is_kept_and_shown() -> None:
    event = decoded(record(schema=listed({"id": "BIGINT", "v": "JSON"})))
    assert (event.column_types, event.problems) == ({"id": "BIGINT", "v": "JSON"}, ("TYPES_UNKNOWN",))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (listed({**SCHEMA, "w": "STRING"}), "the column 'w' of the topic's schema is not in the record"),
        (listed({"id": "BIGINT"}), "the column 'v' of the record is not in the topic's schema"),
        (listed(SCHEMA, v=True), "the column 'v' is null, but the topic's schema does not allow null"),
    ],
)
def test_a_record_that_is_not_of_its_schema_is_refused(schema: object, words: str) -> None:
    with pytest.raises(BadValue, match=words) as refused:
        decoded(record(v=None, schema=schema))
    assert refused.value.facts == {"place": "tuple_schema", "table": TABLE, "keys": ('["1"]',)}


@pytest.mark.parametrize("schema", [b"", b"x", b"{}", b"[1]", b'[{"name":"id"}]', b'"BIGINT"', b"null", b"\xff"])
def test_a_header_that_is_no_schema_is_refused(schema: bytes) -> None:
    with pytest.raises(Malformed):
        decoded(msgspec.structs.replace(record(), headers=(("tuple_schema", schema),)))
    assert (
        decoded(msgspec.structs.replace(record(), headers=(("tuple_schema", None), ("other", schema)))).column_types
        is None
    )


def test_a_column_twice_in_a_schema_is_refused() -> None:
    with pytest.raises(Malformed, match="twice"):
        decoded(record(schema=[*listed(SCHEMA), *listed(SCHEMA)]))


def test_the_settings_name_the_types_that_the_format_knows() -> None:
    untold = find_format("datahub_tuple").default_type
    assert set(get_args(TupleType)) == {name for name in (*get_args(TupleType), "JSON") if untold(name) is not None}


# --- settings -----------------------------------------------------------------------------------------------------


def source(**options: object) -> SourceSettings:
    return make_settings("datahub_tuple", **options).source("shop")


def test_the_settings_of_a_source_reach_its_records() -> None:
    options = source(database="shop", table="orders", tuple_schema=SCHEMA, source_system="mysql", source_epoch=2)
    event = decoded(record(), context_of(options, lambda _: ("id",)))
    assert (event.database, event.table, event.column_types, event.keys) == ("shop", "orders", SCHEMA, ("id",))
    assert (event.source_system, event.sequence) == ("mysql", Sequence(2, 1649991610688000000, 1))


@pytest.mark.parametrize(
    ("source_format", "options", "words"),
    [
        ("datahub_tuple", "", "sources.shop.database is missing. The database of the records. Records do not name it."),
        (
            "datahub_tuple",
            'database = "shop"\nmodel = "sql"',
            "sources.shop.model is an option of lindorm_debezium, but the format of this source is datahub_tuple",
        ),
        (
            "canal_json",
            'table = "orders"',
            "sources.shop.table is an option of datahub_tuple and shareplex_json, but the format of this source",
        ),
        ("canal_jsn", "", "sources.shop.format: no format is called 'canal_jsn'; did you mean 'canal_json'?"),
    ],
)
def test_an_option_that_is_missing_or_another_formats_is_named(
    source_format: str, options: str, words: str, write_settings: SettingsWriter
) -> None:
    body = f'kind = "files"\nformat = "{source_format}"\npath = "in"\nlayout = "lines"\n{options}'
    with pytest.raises(InvalidSetting, match=re.escape(words)):
        write_settings(f"[sources.shop]\n{body}")


# --- values -------------------------------------------------------------------------------------------------------


def read(wire: str | None, gold: str, text: str, rules: ValueRules | None = None) -> Value:
    kind = parse_gold_type(gold)
    assert kind is not None
    return value_reader("datahub_tuple", wire, kind, rules or ValueRules())(text)


@pytest.mark.parametrize(
    ("wire", "gold", "text", "value"),
    [
        *[("BOOLEAN", "boolean", text, True) for text in ("True", "true", "1")],
        *[("BOOLEAN", "boolean", text, False) for text in ("False", "false", "0")],
        ("TIMESTAMP", "timestamptz", "1649991779000001", 1649991779000001),
        ("TIMESTAMP", "timestamptz", "-1", -1),
        ("TIMESTAMP", "timestamp", "1649991779000001", 1650020579000001),
        ("TIMESTAMP", "string", "1649991779000001", "2022-04-15 11:02:59.000001"),
        ("TIMESTAMP", "string", "1649991779120000", "2022-04-15 11:02:59.120"),
        ("TIMESTAMP", "string", "1649991779000000", "2022-04-15 11:02:59"),
        ("TIMESTAMP", "date", "57600000000", 1),
        ("TINYINT", "int", "-128", -128),
        ("BIGINT", "decimal(20,0)", "18446744073709551615", Decimal(2**64 - 1)),
        ("DOUBLE", "double", "1.0000000000000001e-01", 0.1),
        ("DOUBLE", "string", "1.0000000000000001e-01", "0.1"),
        ("FLOAT", "float", "1.1", 1.100000023841858),
        ("DECIMAL", "string", "12345678901234567890.10", "12345678901234567890.10"),
        ("DECIMAL", "decimal(22,2)", "12345678901234567890.10", Decimal("12345678901234567890.10")),
        ("STRING", "timestamp", "2022-04-15 03:02:59", 1649991779000000),
        ("JSON", "string", '{"k": 1}', '{"k": 1}'),
        (None, "long", "7", 7),
    ],
)
def test_a_value_becomes_what_its_column_is(wire: str | None, gold: str, text: str, value: Value) -> None:
    assert read(wire, gold, text, ValueRules("Asia/Shanghai")) == value


@pytest.mark.parametrize(
    ("wire", "gold", "text"),
    [
        ("BOOLEAN", "boolean", "TRUE"),
        ("BOOLEAN", "boolean", "yes"),
        ("BIGINT", "long", "9223372036854775808"),
        ("BIGINT", "long", ""),
        ("BIGINT", "long", "N/A"),
        ("TIMESTAMP", "timestamptz", "2022-04-15 03:02:59"),
        ("TIMESTAMP", "timestamptz", "253402300800000000"),
        ("TIMESTAMP", "date", "1"),
        ("DECIMAL", "decimal(4,2)", "1.234"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(wire: str, gold: str, text: str) -> None:
    with pytest.raises(BadValue):
        read(wire, gold, text)


@pytest.mark.parametrize(
    ("encoding", "text", "octets"),
    [("utf-8", "é", b"\xc3\xa9"), ("base64", "AP8=", b"\x00\xff"), ("hex", "00fF", b"\x00\xff")],
)
def test_text_spells_bytes_as_the_source_says(encoding: str, text: str, octets: bytes) -> None:
    rules = ValueRules(binary_encoding=encoding)
    assert read("STRING", "binary", text, rules) == octets
    assert read("STRING", "string", text, rules) == text


@pytest.mark.parametrize(("encoding", "text"), [("base64", "AP8"), ("base64", "é"), ("hex", "0"), ("hex", "0x00")])
def test_text_that_does_not_spell_bytes_so_is_refused(encoding: str, text: str) -> None:
    with pytest.raises(BadValue):
        read("STRING", "binary", text, ValueRules(binary_encoding=encoding))


# --- the way to gold ----------------------------------------------------------------------------------------------


def half(order: int, before: bool, **columns: object) -> RawMessage:
    flags = {"_before_image_": "Y" if before else "N", "_after_image_": "N" if before else "Y"}
    return record(order, _operation_type_="U", _sequence_id_=str(order), **flags, **columns)


def test_halves_in_the_wrong_order_end_as_the_source_has_it() -> None:
    settings = make_settings(
        "datahub_tuple", {"shop.orders": {"keys": ["id"]}}, database="shop", table="orders", tuple_schema=SCHEMA
    )
    world = World(settings)
    inserts = [record(1, _sequence_id_="1", id="1", v="old"), record(2, _sequence_id_="2", id="5", v="other")]
    world.deliver(inserts)
    world.deliver([half(3, before=False, id="1", v="new"), half(3, before=True, id="1", v="old")])
    world.deliver([half(4, before=False, id="2", v="new"), half(4, before=True, id="1", v="new")])
    for window in (*world.names, world.names[0]):
        world.replay(window)
    assert world.gold()["gold_shop.orders"].rows == ('{"id": 2, "v": "new"}', '{"id": 5, "v": "other"}')


def test_a_table_without_a_key_is_right_whatever_shard_its_records_came_from() -> None:
    world = World(make_settings("datahub_tuple", database="shop", table="orders"))
    world.deliver([record(1, _sequence_id_="1"), record(2, _sequence_id_="2"), record(3, _sequence_id_="3", v="y")])
    world.deliver([half(4, before=False, id="1", v="z"), half(4, before=True, id="1", v="x")])
    gone = {"_operation_type_": "D", "_sequence_id_": "5", "_before_image_": "Y", "_after_image_": "N"}
    world.deliver([record(5, **gone, v="y"), record(6, **gone, v="y")])
    for window in (*world.names, *world.names):
        world.replay(window)
    assert world.gold()["gold_shop.orders"].rows == ('{"id": "1", "v": "x"}', '{"id": "1", "v": "z"}')


def test_bytes_in_text_reach_gold_as_the_settings_say() -> None:
    tables = {"shop.orders": {"keys": ["id"], "types": {"v": "binary"}}}
    world = World(make_settings("datahub_tuple", tables, database="shop", table="orders", binary_encoding="hex"))
    world.deliver([record(v="00ff")])
    world.replay(world.names[0])
    assert world.gold()["gold_shop.orders"].rows == ('{"id": "1", "v": "AP8="}',)


# --- the law: what is encoded by the documentation comes back -----------------------------------------------------

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda n: n not in INSERT)
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "TINYINT": st.integers(-128, 127),
    "SMALLINT": st.integers(-(2**15), 2**15 - 1),
    "INTEGER": st.integers(-(2**31), 2**31 - 1),
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "FLOAT": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "DECIMAL": st.decimals(allow_nan=False, allow_infinity=False, places=4).map(lambda number: f"{number:f}"),
    "BOOLEAN": st.booleans(),
    "TIMESTAMP": st.datetimes().map(lambda time: (time.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)),
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
}
"""Values of gold, of the type that a column of this type of DataHub has."""


@st.composite
def changes(draw: st.DrawFn) -> tuple[tuple[str, str, str], dict[str, str], dict[str, Value]]:
    columns = draw(st.dictionaries(names, st.sampled_from(sorted(VALUES)), min_size=1, max_size=6))
    row = draw(st.fixed_dictionaries({name: st.none() | VALUES[wire] for name, wire in columns.items()}))
    return draw(st.sampled_from(sorted(KNOWN_FLAGS))), columns, row


@given(changes(), st.integers(0, 10**38 - 1))
def test_what_is_encoded_by_the_documentation_comes_back(
    change: tuple[tuple[str, str, str], dict[str, str], dict[str, Value]], order: int
) -> None:
    (op, before, after), columns, row = change
    texts = {name: None if value is None else str(value) for name, value in row.items()}
    meta = {**INSERT, "_sequence_id_": str(order), "_operation_type_": op, "_before_image_": before}
    value = json.dumps({**meta, "_after_image_": after, **texts}, ensure_ascii=False).encode()
    headers = (("tuple_schema", json.dumps({"fields": listed(columns)}).encode()),)
    event = decoded(msgspec.structs.replace(raw(value), headers=headers), KEYLESS)
    assert (event.op_raw, event.column_types) == (op, columns)
    assert event.sequence == Sequence(0, order, 0 if (op, before) == ("U", "Y") else 1)
    image = event.before if before == "Y" else event.after
    assert image is not None
    assert (event.before is None) == (before == "N")
    assert {name: shown(columns[name], text) for name, text in read_image(image).items()} == row


def shown(wire: str, text: str | None) -> Value:
    kind = find_format("datahub_tuple").default_type(wire)
    assert isinstance(kind, GoldType)
    return value_reader("datahub_tuple", wire, kind, ValueRules())(text)


VALUE = record(v=None).value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed record is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        event = decoded(raw(value), KEYLESS)
    except MessageError:
        return
    found = json.loads(value)
    meta = {name: found.pop(name, None) for name in (*INSERT, "_source_table_", "_execute_time_")}
    assert event.op_raw == meta["_operation_type_"]
    assert event.sequence is not None
    assert event.sequence.hi == int(meta["_sequence_id_"])
    assert event.event_time_ms == (int(meta["_excute_time_"] or 0) or None)
    assert json.loads(event.after or "null") == found


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_why_a_record_is_no_json_is_told(case: dict[str, object]) -> None:
    with pytest.raises(MessageError) as refused:
        decoded(raw(value_of(case)))
    assert refused.value.code == ("TOO_LARGE" if case["outcome"] == "TOO_LARGE" else "MALFORMED")
