"""What is wrong with a message is told, with its place; what only looks wrong is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from decode.debezium_messages import DEBEZIUM, column, message, payload, text_of, with_schema
from decode.events import CANAL, STREAMX, raw, streamx
from retable.decode.context import DecodeContext
from retable.decode.registry import decode_message
from retable.errors import MessageError
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
