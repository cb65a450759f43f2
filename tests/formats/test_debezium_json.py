"""What debezium_json makes of messages that the golden ones do not show."""

import base64
import hashlib
import json
import tracemalloc
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.debezium_messages import (
    DEBEZIUM,
    ORACLE,
    PLACEHOLDER,
    POSTGRES,
    SOURCE,
    column,
    decoded,
    payload,
    text_of,
    with_schema,
)
from retable.decode.context import context_of
from retable.errors import BadValue, Blocked, Malformed, MessageError, TooLarge, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.debezium.options import DebeziumOptions
from retable.formats.debezium.schema import DECIMAL, NUMERIC
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message, find_format
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.model.schema_change import NoChange
from retable.model.sequence import Sequence
from retable.settings.sources import FilesSource

COLUMNS = [column("id", "int32"), column("c", "string")]
TABLE = TableName("shop", None, "t")


# --- traps ------------------------------------------------------------------------------------------------------------


def test_a_tombstone_is_no_second_delete_and_a_truncate_needs_no_key() -> None:
    key = {"payload": {"ID": 1}}
    events = [
        decoded({"schema": None, "payload": payload("d", {"ID": 1}, None, ORACLE)}, key, offset=1),
        decoded(None, key, offset=2),
        decoded({"schema": None, "payload": payload("c", None, {"ID": 2}, ORACLE)}, {"payload": {"ID": 2}}, offset=3),
        decoded({"schema": None, "payload": payload("t", None, None, ORACLE)}, None, offset=4),
    ]
    assert [event.op for event in events] == ["DELETE", "OTHER", "INSERT", "TRUNCATE"]
    assert [event.kind for event in events] == ["row", "note", "row", "schema"]
    assert [event.problems for event in events] == [(), (), (), ()]


def test_oracle_is_ordered_by_the_offset_and_never_by_its_scn() -> None:
    scns = ["2122185", "2125544", "2122184", "999999999", "1000000001"]
    events = [
        decoded(payload("u", None, {"ID": 1}, {**ORACLE, "scn": scn}), {"ID": 1}, offset=offset)
        for offset, scn in enumerate(scns)
    ]
    assert [event.sequence for event in events] == [Sequence(0, offset, 0) for offset in range(5)]
    assert {event.part for event in events} == {"erp.shop.t/0"}


def test_numbers_stay_encoded_and_a_placeholder_is_left_out() -> None:
    columns = [
        column(
            "AMOUNT", "bytes", "org.apache.kafka.connect.data.Decimal", scale=2, **{"connect.decimal.precision": 10}
        ),
        column("QTY", "struct", "io.debezium.data.VariableScaleDecimal"),
        column("NOTE", "string"),
        column("ID", "int32"),
    ]
    after = {"ID": 1, "AMOUNT": "MDk=", "QTY": {"scale": 0, "value": "/w=="}, "NOTE": PLACEHOLDER}
    event = decoded(with_schema(payload("u", None, after, ORACLE), columns), {"ID": 1})
    assert read_image(event.after or "") == {"ID": "1", "AMOUNT": "MDk=", "QTY": '{"scale":0,"value":"/w=="}'}
    assert (event.partial_before, event.partial_after) == (False, True)
    assert event.column_types == {
        "AMOUNT": "org.apache.kafka.connect.data.Decimal(10,2)",
        "QTY": "io.debezium.data.VariableScaleDecimal",
        "NOTE": "string",
        "ID": "int32",
    }


# --- what the source did not log --------------------------------------------------------------------------------------

OCTETS = PLACEHOLDER.encode()
PLACEHOLDERS = {
    "text": PLACEHOLDER,
    "bytes": base64.b64encode(OCTETS).decode(),
    "array of text": [PLACEHOLDER],
    "array of bytes": [base64.b64encode(OCTETS).decode()],
    "array of integers": list(OCTETS),
    "array of uuids": [str(uuid.UUID(bytes=hashlib.md5(OCTETS, usedforsecurity=False).digest(), version=3))],
    "hstore as a map": {PLACEHOLDER: PLACEHOLDER},
    "hstore as json": text_of({PLACEHOLDER: PLACEHOLDER}),
}


