"""Many raw values at a time become what the reader of values makes of each."""

from collections.abc import Sequence
from decimal import Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.errors import RetableError
from retable.formats.reading import ValueRules, value_reader
from retable.gold.rows import to_column
from retable.model.schema import GoldType, parse_gold_type
from retable.replay.batch.raw_values import column_reader, number_type

ZONES = ("UTC", "Asia/Shanghai", "Europe/Berlin", "America/St_Johns")

digits = st.from_regex(r"-?[0-9]{1,21}(\.[0-9]{1,7})?(e[0-9])?", fullmatch=True)
days = st.from_regex(
    r"(000[01]|0999|1[05]82|19[0-9]{2}|20[0-3][0-9]|9999)-(0[0-9]|1[0-3])-([0-2][0-9]|3[01])", fullmatch=True
)
clocks = st.builds(
    lambda day, rest: day + rest,
    days,
    st.from_regex(r"[ T]([01][0-9]|2[0-4]):[0-5][0-9]:[0-6][0-9](\.[0-9]{1,7})?", fullmatch=True),
)
usual_clocks = st.builds(lambda at, sign: at.isoformat(sign), st.datetimes(), st.sampled_from(" T"))
whole = st.integers(-(10**17), 10**17).map(str)
texts = st.text(max_size=6)

SHAPES = {
    "canal_json": (
        ("int(11)", "int", whole | digits),
        ("bigint(20)", "long", whole | digits),
        ("decimal(10,2)", "decimal(10,2)", digits),
        ("decimal(30,0)", "decimal(30,0)", digits),
        ("double", "double", digits | st.floats(allow_nan=False, allow_infinity=False).map(repr)),
        ("date", "date", days | st.dates().map(str)),
        ("datetime(6)", "timestamp", clocks | usual_clocks),
        ("timestamp(6)", "timestamptz", clocks | usual_clocks),
        ("datetime(6)", "timestamptz", usual_clocks),
        ("varchar(9)", "string", texts),
    ),
    "streamx_json": (
        ("DATE", "timestamp", whole | st.integers(-(10**14), 10**14).map(str)),
        ("DECIMAL", "decimal(12,3)", digits),
        ("DATE", "timestamptz", whole | st.integers(-(10**14), 10**14).map(str)),
    ),
}
NUMBERS = ("int(11)", "bigint(20)", "decimal(10,2)", "decimal(30,0)", "DATE")
CASES = [(name, *case) for name, cases in SHAPES.items() for case in cases]


def outcome(read: object, raw_values: Sequence[str | None]) -> object:
    try:
        return read(raw_values)  # type: ignore[operator]  # one of two, of which the caller asks for the one that reads
    except RetableError as error:
        return type(error), error.message


def stored(column: pa.Array) -> list[object]:
    """The values of a column; times as numbers, as one in the year 1 may lie before all that Python has."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()


@pytest.mark.parametrize(("source_format", "wire", "kind", "raw_values"), CASES, ids=lambda value: str(value)[:24])
@given(data=st.data(), zone=st.sampled_from(ZONES), zero_date=st.sampled_from(["hold", "null"]))
def test_a_column_is_read_as_its_values_are(
    source_format: str,
    wire: str,
    kind: str,
    raw_values: st.SearchStrategy[str],
    data: st.DataObject,
    zone: str,
    zero_date: str,
) -> None:
    gold = parse_gold_type(kind)
    assert isinstance(gold, GoldType)
    rules = ValueRules(zone, zone, zero_date)  # type: ignore[arg-type]  # one of its words
    given_ones = data.draw(st.lists(st.none() | raw_values, max_size=4))
    one = value_reader(source_format, wire, gold, rules, None)
    many = column_reader(source_format, wire, gold, rules, None)
    apart = outcome(lambda each: stored(to_column([one(raw_value) for raw_value in each], gold)), given_ones)
    assert repr(outcome(lambda each: stored(many(pa.array(each, pa.string()))), given_ones)) == repr(apart)


@pytest.mark.parametrize("case", [case for case in CASES if case[1] in NUMBERS], ids=lambda case: case[2])
@given(data=st.data())
def test_numbers_are_read_as_their_texts_are(case: tuple[str, str, str, object], data: st.DataObject) -> None:
    source_format, wire, kind, _ = case
    gold = parse_gold_type(kind)
    assert isinstance(gold, GoldType)
    how = (source_format, wire, gold, ValueRules("Asia/Shanghai", "UTC", "hold"), None)
    stored_as = number_type(*how)
    assert stored_as is not None
    most = 2**63 - 1 if pa.types.is_integer(stored_as) else 10**37
    drawn = data.draw(st.lists(st.none() | st.integers(-most - 1, most), max_size=4))
    scale = getattr(stored_as, "scale", 0)
    with localcontext(prec=38):
        numbers = pa.array([None if each is None else Decimal(each).scaleb(-scale) for each in drawn], stored_as)
    read = column_reader(*how)
    assert repr(outcome(lambda each: stored(read(each)), numbers)) == repr(
        outcome(lambda each: stored(read(each)), numbers.cast(pa.string()))
    )
