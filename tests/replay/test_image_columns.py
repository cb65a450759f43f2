"""Many images at a time give the raw values that each gives by itself."""

import json
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retable.formats.image_text import read_image
from retable.replay.batch.image_columns import read_columns

NAMES = ("id", "été", 'a"b', "c\\d", "")
NUMBERS = st.sampled_from(["0", "-0", "7", "1.5", "1.50", "-2.125", "1e2", "1E-2", "9" * 19, "9" * 60, "true", "[1]"])
STRINGS = st.sampled_from(["7", "+7", ".5", "5.", " 5", "", "null", "a\nb", "\x00"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=5
)
TOKENS = NUMBERS | STRINGS.map(json.dumps) | st.just("null") | st.just('{"id":"1","x":2}')
SPACES = st.sampled_from(["", " ", "\n", " \n\t"])


@st.composite
def images(draw: st.DrawFn) -> str | None:
    """One object of JSON, or none; its names spelled with escapes or without."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    spelled = [json.dumps(name, ensure_ascii=draw(st.booleans())) for name in names]
    space = draw(SPACES)
    pairs = [f"{space}{name}{space}:{space}{draw(TOKENS)}" for name in spelled]
    return draw(st.just("{" + f"{space},".join(pairs) + space + "}") | st.none())


def as_number(raw_value: str | None) -> object:
    return None if raw_value is None else Decimal(raw_value)


@given(
    told=st.lists(images(), min_size=1, max_size=40),
    typed=st.dictionaries(
        st.sampled_from(NAMES), st.sampled_from([None, pa.int64(), pa.decimal128(38, 2)]), min_size=1
    ),
)
@example(['{"id":1.5}'] * 33 + ['{"id":"+7"}'], {"id": pa.decimal128(38, 2)})
@example(['{"id":1}', '{"id" :"07"}'], {"id": pa.int64()})
@example(['{"id":"a"}', None, '{"id":"b"}'], {"id": pa.int64()})
def test_columns_are_read_as_each_image_is(told: list[str | None], typed: dict[str, pa.DataType | None]) -> None:
    apart = [{} if image is None else read_image(image) for image in told]
    found = read_columns(pa.chunked_array([pa.array(told[:2], pa.string()), pa.array(told[2:], pa.string())]), typed)
    assert found.keys() == typed.keys()
    for name, kind in typed.items():
        expected = [image.get(name) for image in apart]
        texts = found[name].cast(pa.string()).to_pylist()
        assert texts == expected or (
            found[name].type == kind and [*map(as_number, texts)] == [*map(as_number, expected)]
        )


@pytest.mark.parametrize("quoted", ['"+7"', '".5"', '"5."'])
def test_a_string_is_never_taken_for_a_number_that_it_does_not_spell(quoted: str) -> None:
    rows = ['{"amount":1.25}'] * 40 + [f'{{"amount":{quoted}}}']
    found = read_columns(pa.chunked_array([rows]), {"amount": pa.decimal128(38, 2)})
    assert found["amount"][-1].as_py() == json.loads(quoted)


def test_numbers_of_a_type_and_strings_are_read_by_arrow() -> None:
    rows = ['{"id":1,"amount":1.5,"name":"x"}'] * 100_000 + ['{"id":2,"amount":12.25,"name":null}']
    typed = {"id": pa.int64(), "amount": pa.decimal128(38, 2), "name": None}
    found = read_columns(pa.chunked_array([rows]), typed)
    assert {name: found[name][0].as_py() for name in typed} == {"id": 1, "amount": Decimal("1.50"), "name": "x"}
    assert {name: found[name][-1].as_py() for name in typed} == {"id": 2, "amount": Decimal("12.25"), "name": None}