@pytest.mark.parametrize("blanks", [True, False])
@pytest.mark.parametrize("form", PLACEHOLDERS)
def test_a_value_that_was_not_logged_is_left_out_of_both_images(form: str, blanks: bool) -> None:
    row = {"id": 1, "c": PLACEHOLDERS[form], "d": None}
    content = payload("u", row, row, POSTGRES)
    event = decoded(json.dumps(content, ensure_ascii=False) if blanks else content, {"id": 1})
    assert read_image(event.before or "") == read_image(event.after or "") == {"id": "1", "d": None}
    assert (event.partial_before, event.partial_after) == (True, True)


@pytest.mark.parametrize("value", [f"{PLACEHOLDER} ", [PLACEHOLDER, "x"], list(OCTETS[:4]), {PLACEHOLDER: "x"}, "x"])
def test_a_value_that_only_holds_a_placeholder_is_one(value: object) -> None:
    event = decoded(payload("c", None, {"id": 1, "c": value}, POSTGRES), {"id": 1})
    assert read_image(event.after or "").keys() == {"id", "c"}
    assert not event.partial_after


def test_the_settings_may_name_another_placeholder(tmp_path: Path) -> None:
    facts = {"name": "erp", "kind": "files", "path": tmp_path, "layout": "lines", "format": "debezium_json"}
    context = context_of(FilesSource.model_validate({**facts, "unavailable_value": "(lost)"}))
    event = decoded(payload("u", None, {"id": 1, "c": "(lost)", "d": PLACEHOLDER}), {"id": 1}, context)
    assert read_image(event.after or "") == {"id": "1", "d": PLACEHOLDER}


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ({"id": 1, "c": None, "d": None}, {"id": "1"}),
        ({"id": 1, "c": "x", "d": None}, {"id": "1", "c": "x", "d": None}),
        ({"id": 1}, {"id": "1"}),
    ],
)
def test_a_row_of_postgresql_that_is_null_but_for_its_key_is_its_key_alone(
    before: dict[str, object], found: dict[str, str | None]
) -> None:
    event = decoded(payload("d", before, None, POSTGRES), {"id": 1})
    assert read_image(event.before or "") == found
    assert event.partial_before == (len(found) < len(before))


def test_a_row_of_another_database_is_whole_though_it_is_null_but_for_its_key() -> None:
    event = decoded(payload("d", {"id": 1, "c": None}), {"id": 1})
    assert (read_image(event.before or ""), event.partial_before) == ({"id": "1", "c": None}, False)


def test_a_delete_without_its_row_is_one_of_the_messages_key() -> None:
    event = decoded(payload("d", None, None) | {"after": None}, {"id": 1})
    assert (event.before, event.partial_before, event.keys) == ('{"id":1}', True, ("id",))


def test_an_update_without_its_row_before_is_an_update() -> None:
    event = decoded(payload("u", None, {"id": 1, "c": "x"}), {"id": 1})
    assert (event.op, event.before, event.partial_before) == ("UPDATE", None, False)


# --- keys and names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        {"id": 1},
        {"payload": {"id": 1}},
        {"schema": None, "payload": {"id": 1}},
        {"schema": {"type": "struct", "fields": [{"type": "int32", "field": "id"}]}, "payload": {"id": 1}},
    ],
)
def test_the_key_columns_are_those_of_the_messages_key(key: object) -> None:
    event = decoded(payload(), key)
    assert (event.keys, event.keys_origin, event.problems) == (("id",), "message_key", ())


def test_a_column_of_the_key_may_be_called_payload() -> None:
    event = decoded(payload(after={"payload": "x", "schema": "y"}), {"payload": "x", "schema": "y"})
    assert event.keys == ("payload", "schema")


@pytest.mark.parametrize("key", [None, {"schema": None, "payload": None}, {}])
def test_a_table_without_a_key_has_that_of_the_settings_or_none(key: object) -> None:
    named = DecodeContext(source_format="debezium_json", keys_of={TABLE: ("c",)}.get)
    assert (decoded(payload(), key).keys, decoded(payload(), key).problems) == (None, ("KEYS_UNKNOWN",))
    assert (decoded(payload(), key, named).keys, decoded(payload(), key, named).keys_origin) == (("c",), "registry")


