"""What datahub_blob makes of messages: the record of streamx_json, with its empty parts left out."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from formats.events import raw, spelled
from formats.test_bad_inputs import cases, value_of
from retable.errors import BadValue, Malformed, MessageError
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message, find_format
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

BLOB = DecodeContext(source_format="datahub_blob")
GOLDEN = Path(__file__).parents[1] / "golden"
OF_KAFKA = sorted((GOLDEN / "streamx_json").glob("*.message.json"))


def decoded(message: RawMessage, context: DecodeContext = BLOB) -> ChangeEvent:
    (event,) = decode_message(message, context)
    return event


def without_empty_parts(value: bytes) -> bytes:
    """A message to Kafka as fastjson writes it into DataHub: null is not written, nor is a schema of nothing."""
    parts = msgspec.json.decode(value, type=dict[str, Raw])
    for name in ("schema", "payload"):
        part = msgspec.json.decode(parts[name], type=dict[str, Raw])
        parts[name] = Raw(msgspec.json.encode({key: token for key, token in part.items() if bytes(token) != b"null"}))
    return msgspec.json.encode(parts)


@pytest.mark.parametrize("path", OF_KAFKA, ids=lambda path: path.name)
def test_a_record_is_what_it_is_on_kafka_with_and_without_its_empty_parts(path: Path) -> None:
    message = raw(path.read_bytes(), int(path.name[:4]))
    (on_kafka,) = decode_message(message, DecodeContext(source_format="streamx_json"))
    for value in (path.read_bytes(), without_empty_parts(path.read_bytes())):
        assert decoded(replace(message, value=value)) == replace(on_kafka, source_format="datahub_blob")


def test_empty_parts_tell_a_message_of_datahub_from_one_of_kafka() -> None:
    of_datahub = sorted((GOLDEN / "datahub_blob").glob("*_vendor_*.message.json"))
    of_kafka = [path for path in OF_KAFKA if "_vendor_" in path.name]
    assert of_datahub
    assert of_kafka
    for path in (*of_datahub, *of_kafka):
        assert find_format("datahub_blob").is_own(path.read_bytes()) == (path in of_datahub)
        assert find_format("streamx_json").is_own(path.read_bytes()) == (path in of_kafka)
        assert find_format("canal_json").is_own(path.read_bytes())


def test_its_values_and_its_guarantees_are_those_of_the_same_record_on_kafka() -> None:
    ours, theirs = find_format("datahub_blob"), find_format("streamx_json")
    assert ours.partitions_in_order
    for wire in ("BOOLEAN", "LONG", "DOUBLE", "DATE", "BYTES", "STRING", "DECIMAL", ""):
        assert (ours.default_type(wire), ours.encoding(wire)) == (theirs.default_type(wire), theirs.encoding(wire))
    assert ours.implied_change("CINDEX", TableName("shop", None, "t")) is not None


SOURCE = {"dbType": "MySQL", "dbName": "shop", "tableName": "t"}
TIMES = {"eventTime": 1700000000000, "systemTime": 1700000000007}


def blob(schema: Mapping[str, object], **payload: object) -> RawMessage:
    document = {"schema": schema, "payload": {"timestamp": TIMES, **payload}, "version": "0.0.1"}
    return raw(json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode())


def insert(row: Mapping[str, object], **payload: object) -> RawMessage:
    columns = [{"name": "id", "type": "LONG"}, {"name": "c", "type": "STRING"}]
    schema = {"dataColumn": columns, "source": SOURCE, "primaryKey": ["id"]}
    return blob(schema, **{"op": "INSERT", "after": {"dataColumn": row}, "sequenceId": "5", **payload})


def test_a_column_that_is_left_out_of_a_row_is_not_null() -> None:
    with pytest.raises(BadValue, match="which `dataColumn` of the schema part lists, is not in the image"):
        decoded(insert({"id": 1}))


@pytest.mark.parametrize("order", [1605339516000000004, "1605339516000000004"])
def test_the_order_may_stand_unquoted(order: object) -> None:
    assert decoded(insert({"id": 1, "c": "x"}, sequenceId=order)).sequence == Sequence(0, 1605339516000000004, 1)


@pytest.mark.parametrize("order", [1.605339516e18, True, [1], {}, "", "x", "1.0", "-2", "9" * 39])
def test_an_order_that_is_no_whole_number_is_refused(order: object) -> None:
    with pytest.raises(Malformed) as refused:
        decoded(insert({"id": 1, "c": "x"}, sequenceId=order))
    assert refused.value.facts == {"place": "payload.sequenceId", "table": TableName("shop", None, "t")}


def test_the_java_object_of_a_statement_is_nowhere_in_its_event() -> None:
    text = "alter table t add column c int"
    event = decoded(blob({"source": SOURCE}, op="ALTER", sequenceId="1", ddl={"text": text, "ddlMeta": "rO0ABXNy!"}))
    assert (event.op, event.ddl_text, event.column_types, event.keys) == ("DDL", text, None, None)
    assert "rO0AB" not in repr(event)


@pytest.mark.parametrize(
    "value",
    [None, b"", b"\x80\x04\x95", b"\x89PNG\r\n\x1a\n", b"\x0a\x03abc", b"\xac\xed\x00\x05sr", b"rO0ABXNy", b"[]"],
    ids=["no value", "nothing", "pickle", "png", "protobuf", "java", "java in base64", "array"],
)
def test_a_blob_that_is_no_record_is_refused(value: bytes | None) -> None:
    with pytest.raises(MessageError):
        decoded(raw(value))


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_why_a_blob_is_no_json_is_told(case: dict[str, object]) -> None:
    with pytest.raises(MessageError) as refused:
        decoded(raw(value_of(case)))
    assert refused.value.code == ("TOO_LARGE" if case["outcome"] == "TOO_LARGE" else "MALFORMED")


# --- the law: what is encoded by the documentation comes back -----------------------------------------------------

letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
tokens = st.none() | letters | st.integers(-(2**70), 2**70) | st.booleans()


@st.composite
def changes(draw: st.DrawFn) -> tuple[str, dict[str, str], dict[str, dict[str, object]], list[str]]:
    wires = st.sampled_from(["LONG", "STRING", "BOOLEAN", "DATE", "DOUBLE", "BYTES"])
    columns = draw(st.dictionaries(letters, wires, min_size=1, max_size=5))
    op, images = draw(
        st.sampled_from(
            [
                ("INSERT", ["after"]),
                ("UPDATE_BEFOR", ["before"]),
                ("UPDATE_AFTER", ["after"]),
                ("UPDATE_AFTER", ["before", "after"]),
                ("UPDATE", ["before", "after"]),
                ("DELETE", ["before"]),
            ]
        )
    )
    rows = st.fixed_dictionaries(dict.fromkeys(columns, tokens))
    keys = draw(st.lists(st.sampled_from(sorted(columns)), unique=True, min_size=1))
    return op, columns, {image: draw(rows) for image in images}, keys


@given(changes(), st.integers(0, 10**38 - 1), st.booleans())
def test_what_is_encoded_by_the_documentation_comes_back(
    change: tuple[str, dict[str, str], dict[str, dict[str, object]], list[str]], order: int, quoted: bool
) -> None:
    op, columns, rows, keys = change
    listed = [{"name": name, "type": wire} for name, wire in columns.items()]
    images = {image: {"dataColumn": row} for image, row in rows.items()}
    schema = {"dataColumn": listed, "source": SOURCE, "primaryKey": keys}
    event = decoded(blob(schema, op=op, sequenceId=str(order) if quoted else order, **images))
    found = spelled(event)
    assert (event.op_raw, event.column_types, event.keys, event.problems) == (op, columns, tuple(keys), ())
    assert event.sequence == Sequence(0, order, 0 if op == "UPDATE_BEFOR" else 1)
    for image in ("before", "after"):
        text = getattr(event, image)
        assert (None if text is None else json.loads(text)) == rows.get(image)
        assert (image in found) == (image in rows)


VALUE = insert({"id": 1, "c": None}, op="UPDATE_AFTER", before={"dataColumn": {"id": 1, "c": "x"}}).value or b""


@given(st.integers(0, len(VALUE) - 1), st.integers(0, 255))
def test_a_changed_byte_is_seen_or_is_data(at: int, byte: int) -> None:
    """A changed message is refused, or its event says what another reader of JSON finds in it."""
    value = VALUE[:at] + bytes([byte]) + VALUE[at + 1 :]
    try:
        event = decoded(raw(value))
    except MessageError:
        return
    found = json.loads(value)
    payload, source = found["payload"], found["schema"]["source"]
    assert (event.op_raw, event.database, event.table) == (payload["op"], source["dbName"], source["tableName"])
    assert event.sequence is not None
    assert event.sequence.hi == int(payload["sequenceId"])
    for image in ("before", "after"):
        text = getattr(event, image)
        assert (None if text is None else json.loads(text)) == payload.get(image, {}).get("dataColumn")
