"""What dts_avro makes of messages that the golden ones do not show."""

import json
from typing import Any

import pytest

from formats.dts import DTS, NONE, NULL, ONE, TEXT, Value, columns, dts, one, raw
from formats.events import key_hashes
from retable.errors import BadValue, Blocked, Malformed, MessageError
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message, find_format
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

TABLE = TableName("shop", None, "t")


def decoded(message: RawMessage, context: DecodeContext = DTS) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


def spelled(number: int, value: Value, system: str = "MySQL") -> tuple[str | None, str]:
    """The raw value of a value and its wire type."""
    event = decoded(one(number, value, system))
    return read_image(event.after or "")["c"], (event.column_types or {})["c"]


def date_time(**parts: int) -> dict[str, int | None]:
    names = ("year", "month", "day", "hour", "minute", "second", "millis")
    return {name: parts.get(name) for name in names}


@pytest.mark.parametrize(
    ("number", "value", "raw_value", "wire"),
    [
        (8, ("Integer", {"precision": 8, "value": "18446744073709551615"}), "18446744073709551615", "Integer"),
        (246, ("Decimal", {"value": "-0.120", "precision": 3, "scale": 3}), "-0.120", "Decimal"),
        (246, ("Decimal", {"value": "NaN", "precision": 0, "scale": 0}), "NaN", "Decimal#named"),
        (5, ("Float", {"value": 0.1, "precision": 22, "scale": 31}), "0.1", "Float"),
        (5, ("Float", {"value": -0.0, "precision": 22, "scale": 31}), "-0.0", "Float"),
        (5, ("Float", {"value": 5e-324, "precision": 22, "scale": 31}), "5e-324", "Float"),
        (5, ("Float", {"value": float("nan"), "precision": 0, "scale": 0}), "NaN", "Float"),
        (5, ("Float", {"value": float("-inf"), "precision": 0, "scale": 0}), "-Infinity", "Float"),
        (4, ("Float", {"value": 0.1, "precision": 12, "scale": 31}), "0.1", "Float#32"),
        (7, ("Timestamp", {"timestamp": 1772323256, "millis": 123456}), "1772323256123456", "Timestamp"),
        (7, ("Timestamp", {"timestamp": -1, "millis": 999999}), "-1", "Timestamp"),
        (7, ("Timestamp", {"timestamp": 0, "millis": 0}), "0000-00-00 00:00:00", "Timestamp"),
        (12, ("DateTime", date_time(year=2026, month=3, day=1, hour=5, minute=6, second=7, millis=8)),
         "2026-03-01 05:06:07.000008", "DateTime"),
        (12, ("DateTime", date_time(year=2026, month=3, day=1, hour=5, minute=6, second=7)),
         "2026-03-01 05:06:07", "DateTime"),
        (12, ("DateTime", date_time(year=0, month=0, day=0, hour=0, minute=0, second=0, millis=0)),
         "0000-00-00 00:00:00", "DateTime"),
        (10, ("DateTime", date_time(year=2024, month=0, day=10)), "2024-00-10", "DateTime#date"),
        (11, ("DateTime", date_time(hour=838, minute=59, second=59, millis=1)), "3020399000001", "DateTime#time"),
        (11, ("DateTime", date_time(hour=0, minute=0, second=-1, millis=-500000)), "-1500000", "DateTime#time"),
        (13, ("DateTime", date_time(year=0)), "0000", "DateTime#year"),
        (253, ("Character", {"charset": "utf8mb4", "value": "😀".encode()}), "😀", "Character"),
        (253, ("Character", {"charset": "gbk", "value": b"\xd5\xc5\xc8\xfd"}), "张三", "Character"),
        (253, ("Character", {"charset": "latin1", "value": b"\x80\x81\xe9"}), "€\x81é", "Character"),
        (253, ("Character", {"charset": "utf16", "value": b"\x00a\xd8\x3d\xde\x00"}), "a😀", "Character"),
        (253, ("Character", {"charset": "UTF-8", "value": b"x"}), "x", "Character"),
        (253, ("Character", {"charset": "", "value": b"\xff\x00"}), "/wA=", "Character#base64"),
        (253, ("Character", {"charset": "binary", "value": b""}), "", "Character#base64"),
        (252, ("BinaryObject", {"type": "BLOB", "value": b"\x00\x01"}), "AAE=", "BinaryObject"),
        (252, ("BinaryObject", {"type": "text", "value": b"x"}), "eA==", "BinaryObject#text"),
        (245, ("TextObject", {"type": "JSON", "value": '{"a":1.10}'}), '{"a":1.10}', "TextObject"),
        (247, ("TextObject", {"type": "ENUM", "value": "a,b"}), "a,b", "TextObject"),
        (255, ("BinaryGeometry", {"type": "GEOMETRY", "value": b"\x01"}), "AQ==", "BinaryGeometry"),
        (255, ("TextGeometry", {"type": "POINT", "value": "POINT (1 2)"}), "POINT (1 2)", "TextGeometry"),
        (8, None, None, "Integer"),
        (252, NULL, None, "Character"),
    ],
)  # fmt: skip
def test_each_branch_of_the_union_has_its_lexeme_and_its_wire_type(
    number: int, value: Value, raw_value: str | None, wire: str
) -> None:
    assert spelled(number, value) == (raw_value, wire)