def test_a_key_of_columns_that_the_row_lacks_gives_way_to_that_of_the_settings() -> None:
    key = {"id": 1, "__dbz__physicalTableIdentifier": "x"}
    with pytest.raises(Blocked) as blocked:
        decoded(payload(), key)
    assert blocked.value.facts["problem"] == "KEY_NOT_IN_IMAGE"
    named = DecodeContext(source_format="debezium_json", keys_of={TABLE: ("id",)}.get)
    assert (decoded(payload(), key, named).keys, decoded(payload(), key, named).keys_origin) == (("id",), "registry")


@pytest.mark.parametrize("key", ["Struct{id=1}", "1", '"x"', "[1]", '{"id":1,"id":2}', '{"schema":1,"payload":{'])
def test_a_key_that_cannot_be_read_is_refused_unless_the_settings_name_one(key: str) -> None:
    with pytest.raises(Malformed) as refused:
        decoded(payload(), key)
    assert (refused.value.facts["place"], refused.value.facts["table"]) == ("key", TABLE)
    assert "key.converter" in refused.value.message
    named = DecodeContext(source_format="debezium_json", keys_of={TABLE: ("id",)}.get)
    assert decoded(payload(), key, named).keys == ("id",)


UNNAMED = {name: value for name, value in SOURCE.items() if name not in ("table", "db")}


@pytest.mark.parametrize(
    ("topic", "source", "named"),
    [
        ("erp.shop.t", UNNAMED, ("shop", None, "t")),
        ("erp.S.T", {**UNNAMED, "connector": "oracle"}, (None, "S", "T")),
        ("erp.db.dbo.t", {**UNNAMED, **POSTGRES, "table": None, "db": None}, ("db", "dbo", "t")),
        ("other", {**SOURCE, "db": "x"}, ("x", None, "t")),
    ],
)
def test_a_table_is_named_by_the_source_else_by_the_topic(topic: str, source: Any, named: tuple[Any, ...]) -> None:
    event = decoded(payload(source=source), {"id": 1}, topic=topic)
    assert (event.database, event.schema, event.table) == named


def test_the_schema_part_names_the_table_where_neither_source_nor_topic_does() -> None:
    document = with_schema(payload(source=SOURCE), COLUMNS)
    document["payload"] = payload(source=UNNAMED)
    assert decoded(document, {"id": 1}, topic="all").table_name == TABLE


@pytest.mark.parametrize("op", ["c", "t"])
def test_a_table_that_nothing_names_blocks_the_message(op: str) -> None:
    with pytest.raises(Blocked) as blocked:
        decoded(payload(op, source=UNNAMED), None, topic="all")
    assert blocked.value.facts["problem"] == "TABLE_UNKNOWN"


@pytest.mark.parametrize(
    ("fields", "system"),
    [
        ({"scn": "7"}, "oracle"),
        ({"file": "bin.000001", "pos": 4}, "mysql"),
        ({"lsn": 7}, "postgresql"),
        ({"commit_lsn": "00000001:00000001:0001"}, "sqlserver"),
    ],
)
def test_the_fields_of_a_source_tell_a_connector_that_it_does_not_name(fields: Any, system: str) -> None:
    source = {"name": "erp", "ts_ms": 1, "db": "shop", "table": "t", **fields}
    assert decoded(payload(source=source), {"id": 1}).source_system == system
    document = with_schema(payload(source={"connector": "db2", **source}), COLUMNS)
    document["payload"] = payload(source={"name": "erp", "ts_ms": 1, "db": "shop", "table": "t"})
    assert decoded(document, {"id": 1}).source_system == "db2"


# --- order ------------------------------------------------------------------------------------------------------------


def lsn(file: int, block: int, slot: int) -> str:
    return f"{file:08x}:{block:08x}:{slot:04x}"


def test_the_phases_of_one_binlog_event_and_its_rows_are_in_order() -> None:
    ops = ["d", "u", "c"]
    found = [
        decoded(
            payload(op, {"id": 1} if op == "d" else None, None if op == "d" else {"id": 1}, {**SOURCE, "row": row}),
            {"id": 1},
        )
        for row in (0, 1)
        for op in ops
    ]
    sequences = [event.sequence for event in found]
    assert sequences == sorted(set(sequences))
    assert sequences[0] == Sequence(0, 3 * 2**40 + 1234, 0)
    assert {event.part for event in found} == {None}


