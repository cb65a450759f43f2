"""Raw values to values of gold: exactly, or not at all."""

import base64
import json
import struct
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retable.errors import BadValue, InvalidSetting, ZeroDate
from retable.formats.reading import Value, ValueRules, default_reader, read_image, read_value_of, value_reader
from retable.formats.registry import find_format
from retable.model.schema import GoldType, parse_gold_type
from retable.values.encodings import Instant, LabelArray

FILES = {
    "canal_json": "values_canal.jsonl",
    "streamx_json": "values_streamx.jsonl",
    "dts_avro": "values_dts.jsonl",
    "shareplex_json": "values_shareplex.jsonl",
}
CASES = [
    {"format": source_format, **json.loads(line)}
    for source_format, file in FILES.items()
    for line in (Path(__file__).parent / file).read_text(encoding="utf-8").split("\n")
    if line
]
NAMES = [" ".join([case["format"], str(case["wire"]), case["gold"], repr(case["text"])]) for case in CASES]
GOLD_TYPES = [
    *("boolean", "int", "long", "float", "double", "decimal(38,10)", "decimal(20,0)", "date"),
    *("timestamp", "timestamptz", "string", "binary"),
]
WIRE_TYPES = sorted({(case["format"], case["wire"]) for case in CASES if case["wire"] is not None})
EPOCH = datetime.fromisoformat("1970-01-01")


def gold_type(text: str) -> GoldType:
    parsed = parse_gold_type(text)
    assert parsed is not None
    return parsed


def read(wire: str | None, gold: str, text: str | None, rules: ValueRules | None = None) -> Value:
    return value_reader("canal_json", wire, gold_type(gold), rules or ValueRules())(text)


def read_streamx(wire: str, gold: str, text: str, rules: ValueRules | None = None) -> Value:
    return value_reader("streamx_json", wire, gold_type(gold), rules or ValueRules())(text)


def as_value(gold: str, spelled: Any) -> Value:
    """What a line of the data file spells: dates and times as ISO 8601, decimals as text, bytes as hex."""
    match gold_type(gold).kind:
        case "date":
            return spelled and (date.fromisoformat(spelled) - EPOCH.date()).days
        case "timestamp" | "timestamptz":
            return spelled and (datetime.fromisoformat(spelled) - EPOCH) // timedelta(microseconds=1)
        case "decimal":
            return Decimal(spelled)
        case "binary":
            return bytes.fromhex(spelled)
        case _:
            return spelled


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_lexeme_becomes_its_value_or_is_refused(case: dict[str, Any]) -> None:
    zone = case.get("zone", "UTC")
    rules = ValueRules(zone, case.get("timestamp_zone", "UTC"), case.get("zero_date", "hold"))
    reader = value_reader(case["format"], case["wire"], gold_type(case["gold"]), rules, case.get("declared"))
    if "value" in case:
        value = reader(case["text"])
        assert (type(value), value) == (type(wanted := as_value(case["gold"], case["value"])), wanted)
        assert str(value) == str(wanted)
        return
    with pytest.raises(ZeroDate if "zero" in case else BadValue) as refused:
        reader(case["text"])
    assert case.get("refused", "zero") in refused.value.message


@pytest.mark.parametrize("gold", GOLD_TYPES)
def test_null_is_null_in_every_type(gold: str) -> None:
    for source_format, wire in [*WIRE_TYPES, *((name, None) for name in FILES)]:
        assert value_reader(source_format, wire, gold_type(gold), ValueRules())(None) is None


raw_values = st.text(max_size=12) | st.from_regex(r"[-0-9.eE: ]+")


@given(st.sampled_from([*WIRE_TYPES, ("canal_json", None)]), st.sampled_from(GOLD_TYPES), raw_values)
def test_any_text_of_any_type_is_a_value_or_refused(wire: tuple[str, str | None], gold: str, text: str) -> None:
    try:
        value = value_reader(*wire, gold_type(gold), ValueRules())(text)
    except (BadValue, ZeroDate):
        return
    assert value is not None


