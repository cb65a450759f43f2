"""What streamx_json makes of messages that the golden ones do not show."""

import base64
import json
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import STREAMX, raw, streamx
from retable.errors import BadValue, Blocked, Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.reading import Value, ValueRules, value_reader
from retable.formats.registry import decode_message, find_format
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.schema_change import DropTable, NoChange
from retable.model.sequence import Sequence

TABLE = TableName("shop", None, "t")
ORACLE = {"dbType": "Oracle", "dbName": "ERP", "schemaName": "SALES", "tableName": "ORDERS"}


def decoded(message: RawMessage, context: DecodeContext = STREAMX) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


def test_tokens_of_a_row_stay_as_the_message_wrote_them() -> None:
    text = (streamx().value or b"").decode().replace('{"id":1,"c":"x"}', '{"id": 1.10E+2 , "c":"\\u00e9\\/"}')
    assert decoded(raw(text.encode())).after == '{"id":1.10E+2,"c":"\\u00e9\\/"}'


def test_an_event_carries_the_address_and_the_source_epoch_and_compares_everywhere() -> None:
    event = decoded(streamx(), DecodeContext(source_format="streamx_json", source_epoch=3))
    assert event.address == Address("erp", 0, 7)
    assert event.sequence == Sequence(3, 1700000000000000001, 1)
    assert (event.sequence_scope, event.part) == ("stream", None)


@pytest.mark.parametrize(
    ("source", "setting", "system"),
    [("MySQL", "oracle", "mysql"), (None, "oracle", "oracle"), ("", "oracle", "oracle"), (None, None, None)],
)
def test_the_system_is_the_messages_else_that_of_the_settings(
    source: str | None, setting: str | None, system: str | None
) -> None:
    message = streamx(source={"dbType": source, "dbName": "shop", "tableName": "t"})
    assert decoded(message, DecodeContext(source_format="streamx_json", source_system=setting)).source_system == system


def test_halves_of_an_update_share_all_of_the_order_but_the_phase() -> None:
    before = decoded(streamx(op="UPDATE_BEFOR", before={"id": 1, "c": "x"}, after=None))
    after = decoded(streamx(op="UPDATE_AFTER"))
    assert (before.image, before.sequence) == ("before_half", Sequence(0, 1700000000000000001, 0))
    assert (after.image, after.sequence) == ("after_half", Sequence(0, 1700000000000000001, 1))


def test_orders_of_19_digits_are_told_apart_and_a_full_load_is_below_all() -> None:
    orders = [decoded(streamx(sequenceId=text)) for text in ("1731663842292000000", "1731663842292000001", "-1", "0")]
    first, second, load, zero = (event.sequence for event in orders)
    assert load is not None
    assert zero is not None
    assert first is not None
    assert second is not None
    assert load < zero < first < second
    assert [event.op for event in orders] == ["INSERT", "INSERT", "READ", "INSERT"]


def test_only_an_insert_is_a_row_of_a_full_load() -> None:
    assert decoded(streamx(op="DELETE", before={"id": 1, "c": "x"}, after=None, sequenceId="-1")).op == "DELETE"


@pytest.mark.parametrize("time", [-1, 0])
def test_a_time_before_time_is_unknown(time: int) -> None:
    for op in ("INSERT", "MHEARTBEAT"):
        event = decoded(streamx(op=op, timestamp={"eventTime": time, "systemTime": time}))
        assert (event.event_time_ms, event.process_time_ms) == (None, None)


def test_keys_of_the_message_win_over_all_others() -> None:
    columns = {"id": "LONG", "#alibaba_rds_row_id#": "LONG", "rowid": "STRING"}
    message = streamx(columns, source=ORACLE, after={"id": 1, "#alibaba_rds_row_id#": 2, "rowid": "A"})
    event = decoded(message, DecodeContext(source_format="streamx_json", keys_of=lambda _: ("c",)))
    assert (event.keys, event.keys_origin) == (("id",), "message")


@pytest.mark.parametrize("name", ["#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__"])
@pytest.mark.parametrize("missing", [None, []])
def test_a_hidden_row_id_is_the_key_of_a_table_without_one(name: str, missing: list[str] | None) -> None:
    message = streamx({name: "LONG", "c": "STRING"}, keys=missing, after={name: 15, "c": "x"})
    event = decoded(message, DecodeContext(source_format="streamx_json", keys_of=lambda _: ("c",)))
    assert (event.keys, event.keys_origin) == ((name,), "hidden_row_id")


def test_keys_come_from_the_settings_where_the_message_has_none() -> None:
    asked = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ("ID",)

    message = streamx({"ID": "LONG", "rowid": "STRING"}, source=ORACLE, keys=None, after={"ID": 1, "rowid": "A"})
    event = decoded(message, DecodeContext(source_format="streamx_json", keys_of=keys_of))
    assert (event.keys, event.keys_origin) == (("ID",), "registry")
    assert asked == [TableName("ERP", "SALES", "ORDERS")]