@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(4, 2**40 - 1), st.integers(0, 2**31 - 1)), min_size=2))
def test_binlog_positions_are_ordered_as_file_place_and_row(positions: list[tuple[int, int, int]]) -> None:
    def sequence(position: tuple[int, int, int]) -> Any:
        source = {**SOURCE, "file": f"bin.{position[0]:06}", "pos": position[1], "row": position[2]}
        return decoded(payload(source=source), {"id": 1}).sequence

    assert sorted(positions, key=sequence) == sorted(positions)


@given(st.data())
def test_positions_of_sql_server_are_ordered_by_commit_and_then_by_change(data: st.DataObject) -> None:
    """A transaction may begin some files before the one in which it ends."""
    places = st.tuples(st.integers(5000, 9000), st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1))
    pairs = data.draw(st.lists(st.tuples(places, places).filter(lambda pair: pair[1] <= pair[0]), min_size=2))

    def sequence(pair: tuple[tuple[int, int, int], tuple[int, int, int]]) -> Any:
        source = {**ORACLE, "connector": "sqlserver", "commit_lsn": lsn(*pair[0]), "change_lsn": lsn(*pair[1])}
        return decoded(payload(source=source), {"id": 1}).sequence

    assert sorted(pairs, key=sequence) == sorted(pairs)


def test_a_snapshot_of_sql_server_stands_behind_all_that_it_saw() -> None:
    seen = {**ORACLE, "connector": "sqlserver", "commit_lsn": lsn(7, 8, 9)}
    read = decoded(payload("r", source={**seen, "snapshot": "true", "change_lsn": None}), {"id": 1}).sequence
    last = decoded(payload("c", source={**seen, "change_lsn": lsn(7, 8, 8)}), {"id": 1}).sequence
    later = decoded(payload("c", source={**seen, "commit_lsn": lsn(7, 9, 0), "change_lsn": lsn(7, 8, 10)}), {"id": 1})
    assert last < read < later.sequence
    empty = {**ORACLE, "connector": "sqlserver", "snapshot": "true"}
    assert decoded(payload("r", source=empty), {"id": 1}).sequence == Sequence(0, 0, 1)


def test_transactions_of_postgresql_are_ordered_by_their_ends() -> None:
    """The longer transaction began first and ended last; a snapshot knows of no transaction before."""
    told = ['[null,"90"]', '[null,"95"]', '["120","110"]', '["120","115"]', '["140","100"]']
    found = [decoded(payload(source={**POSTGRES, "sequence": text}), {"id": 1}).sequence for text in told]
    assert found == sorted(found)
    assert found[2] == Sequence(0, 120, 110 * 4 + 2)


@pytest.mark.parametrize("sequence", [None, "[null,null]", '["120",null]'])
def test_without_its_own_order_postgresql_is_ordered_by_the_offset(sequence: str | None) -> None:
    event = decoded(payload(source={**POSTGRES, "sequence": sequence}), {"id": 1})
    assert (event.sequence, event.sequence_scope) == (Sequence(0, 7, 0), "partition")
    assert event.problems == ("ORDER_FIELDS_MISSING",)


@pytest.mark.parametrize(
    "source",
    [
        {**SOURCE, "file": None},
        {**SOURCE, "file": "bin"},
        {**SOURCE, "file": "bin.12x"},
        {**SOURCE, "pos": None},
        {**POSTGRES, "sequence": "120"},
        {**POSTGRES, "sequence": '["x","y"]'},
        {**POSTGRES, "sequence": f'[null,"{2**62}"]'},
        {**ORACLE, "connector": "sqlserver", "commit_lsn": None},
        {**ORACLE, "connector": "sqlserver", "commit_lsn": "7:8:9"},
        {**ORACLE, "connector": "sqlserver", "commit_lsn": lsn(9999, 8, 9), "change_lsn": lsn(1, 8, 9)},
    ],
)
def test_a_change_without_its_place_in_the_order_is_refused_with_its_table(source: Any) -> None:
    with pytest.raises(Malformed) as refused:
        decoded(payload(source=source), {"id": 1})
    assert str(refused.value.facts["table"]).endswith("t")
    assert str(refused.value.facts["place"]).startswith("payload.source")


