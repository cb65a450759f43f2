"""What is wrong with a message is told, with its place; what only looks wrong is read."""

import json
from pathlib import Path
from typing import Any

import pytest

from decode.events import CANAL, raw
from retable.decode.registry import decode_message
from retable.errors import MessageError

LINES = (Path(__file__).parent / "bad_inputs_json.jsonl").read_text(encoding="utf-8").split("\n")
CASES = [json.loads(line) for line in LINES if line]


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


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{case['id']} {case['what']}") for case in CASES])
def test_a_bad_message_is_refused_with_its_place(case: dict[str, Any]) -> None:
    message = raw(value_of(case))
    if case["outcome"] == "OK":
        assert decode_message(message, CANAL)
        return
    with pytest.raises(MessageError) as refused:
        decode_message(message, CANAL)
    assert refused.value.facts.get("problem", refused.value.code) == case["outcome"]
    assert refused.value.message
    assert "place" not in case or refused.value.facts["place"] == case["place"]