@pytest.mark.parametrize(
    ("number", "value", "raw_value", "wire"),
    [
        (16, ("TextObject", {"type": "BOOL", "value": "t"}), "true", "TextObject#truth"),
        (16, ("TextObject", {"type": "bool", "value": "f"}), "false", "TextObject#truth"),
        (4, ("Float", {"value": 0.1, "precision": 0, "scale": 0}), "0.1", "Float"),
        (7, ("Timestamp", {"timestamp": 0, "millis": 0}), "0", "Timestamp"),
        (8, None, None, ""),
    ],
)
def test_numbers_of_types_are_those_of_mysql_alone(number: int, value: Value, raw_value: str | None, wire: str) -> None:
    assert spelled(number, value, "PostgreSQL") == (raw_value, wire)


@pytest.mark.parametrize(
    ("zone", "raw_value"),
    [
        ("+08:00", "2026-03-01T12:34:56.000001+08:00"),
        ("-0330", "2026-03-01T12:34:56.000001-0330"),
        ("Z", "2026-03-01T12:34:56.000001Z"),
        ("Asia/Shanghai", "2026-03-01T04:34:56.000001Z"),
    ],
)
def test_a_time_with_a_zone_keeps_its_distance_from_utc_and_loses_the_name_of_its_zone(
    zone: str, raw_value: str
) -> None:
    parts = date_time(year=2026, month=3, day=1, hour=12, minute=34, second=56, millis=1)
    value = ("TimestampWithTimeZone", {"value": parts, "timezone": zone})
    assert spelled(181, value, "Oracle") == (raw_value, "TimestampWithTimeZone")


def zoned(zone: str, **parts: int) -> Value:
    return "TimestampWithTimeZone", {"value": date_time(**parts), "timezone": zone}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (("Character", {"charset": "utf8mb4", "value": b"\xff"}), "codec can't decode"),
        (("Character", {"charset": "rot13", "value": b"x"}), "the charset 'rot13' is not known to Retable"),
        (("Timestamp", {"timestamp": 1, "millis": 1_000_000}), "1000000 is not a number of microseconds"),
        (("Timestamp", {"timestamp": 1, "millis": -1}), "not a number of microseconds"),
        (("DateTime", date_time(year=2026, month=3)), "only some parts"),
        (("DateTime", date_time(year=2026, month=3, day=1, hour=5)), "only some parts"),
        (("DateTime", date_time()), "only some parts"),
        (("DateTime", date_time(hour=1, minute=-1, second=0)), "is not a valid time"),
        (("DateTime", date_time(hour=1, minute=60, second=0)), "is not a valid time"),
        (("DateTime", date_time(hour=1, minute=0, second=0, millis=1_000_000)), "not a number of microseconds"),
        (zoned("+08:00", year=2026, month=3, day=1), "only some parts"),
        (zoned("CST", year=2026, month=3, day=1, hour=1, minute=0, second=0), "'CST' is not a time zone"),
        (zoned("../etc/passwd", year=2026, month=3, day=1, hour=1, minute=0, second=0), "is not a time zone"),
        (zoned("Europe/Berlin", year=2026, month=3, day=29, hour=2, minute=30, second=0), "exactly one point in time"),
    ],
)
def test_a_value_that_is_none_is_told_with_its_column_its_place_and_its_table(value: Value, words: str) -> None:
    message = dts(fields=columns({"id": 8, "c": 253}), afterImages=[ONE, value])
    with pytest.raises(BadValue) as refused:
        decoded(message)
    assert refused.value.message.startswith("column 'c': ")
    assert words in refused.value.message
    assert refused.value.facts == {"place": "afterImages[1]", "table": TABLE}