def test_the_source_epoch_comes_first() -> None:
    context = DecodeContext(source_format="debezium_json", source_epoch=3)
    assert decoded(payload(), {"id": 1}, context).sequence == Sequence(3, 3 * 2**40 + 1234, 2)


def test_without_a_place_in_the_log_the_offset_orders_where_the_settings_say_so() -> None:
    nowhere = payload(source={**SOURCE, "file": "", "pos": 0})
    with pytest.raises(Malformed, match='`order = "offset"`'):
        decoded(nowhere, {"id": 1})
    context = DecodeContext(source_format="debezium_json", source_epoch=3, options=DebeziumOptions(order="offset"))
    first, later = (decoded(nowhere, {"id": 1}, context, offset=offset) for offset in (7, 8))
    assert (first.sequence, later.sequence) == (Sequence(3, 7, 0), Sequence(3, 8, 0))
    assert (first.sequence_scope, first.part) == ("partition", "erp.shop.t/0")
    made = decoded(statement("CREATE TABLE t (id int)", file="", pos=0, snapshot="true"), None, context, offset=9)
    assert made.sequence == Sequence(3, -1, 9)


@pytest.mark.parametrize(
    ("source", "more", "tx"),
    [
        ({"txId": 571}, {}, "571"),
        ({"txId": "6.28.807", "commit_lsn": "x"}, {}, "6.28.807"),
        ({"gtid": "0-11-2531"}, {"transaction": {"id": "t", "total_order": "1"}}, "0-11-2531"),
        ({}, {"transaction": {"id": "file=b,pos=1", "total_order": 1, "data_collection_order": 1}}, "file=b,pos=1"),
        ({}, {}, None),
    ],
)
def test_a_transaction_is_that_of_the_source_or_of_the_message(source: Any, more: Any, tx: str | None) -> None:
    assert decoded(payload(source={**ORACLE, **source}, **more), {"id": 1}).tx_id == tx


# --- statements -------------------------------------------------------------------------------------------------------


def statement(ddl: str | None, *changes: tuple[str, str], **source: object) -> dict[str, object]:
    told = [{"type": kind, "id": name, "table": None} for kind, name in changes]
    return {
        "source": {**SOURCE, **source},
        "ts_ms": 1700000000500,
        "databaseName": "shop",
        "schemaName": None,
        "ddl": ddl,
        "tableChanges": told,
    }


@pytest.mark.parametrize("snapshot", ["true", "first", "last", True])
def test_a_snapshot_declares_tables_and_drops_none(snapshot: object) -> None:
    dropped = decoded(statement("DROP TABLE IF EXISTS `shop`.`t`", ("DROP", '"shop"."t"'), snapshot=snapshot))
    made = decoded(statement("CREATE TABLE `t` (id int)", ("CREATE", '"shop"."t"'), snapshot=snapshot))
    assert [(event.op, event.kind, event.op_raw) for event in (dropped, made)] == [
        ("OTHER", "note", "snapshot"),
        ("DDL", "schema", "snapshot"),
    ]
    assert (dropped.sequence, dropped.ddl_text) == (None, "DROP TABLE IF EXISTS `shop`.`t`")
    assert made.sequence == Sequence(0, 3 * 2**40 + 1234, -1)
    assert made.sequence < decoded(payload("r", source={**SOURCE, "snapshot": "true"}), {"id": 1}).sequence
    untold = decoded(statement("  create table `t` (id int)", snapshot=snapshot))
    assert (untold.op, untold.sequence) == ("DDL", made.sequence)
    assert decoded(statement("DROP TABLE t", snapshot=snapshot)).op == "OTHER"


@pytest.mark.parametrize(
    ("changes", "table", "named"),
    [
        ([("ALTER", '"shop"."t"')], "x", "t"),
        ([("ALTER", '"shop"."a""b.c"')], "x", 'a"b.c'),
        ([("DROP", '"shop"."a"'), ("DROP", '"shop"."b"')], "a,b", None),
        ([], "a,b", None),
        ([], "", None),
        ([], "t", "t"),
    ],
)
def test_a_statement_names_the_one_table_that_it_changes(changes: Any, table: str, named: str | None) -> None:
    event = decoded(statement("alter table x add y int", *changes, table=table))
    assert (event.op, event.database, event.table) == ("DDL", "shop", named)
    assert (event.table_changes is None) == (not changes)


