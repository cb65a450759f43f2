"""Every format decodes its golden messages to the events beside them."""

import json
from pathlib import Path

import pytest

from decode.events import raw, spelled
from retable.decode.context import DecodeContext
from retable.decode.registry import FORMATS, decode_message

GOLDEN = Path(__file__).parents[1] / "golden"
CASES = [
    pytest.param(name, path, id=f"{name}/{path.name}")
    for name in FORMATS
    for path in (GOLDEN / name).glob("*.message.*")
]


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
    message = raw(path.read_bytes(), offset=int(path.name[:4]))
    assert [spelled(event) for event in decode_message(message, DecodeContext(name))] == json.loads(expected)
