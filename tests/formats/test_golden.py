"""Every format decodes its golden messages to the events beside them."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from formats.events import options_of, raw, spelled
from retable.formats.context import DecodeContext
from retable.formats.registry import FORMATS, decode_message
from retable.model.message import RawMessage

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in FORMATS
    for path in (GOLDEN / name).glob("*.message.*")
]


def beside(path: Path) -> dict[str, Any]:
    """What the settings, the topic, the key and the headers say, where the message alone does not say enough."""
    context = path.with_name(f"{path.name.split('.')[0]}.context.json")
    told: dict[str, Any] = json.loads(context.read_text(encoding="utf-8")) if context.exists() else {}
    return told


def context_of(name: str, path: Path) -> DecodeContext:
    told = {key: value for key, value in beside(path).items() if key not in ("headers", "topic", "key")}
    keys, options = tuple(told.pop("keys", ())), options_of(name, **told)
    rest = {key: value for key, value in told.items() if key not in type(options).model_fields}
    return DecodeContext(source_format=name, keys_of=lambda _: keys, options=options, **rest)


def message_of(path: Path) -> RawMessage:
    told = beside(path)
    message = raw(path.read_bytes(), offset=int(path.name[:4]))
    headers = tuple((name, text.encode()) for name, text in told.get("headers", {}).items())
    key = told["key"].encode() if "key" in told else None
    return replace(message, topic=told.get("topic", message.topic), key=key, headers=headers)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_golden_messages_and_says_where_they_are_from(name: str) -> None:
    assert (GOLDEN / name / "ORIGIN.md").read_text(encoding="utf-8").strip()
    messages = {path.name.split(".")[0] for path in (GOLDEN / name).glob("*.message.*")}
    assert messages
    assert messages == {path.name.split(".")[0] for path in (GOLDEN / name).glob("*.events.json")}


def test_every_golden_folder_is_that_of_a_format() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(FORMATS)


@pytest.mark.parametrize(("name", "path"), CASES)
def test_a_golden_message_decodes_to_its_events(name: str, path: Path) -> None:
    expected = path.with_name(f"{path.name.split('.')[0]}.events.json").read_text(encoding="utf-8")
    events = decode_message(message_of(path), context_of(name, path))
    assert [spelled(event) for event in events] == json.loads(expected)