def test_oracles_rowid_is_the_last_resort_as_a_key_and_else_no_column() -> None:
    columns, row = {"ID": "LONG", "rowid": "STRING"}, {"ID": 1, "rowid": "A"}
    event = decoded(streamx(columns, source=ORACLE, keys=None, after=row))
    assert (event.keys, event.keys_origin, event.after) == (("rowid",), "hidden_row_id", '{"ID":1,"rowid":"A"}')
    event = decoded(streamx(columns, source=ORACLE, keys=("ID",), op="UPDATE_AFTER", before=row, after=row))
    assert (event.before, event.after, event.column_types) == ('{"ID":1}', '{"ID":1}', {"ID": "LONG"})


def test_a_rowid_of_another_system_is_a_column_like_any_other() -> None:
    event = decoded(streamx({"rowid": "STRING"}, keys=None, after={"rowid": "A"}))
    assert (event.keys, event.after, event.problems) == (None, '{"rowid":"A"}', ("KEYS_UNKNOWN",))


def test_neighbours_of_one_table_share_their_types() -> None:
    assert decoded(streamx()).column_types is decoded(streamx(op="UPDATE_AFTER")).column_types


def test_a_torn_image_names_the_column_the_table_and_the_key() -> None:
    with pytest.raises(BadValue, match="the column 'c', which `dataColumn` of the schema part lists") as refused:
        decoded(streamx(op="UPDATE_AFTER", before={"id": 5}))
    assert refused.value.facts == {"place": "payload.before.dataColumn", "table": TABLE, "keys": ('["5"]',)}


def test_a_blocked_message_names_the_keys_before_and_after() -> None:
    message = streamx(op="UPDATE_AFTER", keys=["id", "no"], before={"id": 5, "c": "x"})
    with pytest.raises(Blocked) as blocked:
        decoded(message)
    assert (blocked.value.facts["problem"], blocked.value.facts["table"]) == ("KEY_NOT_IN_IMAGE", TABLE)
    assert blocked.value.facts["keys"] == ('["5",null]', '["1",null]')


def test_a_refusal_names_the_table_where_the_message_does() -> None:
    with pytest.raises(UnknownOperation) as refused:
        decoded(streamx(op="VACUUM"))
    assert refused.value.facts["table"] == TABLE


@pytest.mark.parametrize("op", ["CREATE", "ALTER", "RENAME", "ERASE", "CINDEX", "DINDEX", "TRUNCATE"])
def test_a_statement_has_a_place_in_the_order_and_its_text_as_it_is(op: str) -> None:
    event = decoded(streamx(op=op, after=None, ddl={"text": " ADD COLUMN ...\n", "ddlMeta": "rO0AB"}))
    assert (event.op, event.op_raw) == ("TRUNCATE" if op == "TRUNCATE" else "DDL", op)
    assert (event.sequence, event.sequence_scope) == (Sequence(0, 1700000000000000001, 1), "stream")
    assert (event.ddl_text, event.table_name, event.kind) == (" ADD COLUMN ...\n", TABLE, "schema")
    with pytest.raises(Malformed) as refused:
        decoded(streamx(op=op, after=None, sequenceId=None))
    assert refused.value.facts == {"place": "payload.sequenceId", "table": TABLE}


def test_the_java_object_of_a_statement_is_nowhere_in_its_event() -> None:
    event = decoded(streamx(op="ALTER", after=None, ddl={"text": "x", "ddlMeta": "rO0ABthis is no base64"}))
    assert "rO0AB" not in repr(event)


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("drop table t", "DDL"),
        ("  ;\n ALTER TABLE t ADD c int", "DDL"),
        ("/* a */ -- b\n # c\n/**/create table t (id int)", "DDL"),
        ("/*!40101 truncate table t */", "DDL"),
        ("rename\ntable t to u", "DDL"),
        ("SET STATEMENT max_statement_time=1 FOR DROP TABLE t", "DDL"),
        ("BEGIN", "OTHER"),
        ("insert into t values ('drop table t')", "OTHER"),
        ("/* drop table t */", "OTHER"),
        ("-- drop table t", "OTHER"),
        ("/* drop table t", "OTHER"),
        ("created_at", "OTHER"),
        ("", "OTHER"),
        ("/**/" * 5_000 + "/*", "OTHER"),
    ],
)
def test_a_query_is_a_statement_only_where_it_begins_like_one(text: str, op: str) -> None:
    event = decoded(streamx(op="QUERY", after=None, ddl={"text": text}))
    assert (event.op, event.ddl_text) == (op, text or None)
    assert (event.sequence is not None) == (op == "DDL")


@pytest.mark.parametrize("op", ["TRANSACTION_BEGIN", "TRANSACTION_END", "GTID", "XACOMMIT", "XAROLLBACK", "MHEARTBEAT"])
def test_a_note_has_no_place_in_the_order(op: str) -> None:
    event = decoded(streamx(op=op, after=None, sequenceId=None, source=None, keys=None))
    assert (event.kind, event.sequence, event.part, event.table_name) == ("note", None, None, None)
    assert event.event_time_ms == 1700000000000