def test_both_versions_of_the_schema_are_read_and_say_when_dts_read_the_change() -> None:
    assert decoded(dts(bornTimestamp=1)) == decoded(dts())
    assert decoded(dts(tags={}, bornTimestamp=1696984408)).process_time_ms == 1696984408000
    assert decoded(dts(tags={}, bornTimestamp=1696984408123)).process_time_ms == 1696984408123
    assert decoded(dts(tags={"readerThroughoutTime": "soon"}, bornTimestamp=-1)).process_time_ms is None


def test_an_event_carries_the_address_the_source_epoch_and_the_order_of_its_partition() -> None:
    event = decoded(dts(), DecodeContext(source_format="dts_avro", source_epoch=3))
    assert event.address == Address("erp", 0, 7)
    assert event.sequence == Sequence(3, 7, 0)
    assert (event.part, event.sequence_scope) == ("erp/0", "partition")
    assert find_format("dts_avro").partitions_in_order


@pytest.mark.parametrize(("told", "known"), [("7.0.411499", "7.0.411499"), ("0", None), ("", None)])
def test_a_transaction_that_has_no_id_is_unknown(told: str, known: str | None) -> None:
    assert decoded(dts(sourceTxid=told)).tx_id == known


@pytest.mark.parametrize(("seconds", "ms"), [(1772323256, 1772323256000), (0, None), (-1, None)])
def test_a_source_writes_its_time_in_seconds(seconds: int, ms: int | None) -> None:
    assert decoded(dts(sourceTimestamp=seconds)).event_time_ms == ms
    heartbeat = dts(operation="HEARTBEAT", objectName=None, fields=None, afterImages=None, sourceTimestamp=seconds)
    assert (decoded(heartbeat).op, decoded(heartbeat).event_time_ms) == ("HEARTBEAT", ms)


def test_a_time_in_milliseconds_is_refused_where_seconds_belong() -> None:
    with pytest.raises(Malformed, match="not a second of the years"):
        decoded(dts(sourceTimestamp=1772323256000))


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("shop.t", TableName("shop", None, "t")),
        ("ORCLPDB1.SCOTT.EMP", TableName("ORCLPDB1", "SCOTT", "EMP")),
        (r"a\u002Eb.c\u002ed", TableName("a.b", None, "c.d")),
        (r"a\u0041.t", TableName(r"a\u0041", None, "t")),
        ("shop.../../etc/x", None),
    ],
)
def test_a_name_has_two_or_three_parts_and_a_dot_of_a_part_is_escaped(name: str, table: TableName | None) -> None:
    if table is None:
        with pytest.raises(Malformed, match="parts"):
            decoded(dts(objectName=name))
    else:
        assert decoded(dts(objectName=name)).table_name == table


@pytest.mark.parametrize("name", [None, "", "shop", "shop.", ".t"])
def test_a_row_without_a_table_is_blocked(name: str | None) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(dts(objectName=name))
    assert blocked.value.facts["problem"] == "TABLE_UNKNOWN"


@pytest.mark.parametrize(("kind", "system"), [("MySQL", "mysql"), ("SQLServer", "sqlserver"), ("OTHER", None)])
def test_the_system_is_the_messages_else_that_of_the_settings(kind: str, system: str | None) -> None:
    message = dts(source={"sourceType": kind, "version": ""})
    assert decoded(message).source_system == system
    assert decoded(message, DecodeContext(source_format="dts_avro", source_system="db2")).source_system == (
        system or "db2"
    )