def test_a_statement_of_a_database_with_schemas_names_all_three() -> None:
    event = decoded(statement("alter table T add Y int", ("ALTER", '"ORCL"."S"."T"'), connector="oracle", scn="7"))
    assert (event.database, event.schema, event.table) == ("shop", "S", "T")
    assert (event.sequence, event.sequence_scope) == (Sequence(0, 7, 0), "partition")


@pytest.mark.parametrize("text", [None, "", "  ", "N/A"])
def test_a_statement_without_a_text_has_none_and_sql_servers_declares_a_table(text: str | None) -> None:
    event = decoded(statement(text, ("ALTER", '"shop"."t"')))
    assert (event.op, event.ddl_text) == ("DDL", None)
    meaning = find_format("debezium_json").implied_change(event.op_raw, TABLE)
    assert meaning == (NoChange("declared") if text == "N/A" else None)


@pytest.mark.parametrize("text", [None, "N/A"])
@pytest.mark.parametrize(("kind", "declares"), [("CREATE", True), ("ALTER", True), ("DROP", False)])
def test_sql_server_tells_of_a_statement_only_the_table_that_came_of_it(
    text: str | None, kind: str, declares: bool
) -> None:
    event = decoded(statement(text, (kind, '"shop"."dbo"."t"'), connector="sqlserver"))
    assert (event.schema, event.table, event.ddl_text) == ("dbo", "t", None)
    meaning = find_format("debezium_json").implied_change(event.op_raw, TABLE)
    assert meaning == (NoChange("declared") if declares or text == "N/A" else None)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"id": 1, "name": "unwrapped"}, UnknownOperation),
        ({"ts_ms": 1, "id": 2}, UnknownOperation),
        ({"status": "BEGUN", "id": "1"}, UnknownOperation),
        (payload("x"), UnknownOperation),
        (payload(source={"name": "ld-x", "namespace": "default", "table": "t", "ts_ms": 1}), UnknownOperation),
        (payload() | {"op": None}, UnknownOperation),
        (payload() | {"op": 1}, Malformed),
        (payload() | {"source": None}, Malformed),
        (payload() | {"after": "{}"}, Malformed),
        (payload() | {"after": {}}, Malformed),
        (payload() | {"before": {"id": 1}}, Malformed),
        (payload("u", {"id": 1}, None), Malformed),
        (payload("d", {"id": 1}, {"id": 1}), Malformed),
        ({"schema": None, "payload": "x"}, Malformed),
        ({"schema": 1, "payload": {}}, Malformed),
        ({"ts_ms": "now"}, Malformed),
        (statement("x") | {"tableChanges": {"type": "ALTER"}}, Malformed),
    ],
)
def test_what_is_no_message_of_debezium_is_refused(value: object, kind: type[MessageError]) -> None:
    with pytest.raises(kind):
        decoded(value)


@pytest.mark.parametrize("after", [{"id": 1}, {"id": 1, "c": "x", "d": 2}])
def test_an_image_of_other_columns_than_the_schema_part_is_refused_with_its_key(after: dict[str, object]) -> None:
    with pytest.raises(BadValue) as refused:
        decoded(with_schema(payload(after=after), COLUMNS), {"id": 1})
    assert refused.value.facts == {"place": "payload.after", "table": TABLE, "keys": ('["1"]',)}


def test_a_column_that_stands_twice_in_the_schema_part_is_refused() -> None:
    with pytest.raises(Malformed, match="twice"):
        decoded(with_schema(payload(), [*COLUMNS, COLUMNS[0]]), {"id": 1})


@pytest.mark.parametrize(
    "layout", ['{{"schema":{0},"payload":{1}}}', ' {{"payload" : {1}, "x": 7, "schema" : {0} }}\n']
)
def test_the_layout_of_the_envelope_does_not_matter(layout: str) -> None:
    document = with_schema(payload(), COLUMNS)
    event = decoded(layout.format(text_of(document["schema"]), text_of(document["payload"])), {"id": 1})
    assert event == decoded(document, {"id": 1})


