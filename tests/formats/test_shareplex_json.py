"""What shareplex_json makes of messages that the golden ones do not show."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.events import key_hashes, raw, spelled
from retable.errors import Blocked, Malformed, MessageError, UnknownOperation
from retable.formats import shareplex_json
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message, find_format
from retable.formats.shareplex_json import SharePlexOptions
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

CONTEXT = DecodeContext(
    source_format="shareplex_json", options=SharePlexOptions(database="ORCL"), keys_of=lambda _: ("ID",)
)
KEYLESS = DecodeContext(source_format="shareplex_json", options=SharePlexOptions(database="ORCL"))
TABLE = TableName("ORCL", "HR", "EMP")
META = {
    "time": "2026-03-01T05:00:00",
    "op": "ins",
    "scn": "14589063118712",
    "rowid": "AAATGpAAIAAItcIAAA",
    "trans": "7.0.411499",
    "seq": 2,
    "table": "HR.EMP",
    "posttime": "2026-03-01T05:00:01",
}


def shareplex(data: object = None, key: object = None, offset: int = 7, **meta: object) -> RawMessage:
    """An insert into HR.EMP with some fields of its `meta` set otherwise; one that is Ellipsis is left out."""
    told = {name: value for name, value in {**META, **meta}.items() if value is not ...}
    fields = {"meta": told, "data": {"ID": "1", "NOTE": "x"} if data is None else data, "key": key}
    document = {name: value for name, value in fields.items() if value is not None and value is not ...}
    return raw(json.dumps(document, ensure_ascii=False).encode(), offset)


def decoded(message: RawMessage, context: DecodeContext = CONTEXT) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


def test_a_vendors_delete_that_names_no_table_is_blocked_and_still_decodes() -> None:
    data = {"MIO_LOG_ID": "32539739", "PLNMIO_REC_ID": "31557806", "POL_CODE": None}
    message = raw(
        json.dumps({"meta": {"time": "2017-06-16T15:51:35", "userid": 84, "op": "del"}, "data": data}).encode()
    )
    (event,) = shareplex_json.decode(message, DecodeContext(source_format="shareplex_json"))
    assert spelled(event) == {
        "source_format": "shareplex_json",
        "source_system": "oracle",
        "op": "DELETE",
        "op_raw": "del",
        "image": "full",
        "before": data,
        "sequence": "0.7.0",
        "sequence_scope": "partition",
        "event_time_ms": 1497628295000,
        "problems": ["ORDER_FIELDS_MISSING", "TABLE_UNKNOWN"],
        "row": 0,
    }
    with pytest.raises(Blocked, match="TABLE_UNKNOWN"):
        decoded(message)


def test_tokens_of_a_row_stay_as_the_message_wrote_them() -> None:
    text = '{"meta":{"op":"ins","table":"HR.EMP"},"data":{"ID": 1.10E+2 ,"NOTE":"\\u00e9\\/"}}'
    assert decoded(raw(text.encode())).after == '{"ID":1.10E+2,"NOTE":"\\u00e9\\/"}'


def test_an_event_carries_the_address_the_source_epoch_and_the_order_of_the_database() -> None:
    event = decoded(
        shareplex(),
        DecodeContext(source_format="shareplex_json", source_epoch=3, options=SharePlexOptions(database="ORCL")),
    )
    assert event.address == Address("erp", 0, 7)
    assert event.sequence == Sequence(3, 14589063118712, 2)
    assert (event.sequence_scope, event.part) == ("stream", None)


@pytest.mark.parametrize(
    ("scn", "seq", "order"),
    [
        ("99999999999999", 10, (99999999999999, 10)),
        ("100000000000000", "2", (100000000000000, 2)),
        (100000000000000, "02", (100000000000000, 2)),
        ("9" * 38, 0, (int("9" * 38), 0)),
    ],
)
def test_order_is_of_integers_however_they_are_written(scn: object, seq: object, order: tuple[int, int]) -> None:
    event = decoded(shareplex(scn=scn, seq=seq))
    assert event.sequence == Sequence(0, *order)
    assert event.problems == ()


@pytest.mark.parametrize("missing", [{"scn": ...}, {"seq": ...}, {"scn": None}, {"seq": ""}, {"scn": ..., "seq": ...}])
def test_without_its_order_a_message_has_that_of_its_partition(missing: dict[str, Any]) -> None:
    event = decoded(shareplex(**missing))
    assert (event.sequence, event.part, event.problems) == (Sequence(0, 7, 0), "erp/0", ("ORDER_FIELDS_MISSING",))


@pytest.mark.parametrize(
    ("meta", "place"),
    [
        ({"scn": "1e5"}, "meta.scn"),
        ({"scn": "-1"}, "meta.scn"),
        ({"scn": 1.5}, "meta.scn"),
        ({"scn": True}, "meta.scn"),
        ({"scn": "9" * 39}, "meta.scn"),
        ({"scn": "é" * 40}, "meta.scn"),
        ({"seq": "1/11"}, "meta.seq"),
        ({"seq": 2**63}, "meta.seq"),
        ({"time": "16-JUN-2017"}, "meta.time"),
        ({"time": "2017-02-29T00:00:00"}, "meta.time"),
        ({"time": "2017-06-16T14:24:34+08:00"}, "meta.time"),
        ({"posttime": "now"}, "meta.posttime"),
    ],
)
def test_a_field_that_is_not_what_it_should_be_is_refused_with_its_place(meta: dict[str, Any], place: str) -> None:
    with pytest.raises(Malformed) as refused:
        decoded(shareplex(**meta))
    assert refused.value.facts == {"place": place, "table": TABLE}


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2017-06-16T14:24:34", 1497623074000),
        ("2017-06-16T14:24:34Z", 1497623074000),
        ("2017-06-16 14:24:34.5", 1497623074500),
        ("", None),
        (None, None),
        (..., None),
    ],
)
def test_times_are_utc_whether_they_say_so_or_not(text: object, ms: int | None) -> None:
    event = decoded(shareplex(time=text, posttime=text))
    assert (event.event_time_ms, event.process_time_ms) == (ms, ms)


@pytest.mark.parametrize(
    ("told", "setting", "table"),
    [
        ("HR.EMP", "SALES.ORDERS", TableName("ORCL", "HR", "EMP")),
        ("HR.a.b", None, TableName("ORCL", "HR", "a.b")),
        ("EMP", None, TableName("ORCL", None, "EMP")),
        (..., "SALES.ORDERS", TableName("ORCL", "SALES", "ORDERS")),
        ("", "ORDERS", TableName("ORCL", None, "ORDERS")),
    ],
)
def test_the_table_is_the_messages_else_that_of_the_settings(
    told: object, setting: str | None, table: TableName
) -> None:
    context = DecodeContext(source_format="shareplex_json", options=SharePlexOptions(database="ORCL", table=setting))
    assert decoded(shareplex(table=told), context).table_name == table


@pytest.mark.parametrize("table", [..., "", ".", "HR."])
def test_a_row_without_a_table_is_blocked(table: object) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(shareplex(table=table))
    assert blocked.value.facts["problem"] == "TABLE_UNKNOWN"


@pytest.mark.parametrize(
    ("word", "op", "image"),
    [
        *((word, "INSERT", "full") for word in ("ins", "INSERT", "Insert")),
        *((word, "UPDATE", "full") for word in ("upd", "UPDATE")),
        *((word, "UPDATE", "before_half") for word in ("ub", "UPDATE BEFORE", "update_before")),
        *((word, "UPDATE", "after_half") for word in ("ua", "UPDATE AFTER")),
        *((word, "DELETE", "full") for word in ("del", "DELETE")),
        *((word, "TRUNCATE", None) for word in ("TRUNCATE", "truncate")),
        *((word, "DDL", None) for word in ("DROP COLUMN", "drop_column")),
    ],
)
def test_an_operation_is_a_code_or_words_of_any_case(word: str, op: str, image: str | None) -> None:
    event = decoded(shareplex(op=word, key={"ID": "1"}))
    assert (event.op, event.image, event.op_raw) == (op, image, word)
    assert (event.kind == "schema") == (image is None)
    assert event.ddl_text is None


@pytest.mark.parametrize("word", ["", "upsert", "ins ert", "r", "TRUNCATE TABLE"])
def test_another_operation_is_refused_with_its_table(word: str) -> None:
    with pytest.raises(UnknownOperation) as refused:
        decoded(shareplex(op=word))
    assert refused.value.facts == {"place": "meta.op", "table": TABLE}


@pytest.mark.parametrize("op", ["ins", "del", "upd", "ub", "ua"])
def test_a_row_change_without_a_row_is_refused(op: str) -> None:
    with pytest.raises(Malformed, match="has no row"):
        decoded(shareplex(..., {"ID": "1"}, op=op))
    if op != "upd":
        with pytest.raises(Malformed, match="has no row"):
            decoded(shareplex({}, {"ID": "1"}, op=op))


def test_an_insert_is_whole_and_an_update_has_what_changed() -> None:
    event = decoded(shareplex({"ID": "1"}))
    assert (event.before, event.after, event.partial_before, event.partial_after) == (None, '{"ID":"1"}', False, False)
    event = decoded(shareplex({"NOTE": None}, {"ID": "1", "NOTE": "x"}, op="upd"))
    assert (event.before, event.after) == ('{"ID":"1","NOTE":"x"}', '{"NOTE":null}')
    assert (event.partial_before, event.partial_after) == (True, True)
    event = decoded(shareplex({}, {"ID": "1"}, op="upd"))
    assert (event.before, event.after, event.partial_after) == ('{"ID":"1"}', "{}", True)


def test_the_key_of_an_update_is_that_before_it_unless_it_changed() -> None:
    one, two = key_hashes(decoded(shareplex({"ID": "1"}))), key_hashes(decoded(shareplex({"ID": "2"})))
    assert key_hashes(decoded(shareplex({"NOTE": "y"}, {"ID": "1", "NOTE": "x"}, op="upd"))) == one
    assert key_hashes(decoded(shareplex({"ID": "2"}, {"ID": "1"}, op="upd"))) == (two[0], one[0])


@pytest.mark.parametrize(
    ("op", "data", "key"),
    [
        ("ins", {"NOTE": "x"}, None),
        ("del", {"NOTE": "x"}, {"ID": "1"}),
        ("upd", {"ID": "2"}, {"NOTE": "x"}),
        ("upd", {"ID": "2"}, None),
        ("ua", {"NOTE": "x"}, {"ID": "1"}),
    ],
)
def test_a_row_that_its_key_does_not_find_is_blocked(op: str, data: dict[str, Any], key: dict[str, Any] | None) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(shareplex(data, key, op=op))
    assert (blocked.value.facts["problem"], blocked.value.facts["table"]) == ("KEY_NOT_IN_IMAGE", TABLE)


def test_a_rowid_finds_the_rows_of_a_table_for_which_nothing_names_a_key() -> None:
    event = decoded(shareplex({"NOTE": "y"}, None, op="upd"), KEYLESS)
    assert (event.keys, event.keys_origin, event.problems) == (("rowid",), "hidden_row_id", ())
    assert read_image(event.before or "") == {"rowid": "AAATGpAAIAAItcIAAA"}
    assert read_image(event.after or "") == {"NOTE": "y", "rowid": "AAATGpAAIAAItcIAAA"}


@pytest.mark.parametrize("message", [shareplex(rowid=...), shareplex({"rowid": "my own"})])
def test_without_a_rowid_of_its_own_a_table_without_a_key_has_none(message: RawMessage) -> None:
    event = decoded(message, KEYLESS)
    assert (event.keys, event.keys_origin, event.problems) == (None, None, ("KEYS_UNKNOWN",))
    assert "rowid" not in read_image(event.after or "") or event.after == '{"rowid":"my own"}'


def test_a_column_that_nothing_else_tells_of_is_text() -> None:
    assert find_format("shareplex_json").default_type("anything") is None
    assert decoded(shareplex()).column_types is None


def test_a_message_without_a_value_or_without_its_meta_is_refused() -> None:
    for value in (None, b"{}", b'{"meta":{}}', b'{"meta":{"op":1}}', b'{"meta":{"op":"ins"},"data":[]}'):
        with pytest.raises(MessageError):
            decoded(raw(value))


VALUE = shareplex({"NOTE": None}, {"ID": "1"}, op="upd").value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        event = decoded(raw(value))
    except MessageError:
        return
    found = json.loads(value)
    meta = found["meta"]
    assert event.op_raw == meta["op"]
    assert [event.schema, event.table] == (
        meta["table"].split(".", 1) if "." in meta["table"] else [None, meta["table"]]
    )
    assert event.tx_id == (meta.get("trans") or None)
    assert event.sequence_scope == "partition" or event.sequence == (0, int(meta["scn"]), int(meta["seq"]))
    assert event.after is None or read_image(event.after) == found["data"]
    assert event.op != "UPDATE" or event.before is None or read_image(event.before) == found.get("key", {})