@pytest.mark.parametrize(
    ("tags", "columns_", "keys", "origin"),
    [
        ({"pk_uk_info": '{"uk":["c"],"PRIMARY":["c","id"]}'}, ("id", "c"), ("c", "id"), "message"),
        ({"pk_uk_info": '{"uk":["c"]}'}, ("id", "c"), ("id",), "registry"),
        ({"pk_uk_info": '{"PRIMARY":[]}'}, ("id", "c"), ("id",), "registry"),
        ({"pk_uk_info": '{"PRIMARY":null,"uk":null}'}, ("id", "c"), ("id",), "registry"),
        ({"pk_uk_info": ""}, ("id", "c"), ("id",), "registry"),
        ({}, ("id", "c"), ("id",), "registry"),
        ({}, ("id", "#alibaba_rds_row_id#"), ("#alibaba_rds_row_id#",), "hidden_row_id"),
    ],
)
def test_keys_are_those_of_the_message_else_a_hidden_row_id_else_those_of_the_settings(
    tags: dict[str, str], columns_: tuple[str, ...], keys: tuple[str, ...], origin: str
) -> None:
    context = DecodeContext(source_format="dts_avro", keys_of=lambda table: ("id",) if table == TABLE else ())
    event = decoded(dts(tags=tags, fields=columns(dict.fromkeys(columns_, 8))), context)
    assert (event.keys, event.keys_origin, event.problems) == (keys, origin, ())


def test_a_table_without_any_key_is_no_obstacle() -> None:
    event = decoded(dts(tags={}))
    assert (event.keys, event.keys_origin, event.problems) == (None, None, ("KEYS_UNKNOWN",))


@pytest.mark.parametrize("told", ["{", '{"PRIMARY":"id"}', '{"PRIMARY":["id"],"PRIMARY":["c"]}', "null"])
def test_keys_that_nobody_can_read_are_refused(told: str) -> None:
    with pytest.raises(Malformed, match="pk_uk_info`, are unreadable") as refused:
        decoded(dts(tags={"pk_uk_info": told}))
    assert refused.value.facts["place"] == "tags.pk_uk_info"


def test_what_was_not_delivered_is_absent_and_what_is_null_is_null() -> None:
    three = columns({"id": 8, "c": 253, "d": 253})
    event = decoded(
        dts(operation="UPDATE", fields=three, beforeImages=[ONE, NONE, NONE], afterImages=[ONE, TEXT, NULL])
    )
    assert (event.before, event.after) == ('{"id":"1"}', '{"id":"1","c":"x","d":null}')
    assert (event.partial_before, event.partial_after) == (True, False)
    event = decoded(
        dts(operation="UPDATE", fields=three, beforeImages=[ONE, TEXT, None], afterImages=[ONE, NONE, TEXT])
    )
    assert (event.before, event.after) == ('{"id":"1","c":"x","d":null}', '{"id":"1","d":"x"}')
    assert (event.partial_before, event.partial_after) == (False, True)
    assert event.column_types == {"id": "Integer", "c": "Character", "d": "Character"}


def test_a_key_that_was_not_delivered_after_an_update_is_the_one_before_it() -> None:
    event = decoded(dts(operation="UPDATE", beforeImages=[ONE, NONE], afterImages=[NONE, TEXT]))
    assert event.problems == ()
    assert key_hashes(event) == key_hashes(decoded(dts()))


@pytest.mark.parametrize(
    "fields",
    [
        {"afterImages": [NONE, TEXT]},
        {"operation": "UPDATE", "beforeImages": [NONE, TEXT], "afterImages": [NONE, TEXT]},
        {"tags": {"pk_uk_info": '{"PRIMARY":["no"]}'}},
    ],
)
def test_a_row_whose_key_is_nowhere_is_blocked(fields: dict[str, Any]) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(dts(**fields))
    assert (blocked.value.facts["problem"], blocked.value.facts["table"]) == ("KEY_NOT_IN_IMAGE", TABLE)


