"""Strict JSON, and the proof that is faster than reading strictly."""

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import UNSET, Raw, UnsetType

from formats.events import INSERT, streamx
from retable.errors import Malformed, MessageError, TooLarge
from retable.formats.json_text import MAX_DIGITS, _is_plain, _is_whole, check_json, read_json

ANYTHING = msgspec.json.Decoder()
MESSAGE = json.dumps(INSERT).encode()


class Part(msgspec.Struct):
    """A document of which every name is known."""

    row: dict[str, Raw] | UnsetType = UNSET
    text: str | UnsetType | None = UNSET
    number: int | UnsetType | None = UNSET
    other: Raw | UnsetType = UNSET

    @property
    def unread(self) -> list[Raw | UnsetType]:
        return [*(self.row or {}).values(), self.other]


PART = msgspec.json.Decoder(Part)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ['"', '\\"', "\\", "\\u0022", "{", "["]
)
scalars = (
    st.none() | st.booleans() | st.integers() | texts | st.decimals(allow_nan=False, allow_infinity=False).map(float)
)
documents: SearchStrategy[object] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)


def plain_is_strict(value: bytes) -> bool:
    """Say whether strict reading agrees, where a text is taken without it."""
    try:
        if _is_plain(value.decode().encode()):
            check_json(value.decode())
    except UnicodeDecodeError:
        return True
    except MessageError:
        return False
    return True


@given(documents, st.booleans(), st.sampled_from([None, 1, "\t"]))
def test_a_strict_document_is_read_as_it_was_written(
    document: object, ascii_only: bool, indent: int | str | None
) -> None:
    text = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    assert read_json(text.encode(), ANYTHING) == json.loads(text)


@given(st.dictionaries(texts, scalars, min_size=1, max_size=4), st.data())
def test_a_name_that_stands_twice_is_never_plain(document: dict[str, object], data: st.DataObject) -> None:
    pairs = [*document.items(), (data.draw(st.sampled_from(sorted(document))), data.draw(scalars))]
    ascii_only = data.draw(st.booleans())
    text = ",".join(f"{json.dumps(name, ensure_ascii=ascii_only)}:{json.dumps(value)}" for name, value in pairs)
    for wrapped in (f"{{{text}}}", f'[1,{{"deep":{{{text}}}}}]'):
        assert not _is_plain(wrapped.encode())
        with pytest.raises(Malformed, match="occurs twice"):
            read_json(wrapped.encode(), ANYTHING)


@given(st.integers(0, len(MESSAGE) - 1), st.binary(min_size=0, max_size=2))
def test_what_is_plain_is_strict_whatever_bytes_change(at: int, change: bytes) -> None:
    assert plain_is_strict(MESSAGE[:at] + change + MESSAGE[at + 1 :])


@given(st.text('{}[]":,\\u02d8acn1e.+- \n', max_size=40))
def test_what_is_plain_is_strict_whatever_text_it_is(text: str) -> None:
    assert plain_is_strict(text.encode())


@given(st.text('{}[]":,\\1 ', min_size=1, max_size=8), st.text('{}[]":,\\1 ', max_size=8), st.integers(200, 2_000))
def test_what_is_plain_is_strict_however_many_brackets_there_are(repeated: str, rest: str, times: int) -> None:
    assert plain_is_strict((repeated * times + rest).encode())
    assert plain_is_strict((rest + repeated * times).encode())


values = documents.map(json.dumps) | documents.map(lambda value: json.dumps(value, ensure_ascii=False)) | st.just("-0")
blanks = st.sampled_from(["", "", " "])


@given(st.lists(st.tuples(st.sampled_from(["row", "text", "number", "other", "new"]), values, blanks), max_size=5))
@example([("row", '{"a":1,"a":2}', "")])
@example([("other", '{"a":1,"a":2}', "")])
@example([("number", "1", ""), ("number", "-0", ""), ("text", "null", "")])
def test_what_was_read_whole_is_strict(members: list[tuple[str, str, str]]) -> None:
    value = ("{" + ",".join(f'{blank}"{name}":{text}' for name, text, blank in members) + "}").encode()
    try:
        found = PART.decode(value)
    except msgspec.DecodeError:
        return
    if _is_whole(value, found, found.unread):
        check_json(value.decode())


def test_a_part_is_read_whole_in_any_order_of_its_names() -> None:
    for value in (b'{"row":{"a":1,"b":"{"},"text":"x"}', b'{"text":null,"other":1e3,"row":{}}'):
        found = PART.decode(value)
        assert _is_whole(value, found, found.unread)


@given(st.integers(0, 300), st.integers(MAX_DIGITS + 1, MAX_DIGITS + 200), st.integers(0, 300))
def test_a_number_is_never_too_long_to_be_noticed(before: int, digits: int, after: int) -> None:
    with pytest.raises(TooLarge, match="digits"):
        read_json(b"[" + b" " * before + b"7" * digits + b" " * after + b"]", ANYTHING)


def test_an_ordinary_message_is_plain() -> None:
    assert _is_plain(MESSAGE)


def test_a_message_that_lists_many_columns_is_plain() -> None:
    assert _is_plain((streamx({f"column_{number}": "LONG" for number in range(400)}).value) or b"")


@pytest.mark.parametrize(
    ("value", "words", "place"),
    [
        (b'{"a":1', "Expecting ',' delimiter", "character 6"),
        (b'{"a":\xff}', "not UTF-8", "byte 5"),
        (b'{"\xe9a":1}', "not UTF-8", "byte 2"),
        (b'{"a":"\\ud800"}', "half of a UTF-16 surrogate pair", None),
        (b'{"a":"\\u0022","a":1}', "the name 'a' occurs twice", "a"),
        (b'{"a":"\\u0022","b":Infinity}', "Infinity is not a JSON number", "Infinity"),
    ],
)
def test_a_refusal_says_what_and_where(value: bytes, words: str, place: str | None) -> None:
    with pytest.raises(Malformed) as refused:
        read_json(value, ANYTHING)
    assert words in refused.value.message
    assert refused.value.facts.get("place") == place


def test_a_long_message_may_have_many_short_rows() -> None:
    rows = [{"id": str(number), "text": "[[[["} for number in range(5_000)]
    assert read_json(json.dumps(rows).encode(), ANYTHING) == rows


def test_depth_is_counted_outside_strings_only() -> None:
    deep = "[" * 150 + '"' + "[" * 150 + '"' + "]" * 150
    assert read_json(deep.encode(), ANYTHING)
    with pytest.raises(TooLarge):
        read_json(("[" * 201 + "]" * 201).encode(), ANYTHING)
