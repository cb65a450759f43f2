"""What canal_json makes of messages that the golden ones do not show."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import CANAL, canal, raw
from retable.errors import Blocked, MessageError, TooLarge, UnknownOperation
from retable.formats.canal.json import decode
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.model.event import Address, TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence


def test_tokens_of_a_row_stay_as_the_message_wrote_them() -> None:
    row = '{"id": 1, "price": 1.10, "text": "\\u00e9\\/"}'
    head = '{"type":"UPDATE","isDdl":false,"database":"shop","table":"t","es":1'
    value = head + ',"data":[' + row + '],"old":[{"price":1E+2}]}'
    (event,) = decode_message(raw(value.encode()), CANAL)
    assert event.after == '{"id":1,"price":1.10,"text":"\\u00e9\\/"}'
    assert event.before == '{"id":1,"price":1E+2,"text":"\\u00e9\\/"}'


def test_an_event_carries_the_address_and_the_source_epoch() -> None:
    context = DecodeContext(source_format="canal_json", source_epoch=3, source_system="mariadb")
    events = decode_message(canal(offset=9, data=[{"id": "1"}, {"id": "2"}]), context)
    assert [event.address for event in events] == [Address("erp", 0, 9, 0), Address("erp", 0, 9, 1)]
    assert [event.sequence for event in events] == [Sequence(3, 9, 0), Sequence(3, 9, 1)]
    assert {event.part for event in events} == {"erp/0"}
    assert {event.source_system for event in events} == {"mariadb"}


def test_keys_of_the_message_win_over_those_of_the_settings() -> None:
    context = DecodeContext(source_format="canal_json", keys_of=lambda _: ("c",))
    (event,) = decode_message(canal(), context)
    assert (event.keys, event.keys_origin) == (("id",), "message")


@pytest.mark.parametrize("missing", [None, []])
def test_keys_come_from_the_settings_where_the_message_has_none(missing: list[str] | None) -> None:
    asked = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ("c",)

    (event,) = decode_message(canal(pkNames=missing), DecodeContext(source_format="canal_json", keys_of=keys_of))
    assert (event.keys, event.keys_origin) == (("c",), "registry")
    assert asked == [TableName("shop", None, "t")]


@pytest.mark.parametrize("name", ["#alibaba_rds_row_id#", "__#alibaba_rds_row_id#__"])
def test_a_hidden_row_id_is_the_key_of_a_table_without_one(name: str) -> None:
    context = DecodeContext(source_format="canal_json", keys_of=lambda _: ("c",))
    (event,) = decode_message(canal(pkNames=None, data=[{name: "15", "c": "x"}]), context)
    assert (event.keys, event.keys_origin) == ((name,), "hidden_row_id")


def test_a_table_without_any_key_is_no_obstacle() -> None:
    (event,) = decode_message(canal(pkNames=None), CANAL)
    assert (event.keys, event.keys_origin, event.problems) == (None, None, ("KEYS_UNKNOWN",))


def test_missing_types_are_no_obstacle() -> None:
    (event,) = decode_message(canal(mysqlType=None), CANAL)
    assert (event.column_types, event.problems) == (None, ("TYPES_UNKNOWN",))


def test_an_old_row_counts_by_the_presence_of_its_columns() -> None:
    data = [{"id": "1", "c": "x", "d": "y"}]
    (event,) = decode_message(canal(type="UPDATE", data=data, old=[{"c": None}]), CANAL)
    assert event.before is not None
    assert read_image(event.before) == {"id": "1", "c": None, "d": "y"}


def test_misaligned_old_rows_leave_the_new_ones_whole_and_block_the_message() -> None:
    message = canal(type="UPDATE", data=[{"id": "1"}, {"id": "2"}], old=[{"id": "0"}])
    assert [(event.before, event.after, event.partial_before) for event in decode(message, CANAL)] == [
        (None, '{"id":"1"}', True),
        (None, '{"id":"2"}', True),
    ]
    with pytest.raises(Blocked) as blocked:
        decode_message(message, CANAL)
    assert blocked.value.facts["problem"] == "OLD_DATA_MISALIGNED"
    assert blocked.value.facts["table"] == TableName("shop", None, "t")
    assert blocked.value.facts["keys"] == ('["1"]', '["2"]')


@pytest.mark.parametrize(
    ("kind", "partial"),
    [("INSERT", (False, True)), ("INIT", (False, True)), ("UPDATE", (True, True)), ("DELETE", (True, False))],
)
@pytest.mark.parametrize("strange", [{}, {"e": "z"}])
def test_a_row_without_a_column_that_its_own_types_name_tells_nothing_of_it(
    kind: str, partial: tuple[bool, bool], strange: dict[str, str]
) -> None:
    types = {"id": "int", "c": "varchar(9)", "d": "int"}
    old = [{"c": "w"}] if kind == "UPDATE" else None
    data = [{"id": "1", "c": "x", **strange}, {"id": "2", "c": "x", "d": "1", **strange}]
    events = decode(canal(type=kind, data=data, old=old and old * 2, mysqlType=types, sqlType=None), CANAL)
    assert [(event.partial_before, event.partial_after) for event in events] == [partial, (False, False)]


def test_a_blocked_message_names_the_keys_before_and_after() -> None:
    data, old = [{"id": "11"}, {"id": "2", "region": "EU"}], [{"id": "1"}, {"region": "CN"}]
    with pytest.raises(Blocked) as blocked:
        decode_message(canal(type="UPDATE", data=data, old=old, pkNames=["id", "region"]), CANAL)
    assert blocked.value.facts["problem"] == "KEY_NOT_IN_IMAGE"
    assert blocked.value.facts["keys"] == ('["1",null]', '["11",null]', '["2","CN"]', '["2","EU"]')


def test_a_refusal_names_the_table_where_the_message_does() -> None:
    with pytest.raises(UnknownOperation) as refused:
        decode_message(canal(type="GTID"), CANAL)
    assert refused.value.facts["table"] == TableName("shop", None, "t")


@pytest.mark.parametrize("kind", ["CREATE", "QUERY", "DDL", "WHATEVER"])
def test_is_ddl_decides_and_the_type_does_not(kind: str) -> None:
    (event,) = decode_message(canal(type=kind, isDdl=True, sql="drop table t", data=None), CANAL)
    assert (event.op, event.op_raw, event.ddl_text, event.kind) == ("DDL", kind, "drop table t", "schema")


@pytest.mark.parametrize(
    "sql", ["INSERT INTO `t`(`id`) VALUES (1)", "/* of an ORM */ update t set c = 'create'", "delete from t", ""]
)
def test_what_mariadb_logs_before_row_changes_is_counted_and_not_kept(sql: str) -> None:
    (event,) = decode_message(canal(type="QUERY", database="", table="", sql=sql, data=None, pkNames=None), CANAL)
    assert (event.op, event.op_raw, event.kind) == ("OTHER", "QUERY", "note")
    assert (event.ddl_text, event.sequence, event.sequence_scope) == (None, None, None)


@pytest.mark.parametrize(
    "sql", ["alter table t add d int", "/* x */ SET STATEMENT max_statement_time=1 FOR DROP TABLE t"]
)
def test_a_statement_that_is_not_marked_as_one_is_one_by_its_text(sql: str) -> None:
    (event,) = decode_message(canal(type="QUERY", sql=sql, data=None), CANAL)
    assert (event.op, event.kind, event.ddl_text, event.sequence) == ("DDL", "schema", sql, Sequence(0, 7, 0))


@pytest.mark.parametrize("kind", ["INSERT", "UPDATE", "DELETE"])
def test_a_change_that_is_logged_as_a_statement_alone_is_refused(kind: str) -> None:
    with pytest.raises(MessageError):
        decode_message(canal(type=kind, sql="insert into t values (1)", data=None), CANAL)


def test_a_statement_without_text_is_still_an_event() -> None:
    (event,) = decode_message(canal(type="ALTER", isDdl=True, sql="", data=None), CANAL)
    assert (event.op, event.ddl_text) == ("DDL", None)


@pytest.mark.parametrize("time", [-1, 0])
def test_a_time_before_time_is_unknown(time: int) -> None:
    (event,) = decode_message(canal(es=time, ts=time), CANAL)
    assert (event.event_time_ms, event.process_time_ms) == (None, None)


@pytest.mark.parametrize(
    ("declared", "code", "wire"),
    [
        ("enum('a','b')", 4, "enum('a','b')#index"),
        ("ENUM('a')", 12, "ENUM('a')"),
        ("enum('a')", 1, "enum('a')"),
        ("enum('a')", None, "enum('a')"),
        ("SET('r','w')", -7, "SET('r','w')#bits"),
        ("set('r','w')", 2004, "set('r','w')#bits"),
        ("set('r','w')", 12, "set('r','w')"),
        ("JSON", 2004, "JSON#latin1"),
        ("json", 12, "json"),
        ("varchar(9)", 2004, "varchar(9)"),
    ],
)
def test_a_wire_type_says_how_its_values_stand(declared: str, code: int | None, wire: str) -> None:
    (event,) = decode_message(canal(mysqlType={"id": "int", "c": declared}, sqlType={"id": 4, "c": code}), CANAL)
    assert event.column_types == {"id": "int", "c": wire}


def test_a_line_that_was_no_record_is_refused_with_what_was_wrong_with_it() -> None:
    message = RawMessage("erp", -1, 5, None, None, b"nonsense", (), "line 2: no record")
    with pytest.raises(MessageError, match="line 2: no record"):
        decode_message(message, CANAL)


def test_a_message_over_the_cap_is_refused_unread() -> None:
    with pytest.raises(TooLarge, match="max_message"):
        decode_message(raw(b"{" * 1025), DecodeContext(source_format="canal_json", max_message=1024))


VALUE = canal(type="UPDATE", old=[{"c": None}]).value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        (event,) = decode_message(raw(value), CANAL)
    except MessageError:
        return
    found = json.loads(value)
    (after,), old = found["data"], found.get("old") or [{}]
    assert (event.database, event.table, event.op_raw, event.event_time_ms) == (
        found["database"],
        found["table"],
        found["type"],
        found["es"] if found["es"] > 0 else None,
    )
    assert list(event.keys or ()) == (found.get("pkNames") or [])
    assert event.op != "UPDATE" or (read_image(event.before), read_image(event.after)) == (after | old[0], after)