@pytest.mark.parametrize(
    "value",
    [
        '{"schema":{"type":"struct","type":"struct"},"payload":%s}',
        '{"schema":null,"payload":%s,"payload":%s}',
        '{"schema":null,"schema":null,"payload":%s}',
        '{"schema":null,"payload":{"a":1,"a":1}}',
        '{"schema":null,"payload":%s} x',
        '{"schema":{"type":"struct","name":"\\ud800"},"payload":%s}',
    ],
)
def test_nothing_of_a_message_is_left_unchecked(value: str) -> None:
    with pytest.raises(Malformed):
        decoded(value.replace("%s", text_of(payload())))


@pytest.mark.parametrize("depth", [300, 200_000])
@pytest.mark.parametrize(
    "value", ['{"schema":%s,"payload":{}}', '{"schema":null,"payload":%s}', '{"payload":%s}', "%s"]
)
def test_a_message_that_is_too_deep_is_refused_and_nothing_breaks(value: str, depth: int) -> None:
    deep = '{"a":' * depth + "1" + "}" * depth
    with pytest.raises(TooLarge):
        decoded(value.replace("%s", deep))
    with pytest.raises(MessageError):
        decoded(payload(), value.replace("%s", deep))


def test_wire_types_of_neighbours_are_one_map() -> None:
    first, second = (decoded(with_schema(payload(after={"id": n, "c": "x"}), COLUMNS), {"id": n}) for n in (1, 2))
    assert first.column_types is second.column_types


def test_a_meaning_that_nobody_knows_stands_behind_the_plain_type() -> None:
    columns = [column("id", "int64", "com.example.Ticks"), column("c", "string", "io.debezium.data.Ltree")]
    event = decoded(with_schema(payload(), columns), {"id": 1})
    assert event.column_types == {"id": "int64 com.example.Ticks", "c": "io.debezium.data.Ltree"}


# --- any byte ---------------------------------------------------------------------------------------------------------

BARE = text_of(payload("u", {"id": 1, "c": "y"}, {"id": 1, "c": "x"})).encode()
WRAPPED = text_of(with_schema(payload("u", {"id": 1, "c": "y"}, {"id": 1, "c": "x"}), COLUMNS)).encode()


@given(st.sampled_from([BARE, WRAPPED]), st.data(), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(value: bytes, data: st.DataObject, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    at = data.draw(st.integers(0, len(value) - 1))
    changed = value[:at] + bytes([byte]) + value[at + 1 :]
    try:
        (event,) = decode_message(RawMessage("erp.shop.t", 0, 7, 1, b'{"id":1}', changed), DEBEZIUM)
    except MessageError:
        return
    found = json.loads(changed)
    content = found.get("payload", found)
    if event.kind != "row":
        return
    source = content["source"]
    assert event.op_raw == content["op"]
    assert event.table in (source.get("table"), "t")
    assert event.database in (source.get("db"), "shop")
    rows = [content.get("before"), content.get("after")]
    assert [image and json.loads(image) for image in (event.before, event.after)] == rows
    assert event.sequence_scope == "partition" or event.sequence == Sequence(
        0, int(source["file"].rpartition(".")[2]) * 2**40 + source["pos"], (source.get("row") or 0) * 4 + 1
    )


def test_neighbours_whose_decimals_are_numbers_share_their_types_and_a_null_of_another_changes_none() -> None:
    decimal = {"scale": 0, "connect.decimal.precision": 9}
    columns = [column("id", "int32"), *(column(name, "bytes", DECIMAL, **decimal) for name in "nm")]
    number, again, null, octets = (
        decoded(with_schema(payload(after={"id": 1, "n": n, "m": m}), columns), {"id": 1}).column_types
        for n, m in ((1234, None), (None, -7), (None, None), ("BNI=", None))
    )
    assert number is again
    assert number == {"id": "int32", "n": f"{NUMERIC}(9,0)", "m": f"{NUMERIC}(9,0)"}
    assert null is octets
    assert octets == {"id": "int32", "n": f"{DECIMAL}(9,0)", "m": f"{DECIMAL}(9,0)"}


def test_a_scale_of_a_thousand_million_costs_no_memory() -> None:
    """A27: what a schema part says of an emptiest value is not written out."""
    field = {**column("n", "bytes", DECIMAL, scale=999_999_999), "optional": False}
    tracemalloc.start()
    try:
        assert decoded(with_schema(payload(after={"id": 1, "n": "AA=="}), [column("id", "int32"), field]), {"id": 1})
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