def test_a_statement_without_text_means_what_its_operation_says_alone() -> None:
    implied = find_format("streamx_json").implied_change
    assert implied("ERASE", TABLE) == DropTable(TABLE)
    assert implied("DINDEX", TABLE) == implied("CINDEX", TABLE) == NoChange("index")
    assert implied("ALTER", TABLE) is implied("RENAME", TABLE) is None
    assert find_format("canal_json").implied_change("ERASE", TABLE) is None


def test_a_column_that_no_statement_told_has_the_type_of_its_family() -> None:
    untold = find_format("streamx_json").default_type
    wires = ("BOOLEAN", "LONG", "DOUBLE", "DATE", "BYTES", "STRING", "DECIMAL")
    found = [untold(wire) for wire in wires]
    assert list(map(str, found)) == ["boolean", "long", "double", "timestamp", "binary", "string", "None"]
    assert find_format("canal_json").default_type("enum('a')#index") == "enum('a')"


def test_only_who_writes_partitions_in_order_says_so() -> None:
    assert find_format("streamx_json").partitions_in_order
    assert not find_format("canal_json").partitions_in_order


# --- the law: what is encoded by the description comes back -------------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
EPOCH = datetime.fromisoformat("1970-01-01")
VALUES: dict[str, st.SearchStrategy[Value]] = {
    "BOOLEAN": st.booleans(),
    "LONG": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(allow_nan=False, allow_infinity=False),
    "DATE": st.datetimes().map(lambda time: (time - EPOCH) // timedelta(milliseconds=1) * 1000),
    "BYTES": st.binary(max_size=12),
    "STRING": st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
}
"""Values of gold, of the type that a column of this family has where no statement told one."""

Row = dict[str, Value]


def encoded(value: Value, wire: str) -> object:
    """A value as the documentation of DataWorks says that it stands in JSON."""
    match wire, value:
        case _, None:
            return None
        case "DATE", int(micros):
            return micros // 1000
        case "BYTES", bytes(octets):
            return base64.b64encode(octets).decode()
        case "DOUBLE", float(number) if number < 0:
            return repr(number)
    return value


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, dict[str, str], Row | None, Row | None, int]:
    columns = draw(st.dictionaries(names, st.sampled_from(sorted(VALUES)), min_size=1, max_size=6))
    rows = st.fixed_dictionaries({name: st.none() | VALUES[wire] for name, wire in columns.items()})
    op = draw(st.sampled_from(["INSERT", "UPDATE_BEFOR", "UPDATE_AFTER", "UPDATE", "DELETE"]))
    before = draw(rows) if op in ("UPDATE_BEFOR", "UPDATE", "DELETE") else None
    after = draw(rows) if op in ("INSERT", "UPDATE_AFTER", "UPDATE") else None
    return op, columns, before, after, draw(st.integers(0, 10**38 - 1))


@given(changes())
def test_what_is_encoded_by_the_description_comes_back(
    change: tuple[str, dict[str, str], Row | None, Row | None, int],
) -> None:
    op, columns, before, after, order = change
    images = [row and {name: encoded(value, columns[name]) for name, value in row.items()} for row in (before, after)]
    message = streamx(columns, keys=[min(columns)], op=op, before=images[0], after=images[1], sequenceId=str(order))
    event = decoded(message)
    assert (event.op, event.op_raw) == (op.split("_")[0], op)
    assert (event.keys, event.column_types, event.problems) == ((min(columns),), columns, ())
    assert event.sequence == Sequence(0, order, 0 if op == "UPDATE_BEFOR" else 1)
    for image, row in ((event.before, before), (event.after, after)):
        assert (None if image is None else values(image, columns)) == row


def values(image: str, columns: dict[str, str]) -> Row:
    untold = find_format("streamx_json").default_type
    raw_values = read_image(image)
    kinds = {name: untold(wire) for name, wire in columns.items()}
    readers = {
        name: value_reader("streamx_json", columns[name], kind, ValueRules())
        for name, kind in kinds.items()
        if isinstance(kind, GoldType)
    }
    return {name: readers[name](raw_value) for name, raw_value in raw_values.items()}


VALUE = streamx(op="UPDATE_AFTER", before={"id": 1, "c": None}).value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        event = decoded(raw(value))
    except MessageError:
        return
    found = json.loads(value)
    payload, schema = found["payload"], found.get("schema") or {}
    source = schema.get("source") or {}
    assert event.op_raw == payload["op"]
    assert event.table == source.get("tableName")
    assert event.database == source.get("dbName")
    assert event.event_time_ms == (payload["timestamp"]["eventTime"] if event.event_time_ms else event.event_time_ms)
    assert event.sequence is not None
    assert event.sequence.hi == int(payload["sequenceId"])
    assert list(event.keys or ()) == (schema.get("primaryKey") or [])
    for image, name in ((event.before, "before"), (event.after, "after")):
        row = (payload.get(name) or {}).get("dataColumn")
        assert (None if image is None else json.loads(image)) == row
    listed = {column["name"]: column["type"] for column in schema["dataColumn"]}
    assert event.column_types == listed