def test_a_refusal_shows_the_value_shortened_and_escaped() -> None:
    with pytest.raises(BadValue) as refused:
        read("int", "int", "\x1b[31m\n" + "x" * 500)
    assert "\\x1b[31m\\n" in refused.value.message
    assert len(refused.value.message) < 250
    assert refused.value.facts["wire_type"] == "int"
    assert refused.value.facts["gold"] == "int"


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_come_back(number: int) -> None:
    assert read("bigint", "long", str(number)) == number
    assert read("bigint", "decimal(20,0)", str(number)) == number
    assert read("bigint", "string", str(number)) == str(number)


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_decimals_come_back_with_every_digit(digits: int) -> None:
    number = Decimal(f"{digits}E-10")
    plain = f"{number:f}"
    for text in (str(number), plain, plain.rstrip("0").removesuffix(".")):
        assert read("decimal(38,10)", "decimal(38,10)", text) == number
        assert read("decimal(38,10)", "string", text) == plain


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_come_back(number: float) -> None:
    assert read("double", "double", repr(number)) == number
    assert read("double", "double", read("double", "string", repr(number))) == number


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_floats_come_back_at_their_width(number: float) -> None:
    for text in (repr(number), f"{number:.9g}"):
        assert struct.pack("<f", read("float", "float", text)) == struct.pack("<f", number)
    assert read("float", "double", repr(number)) == number
    assert struct.pack("<f", float(str(read("float", "string", repr(number))))) == struct.pack("<f", number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_a_float_only_where_no_digit_is_lost(number: float) -> None:
    try:
        assert read("double", "float", repr(number)) == number
    except BadValue:
        try:
            assert struct.unpack("<f", struct.pack("<f", number))[0] != number
        except OverflowError:
            return


@given(st.dates())
def test_dates_come_back(day: date) -> None:
    assert read("date", "date", day.isoformat()) == day.toordinal() - date(1970, 1, 1).toordinal()
    assert read("date", "string", day.isoformat()) == day.isoformat()


@given(st.datetimes())
def test_wall_clocks_come_back_and_no_zone_moves_them(time: datetime) -> None:
    rules = ValueRules("America/New_York", "Asia/Shanghai")
    micros = (time - EPOCH) // timedelta(microseconds=1)
    assert read("datetime(6)", "timestamp", time.isoformat(" ", "microseconds"), rules) == micros


@given(
    st.datetimes(datetime.fromisoformat("1850-01-01"), datetime.fromisoformat("2200-01-01")),
    st.sampled_from(["Asia/Shanghai", "America/New_York", "Australia/Lord_Howe", "Africa/Monrovia", "UTC"]),
)
def test_instants_come_back_unless_the_clocks_were_changed(time: datetime, zone: str) -> None:
    shown = time.replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    assume(shown.utcoffset() == shown.replace(fold=not shown.fold).utcoffset())
    text = shown.replace(tzinfo=None).isoformat(" ", "microseconds")
    micros = (time - EPOCH) // timedelta(microseconds=1)
    assert read("timestamp(6)", "timestamptz", text, ValueRules("UTC", zone)) == micros
    assert read("timestamp(6)", "timestamp", text, ValueRules("UTC", zone)) == micros


@given(st.binary(max_size=20))
def test_bytes_come_back(value: bytes) -> None:
    assert read("blob", "binary", value.decode("latin-1")) == value
    assert read("binary(20)", "binary", value.rstrip(b"\0").decode("latin-1")) == value.ljust(20, b"\0")[:20]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_comes_back_also_from_latin_1(text: str) -> None:
    assert read("longtext", "string", text) == text
    assert read("json#latin1", "string", text.encode().decode("latin-1")) == text


label_texts = st.text(st.characters(exclude_characters=",", exclude_categories=["Cs"]), min_size=1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_of_unknown_kind_is_the_double_that_it_was(number: float) -> None:
    for text in (repr(number), f"{number:.16e}"):
        assert struct.pack("<d", read_streamx("DOUBLE", "double", text)) == struct.pack("<d", number)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_number_of_unknown_kind_is_the_float_that_it_was(number: float) -> None:
    for text in (repr(number), f"{number:.8e}", str(read("float", "string", repr(number)))):
        assert struct.pack("<f", read_streamx("DOUBLE", "float", text)) == struct.pack("<f", number)


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_a_number_of_unknown_kind_keeps_every_digit_of_a_decimal_or_is_no_double(digits: int) -> None:
    number = Decimal(f"{digits}E-10")
    assert read_streamx("DOUBLE", "decimal(38,10)", str(number)) == number
    try:
        double = read_streamx("DOUBLE", "double", str(number))
    except BadValue:
        assert Decimal(repr(float(number))) != number
    else:
        last_digit = Fraction(10) ** int(number.normalize(Context(38)).as_tuple().exponent)
        assert abs(Fraction(double) - Fraction(number)) <= last_digit / 2


@given(st.binary(max_size=20))
def test_bytes_come_back_from_base64(value: bytes) -> None:
    text = base64.b64encode(value).decode()
    assert read_streamx("BYTES", "binary", text) == value
    reader = value_reader("streamx_json", "BYTES", GoldType("binary"), ValueRules(), "binary(20)")
    assert reader(base64.b64encode(value.rstrip(b"\0")).decode()) == value.ljust(20, b"\0")[:20]


@given(
    st.datetimes(datetime.fromisoformat("0001-01-02"), datetime.fromisoformat("9999-12-30")),
    st.sampled_from(["Asia/Shanghai", "America/New_York", "UTC"]),
)
def test_an_instant_is_shown_as_the_wall_clock_of_the_zone(time: datetime, zone: str) -> None:
    millis = (time - EPOCH) // timedelta(milliseconds=1)
    shown = (EPOCH + timedelta(milliseconds=millis)).replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    rules = ValueRules(zone)
    assert read_streamx("DATE", "timestamptz", str(millis), rules) == millis * 1000
    assert read_streamx("DATE", "timestamp", str(millis), rules) == (shown - EPOCH) // timedelta(microseconds=1)
    text = read_streamx("DATE", "string", str(millis), rules)
    assert datetime.fromisoformat(str(text)) == shown


def test_a_default_is_text_of_its_statement_whatever_the_format() -> None:
    assert default_reader("DATE", GoldType("date"), ValueRules())("1970-01-02") == 1
    assert default_reader("binary(3)", GoldType("binary"), ValueRules())("a") == b"a\0\0"
    with pytest.raises(BadValue, match=r"\(type in the message: int\) is not a valid int"):
        default_reader("int", GoldType("int"), ValueRules())("x")


def test_a_point_in_time_of_a_default_is_by_the_clock_of_the_source() -> None:
    rules, kind, text = ValueRules("Asia/Shanghai", "UTC"), GoldType("timestamptz"), "1970-01-01 08:00:00"
    assert default_reader("timestamp", kind, rules)(text) == 0
    assert value_reader("canal_json", "timestamp", kind, rules)(text) == 8 * 3600 * 1_000_000


@given(st.lists(label_texts, min_size=1, max_size=64, unique=True), st.data())
def test_labels_come_back_by_number_and_by_mask(labels: list[str], data: st.DataObject) -> None:
    quoted = ",".join("'" + label.replace("'", "''") + "'" for label in labels)
    number = data.draw(st.integers(1, len(labels)))
    assert read(f"enum({quoted})#index", "string", str(number)) == labels[number - 1]
    chosen = [label for label in labels if data.draw(st.booleans())]
    mask = sum(1 << bit for bit, label in enumerate(labels) if label in chosen)
    assert read(f"set({quoted})#bits", "string", str(mask)) == ",".join(chosen)


@pytest.mark.parametrize(("zone", "hour"), [(None, 4), ("UTC", 12)])
def test_an_instant_may_tell_the_zone_in_which_it_is_written(zone: str | None, hour: int) -> None:
    rules = ValueRules(timestamp_zone="Asia/Shanghai")
    read = read_value_of(Instant(zone), "timestamp", GoldType("timestamptz"), rules)
    assert read("2026-03-01 12:34:56") == int(datetime(2026, 3, 1, hour, 34, 56, tzinfo=UTC).timestamp()) * 10**6


@given(st.lists(st.from_regex(r"[^,\x00-\x1f]{1,9}", fullmatch=True), min_size=1, max_size=5, unique=True), st.data())
def test_labels_come_back_out_of_an_array(labels: list[str], data: st.DataObject) -> None:
    read = read_value_of(LabelArray(tuple(labels)), "set", GoldType("string"), ValueRules())
    chosen = [label for label in labels if data.draw(st.booleans())]
    assert read(json.dumps(chosen)) == ",".join(chosen)
    for wrong in (json.dumps([*chosen, "\0"]), json.dumps(",".join(chosen)), "[1]"):
        with pytest.raises(BadValue):
            read(wrong)


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ('{"id":"1","c":null,"d":""}', {"id": "1", "c": None, "d": ""}),
        ('{"n":1.10,"t":true,"f":false,"z":null}', {"n": "1.10", "t": "true", "f": "false", "z": None}),
        ('{"o":{"a": [1]},"a":[1, 2],"s":"\\u00e9\\n"}', {"o": '{"a": [1]}', "a": "[1, 2]", "s": "é\n"}),
        ('{"n":18446744073709551616.000000000000000000001}', {"n": "18446744073709551616.000000000000000000001"}),
    ],
)
def test_an_image_is_read_as_lexemes(text: str, image: dict[str, str | None]) -> None:
    assert read_image(text) == image


def test_an_unknown_format_names_the_nearest_one() -> None:
    with pytest.raises(InvalidSetting, match="did you mean 'canal_json'"):
        find_format("canal-json")
