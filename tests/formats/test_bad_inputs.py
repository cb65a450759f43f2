"""What is wrong with a message is told, with its place; what only looks wrong is read."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from formats.debezium_messages import DEBEZIUM, column, message, payload, text_of, with_schema
from formats.events import CANAL, STREAMX, canal, options_of, raw, streamx
from formats.test_values import as_value, gold_type
from retable.ddl.registry import gold_type as source_type
from retable.decode.silver import hash_keys
from retable.errors import BadValue, MessageError, ZeroDate
from retable.formats.context import DecodeContext
from retable.formats.image_text import read_image
from retable.formats.reading import ValueRules, value_reader
from retable.formats.registry import FORMATS, decode_message
from retable.model.message import RawMessage


def cases(file: str) -> list[Any]:
    lines = (Path(__file__).parent / file).read_text(encoding="utf-8").split("\n")
    found = [json.loads(line) for line in lines if line]
    return [pytest.param(case, id=f"{case['id']} {case['what']}") for case in found]


def value_of(case: dict[str, Any]) -> bytes | None:
    """Give text, bytes as hex, or `around` with `repeat` in its middle many times over, and `then` as often."""
    if case.get("null"):
        return None
    if "hex" in case:
        return bytes.fromhex(case["hex"])
    if "repeat" not in case:
        return case["value"].encode()
    repeated = case["repeat"] * case["times"] + case.get("then", "") * case["times"]
    return (repeated.join(case["around"]) + case.get("end", "")).encode()


def check(case: dict[str, Any], message: RawMessage, context: DecodeContext) -> None:
    if case["outcome"] == "OK":
        assert decode_message(message, context)
        return
    with pytest.raises(MessageError) as refused:
        decode_message(message, context)
    assert refused.value.facts.get("problem", refused.value.code) == case["outcome"]
    assert refused.value.message
    assert "place" not in case or refused.value.facts["place"] == case["place"]


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_a_bad_message_of_canal_is_refused_with_its_place(case: dict[str, Any]) -> None:
    check(case, raw(value_of(case)), CANAL)


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_no_message_of_canal_is_one_of_streamx_and_why_it_is_no_json_is_told_alike(case: dict[str, Any]) -> None:
    with pytest.raises(MessageError) as refused:
        decode_message(raw(value_of(case)), STREAMX)
    expected = case["outcome"] if case["outcome"] == "TOO_LARGE" else "MALFORMED"
    assert refused.value.code == expected


@pytest.mark.parametrize("case", cases("bad_inputs_streamx.jsonl"))
def test_a_bad_message_of_streamx_is_refused_with_its_place(case: dict[str, Any]) -> None:
    value = (streamx().value or b"").decode()
    assert value.count(case["replace"]) == 1
    check(case, raw(value.replace(case["replace"], case["by"]).encode("utf-8", "surrogatepass")), STREAMX)


DEBEZIUM_CREATE = text_of(with_schema(payload(), [column("id", "int32"), column("c", "string")]))


@pytest.mark.parametrize("case", cases("bad_inputs_debezium.jsonl"))
def test_a_bad_message_of_debezium_is_refused_with_its_place(case: dict[str, Any]) -> None:
    assert DEBEZIUM_CREATE.count(case["replace"]) == 1
    check(case, message(DEBEZIUM_CREATE.replace(case["replace"], case["by"]), {"id": 1}), DEBEZIUM)


@pytest.mark.parametrize("case", cases("bad_inputs_json.jsonl"))
def test_no_message_of_canal_is_one_of_debezium_and_only_a_null_is_no_fault(case: dict[str, Any]) -> None:
    if value_of(case) is None:
        assert [event.op for event in decode_message(raw(None), DEBEZIUM)] == ["OTHER"]
        return
    with pytest.raises(MessageError) as refused:
        decode_message(raw(value_of(case)), DEBEZIUM)
    assert refused.value.code in ("TOO_LARGE", "MALFORMED", "OP_UNKNOWN")
    assert (refused.value.code == "TOO_LARGE") == (case["outcome"] == "TOO_LARGE")


@pytest.mark.parametrize("case", cases("bad_inputs_values.jsonl"))
def test_a_bad_value_is_refused_and_a_strange_one_is_kept_exactly(case: dict[str, Any]) -> None:
    rules = ValueRules(
        timestamp_zone=case.get("timestamp_zone", "UTC"),
        zero_date=case.get("zero_date", "hold"),
        binary_encoding=case.get("binary_encoding", "utf-8"),
    )
    read = value_reader(case["format"], case["wire"], gold_type(case["gold"]), rules)
    if "value" in case:
        assert str(read(case["text"])) == str(as_value(case["gold"], case["value"]))
        return
    with pytest.raises(ZeroDate if "zero" in case else BadValue) as refused:
        read(case["text"])
    assert case.get("refused", "") in refused.value.message


@pytest.mark.parametrize("case", cases("bad_inputs_types.jsonl"))
def test_a_type_that_nobody_can_hold_exactly_is_text_or_unknown(case: dict[str, Any]) -> None:
    found = source_type("mysql", case["type"])
    assert (found and str(found)) == case["gold"]


@pytest.mark.parametrize("case", cases("bad_inputs_keys.jsonl"))
def test_keys_are_one_where_their_text_is(case: dict[str, Any]) -> None:
    hashes = {
        hash_keys([event])[0]
        for key in (case["one"], case["other"])
        for event in decode_message(canal(data=[{"id": key, "c": "x"}]), CANAL)
    }
    assert (len(hashes) == 2) == case["differ"]


def test_minus_zero_is_the_same_key_as_zero_in_gold() -> None:
    """C21."""
    read = value_reader("debezium_json", "double", gold_type("double"), ValueRules())
    assert len({read("-0.0"), read("0.0")}) == 1


@pytest.mark.parametrize("count", [10_000])
def test_a_row_of_very_many_columns_is_whole(count: int) -> None:
    """B29."""
    row = {f"c{number}": "x" for number in range(count)}
    (event,) = decode_message(canal(data=[{"id": "1", **row}], mysqlType=None, sqlType=None), CANAL)
    assert len(read_image(event.after or "")) == count + 1


NOTES = {
    "A58 a heartbeat": ({"ts_ms": 1700000000000}, "__debezium-heartbeat.erp", "HEARTBEAT"),
    "A59 the begin of a transaction": ({"status": "BEGIN", "id": "7", "ts_ms": 1}, "erp.transaction", "TRANSACTION"),
    "A59 its end": ({"status": "END", "id": "7", "ts_ms": 1, "event_count": 2}, "erp.transaction", "TRANSACTION"),
}


@pytest.mark.parametrize(("value", "topic", "op"), NOTES.values(), ids=NOTES)
def test_what_is_no_change_among_changes_is_a_note(value: dict[str, object], topic: str, op: str) -> None:
    for place in (topic, "erp.shop.t"):
        assert [event.op for event in decode_message(message(value, topic=place), DEBEZIUM)] == [op]


def _peak(value: bytes, context: DecodeContext) -> int:
    given = raw(value)
    tracemalloc.start()
    try:
        with pytest.raises(MessageError):
            decode_message(given, context)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_too_large_is_refused_before_memory_is_spent_on_it(name: str) -> None:
    """A27, B58: over the cap nothing is read; A26: what is too deep costs no more than a few copies of its bytes."""
    context = DecodeContext(
        source_format=name, max_message=4 << 20, options=options_of(name, database="shop", table="t")
    )
    assert _peak(b" " * (4 << 20) + b"{", context) < 1 << 16
    deep = b'{"data":' + b"[" * (1 << 20)
    assert _peak(deep, context) < 16 * len(deep)