@pytest.mark.parametrize(
    ("old", "new", "before", "after", "wire"),
    [
        (("Decimal", {"value": "1.5", "precision": 2, "scale": 1}), ONE, "1.5", "1", "Decimal"),
        (ONE, ("Decimal", {"value": "NaN", "precision": 0, "scale": 0}), "1", "NaN", "Decimal#named"),
        (TEXT, ("Character", {"charset": "", "value": b"\xff"}), "eA==", "/w==", "Character#base64"),
        (None, ("BinaryObject", {"type": "BLOB", "value": b"\xff"}), None, "/w==", "BinaryObject"),
    ],
)
def test_a_column_has_one_wire_type_though_its_two_values_are_of_two_branches(
    old: Value, new: Value, before: str | None, after: str, wire: str
) -> None:
    event = decoded(
        dts(operation="UPDATE", beforeImages=[ONE, old], afterImages=[ONE, new], fields=columns({"id": 8, "c": 252}))
    )
    assert event.column_types == {"id": "Integer", "c": wire}
    assert (read_image(event.before or "")["c"], read_image(event.after or "")["c"]) == (before, after)


def test_two_values_that_have_nothing_in_common_are_refused() -> None:
    with pytest.raises(BadValue, match="the value has the type Integer before the change and Character after it"):
        decoded(dts(operation="UPDATE", beforeImages=[ONE, ONE], afterImages=[ONE, TEXT]))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"afterImages": None}, "INSERT is not valid with no image"),
        ({"beforeImages": [ONE, TEXT]}, "INSERT is not valid with before and after image"),
        (
            {"operation": "UPDATE", "beforeImages": [ONE, TEXT], "afterImages": None},
            "UPDATE is not valid with before image",
        ),
        ({"operation": "DELETE"}, "DELETE is not valid with after image"),
        ({"operation": "INIT", "afterImages": None}, "INIT is not valid with no image"),
        ({"afterImages": [ONE]}, "1 values for 2 columns"),
        ({"afterImages": [ONE, TEXT, TEXT]}, "3 values for 2 columns"),
        ({"afterImages": "insert into t"}, "no values for 2 columns"),
        ({"fields": None}, "INSERT has no columns"),
        ({"fields": []}, "INSERT has no columns"),
        ({"fields": "id,c"}, "INSERT has no columns"),
        ({"fields": [{"name": "id", "dataTypeNumber": 8}] * 2}, "a column occurs twice"),
        ({"fields": columns({"id": 8, "c" * 50_001: 253})}, "longer than 50000"),
        ({"operation": "DDL", "fields": None}, "the statement is not text"),
    ],
)
def test_a_record_that_does_not_hang_together_is_refused_with_its_table(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(Malformed, match=words) as refused:
        decoded(dts(**fields))
    assert refused.value.facts["table"] == TABLE


def test_an_update_without_the_row_before_it_is_still_one() -> None:
    event = decoded(dts(operation="UPDATE"))
    assert (event.op, event.before, event.after, event.partial_before) == ("UPDATE", None, '{"id":"1","c":"x"}', False)


@pytest.mark.parametrize(("text", "known"), [("drop table t", "drop table t"), ("", None), (None, None)])
def test_a_statement_is_a_text_in_place_of_a_row(text: str | None, known: str | None) -> None:
    event = decoded(dts(operation="DDL", objectName="shop", fields=None, afterImages=text))
    assert (event.op, event.database, event.table, event.ddl_text) == ("DDL", "shop", None, known)
    assert (event.kind, event.sequence) == ("schema", Sequence(0, 7, 0))


def test_neighbours_of_one_table_share_their_types() -> None:
    assert decoded(dts()).column_types is decoded(dts(operation="UPDATE", sourceTxid="8")).column_types


def test_names_that_are_too_long_to_be_remembered_are_read_all_the_same() -> None:
    event = decoded(dts(fields=columns({"id": 8, "c" * 20_000: 253})))
    assert (event.column_types or {})["c" * 20_000] == "Character"


def test_columns_without_a_statement_get_the_type_that_their_values_tell() -> None:
    untold = find_format("dts_avro").default_type
    types = ("Integer", "Decimal", "Float", "Float#32", "Timestamp", "DateTime#date", "BinaryObject#text", "")
    told = ["long", "string", "double", "float", "timestamptz", "date", "string", "None"]
    assert [str(untold(wire)) for wire in types] == told


def test_a_message_without_a_value_is_refused() -> None:
    with pytest.raises(MessageError, match="no value"):
        decoded(raw(None))


def test_messages_of_json_are_none_of_dts() -> None:
    for value in (b"", b" ", b"null", b"{}", json.dumps({"type": "INSERT"}).encode(), b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(Malformed):
            decoded(raw(value))
