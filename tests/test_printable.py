"""Text that a terminal shows and does not obey."""

import json

from hypothesis import given
from hypothesis import strategies as st

from retable.printable import printable, printable_json

OBEYED = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F)}
OBEYED |= {chr(code) for code in (*range(0x2028, 0x202F), *range(0x2066, 0x206A))}


@given(st.text(st.characters() | st.sampled_from(sorted(OBEYED))))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    assert not set(printable(text)) & OBEYED
    written = printable_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert not set(written) & OBEYED
    assert json.loads(written) == {text: [text]}


def test_what_a_terminal_shows_stays_as_it_is() -> None:
    text = "é 漢字\u3000😀 \xa0"
    assert printable_json(json.dumps(text, ensure_ascii=False)) == json.dumps(text, ensure_ascii=False)
