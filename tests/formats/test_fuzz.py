"""Whatever a message holds, it decodes, or it is refused as a message: it ends no run, and no digit of it changes."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace

from formats.mutating import Pairs, Seed, changed_messages, in_other_style, read
from laws.drawing import EXAMPLES, PHASES, SAME
from retable.ddl.registry import gold_type
from retable.decode.evidence import grade_of
from retable.decode.silver import events_to_batch, rows_to_events
from retable.errors import BadValue, MessageError, ZeroDate
from retable.formats.image_text import read_image
from retable.formats.reading import ValueRules, value_reader
from retable.formats.registry import FORMATS, decode_message, find_format
from retable.model.event import ChangeEvent
from retable.model.schema import GoldType
from retable.values.encodings import EmptyIsNull, Encoding, Exact, Numeral, Text, Whole

JSON_FORMATS = [name for name in FORMATS if name != "dts_avro"]
FUZZ = settings(
    max_examples=EXAMPLES * 4,
    phases=PHASES,
    derandomize=SAME,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
RULES = ValueRules()
NUMBERS = [GoldType("string"), GoldType("decimal", 38, 10), GoldType("long")]
SPELLED = (Whole, Exact, Numeral, Text, EmptyIsNull)
"""Forms whose raw value is the value itself."""
SOME_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
TYPES = [*NUMBERS, *(GoldType(kind) for kind in ("double", "timestamptz", "date", "binary"))]


def events_of(seed: Seed) -> list[ChangeEvent]:
    """Decode a message; none where it is refused."""
    message, context = seed
    try:
        events = decode_message(message, context)
    except MessageError:
        return []
    for event in events:
        grade_of(event, message.timestamp_ms, context)
    return events


def check_stored(events: list[ChangeEvent]) -> None:
    """Silver takes them, and gives them back as they are."""
    batch = events_to_batch("20260301T0000Z", events)
    assert rows_to_events(pa.Table.from_batches([batch])) == events


def check_values(events: list[ChangeEvent]) -> None:
    """A value of an image is a value of its column's type, or is refused as one that is not; a number stays itself."""
    for event in events:
        for image in (event.before, event.after):
            for name, raw_value in read_image(image or "{}").items():
                wire = None if event.column_types is None else event.column_types.get(name)
                for gold in [untold(event.source_format, wire), *TYPES]:
                    with suppress(BadValue, ZeroDate):
                        value = value_reader(event.source_format, wire, gold, RULES)(raw_value)
                        assert same_number(find_format(event.source_format).encoding(wire), gold, value, raw_value)


def same_number(form: Encoding, gold: GoldType, value: Any, raw_value: str | None) -> bool:
    """Say whether a value is the number that its raw value spells, where it spells one."""
    if gold not in NUMBERS or not isinstance(form, SPELLED) or not SOME_NUMBER.fullmatch(raw_value or ""):
        return True
    return Decimal(str(value)) == Decimal(raw_value or "")


def untold(source_format: str, wire: str | None) -> GoldType:
    told = None if wire is None else find_format(source_format).default_type(wire)
    found = gold_type("mysql", told) if isinstance(told, str) else told
    return found or GoldType("string")


def check_digits(seed: Seed, events: list[ChangeEvent]) -> None:
    """What an image has under a name the message has under it, digit by digit."""
    message, _ = seed
    parts = [part for part in (message.value, message.key) if part and any(event.kind == "row" for event in events)]
    spelled = {pair for part in parts for pair in _spelled(read(part, str))}
    for event in events:
        for image in (event.before, event.after):
            for name, raw_value in read_image(image or "{}").items():
                assert raw_value is None or not spelled.isdisjoint({(name, raw_value), (name, _canonical(raw_value))})


def check_style(seed: Seed, events: list[ChangeEvent]) -> None:
    """Blanks, line ends and escapes say nothing: written in another style a message says the same."""
    message, context = seed
    if not events or message.value is None:
        return
    other = replace(message, value=in_other_style(message.value))
    assert [_plain(event) for event in decode_message(other, context)] == [_plain(event) for event in events]


def _plain(event: ChangeEvent) -> ChangeEvent:
    before, after, changes = (text and _canonical(text) for text in (event.before, event.after, event.table_changes))
    return replace(event, before=before, after=after, table_changes=changes)


def _spelled(node: Any) -> Iterator[tuple[str, str]]:
    """Every name of a document with its value as `read_image` gives it; of what is nested its canonical text."""
    if isinstance(node, Pairs):
        assert len(dict(node)) == len(node), "a name stands twice in an object, and one of them was taken"
        yield from ((name, _text(item)) for name, item in node)
    for item in node:
        nested = item[1] if isinstance(node, Pairs) else item
        if isinstance(nested, list):
            yield from _spelled(nested)


def _text(node: Any) -> str:
    match node:
        case str():
            return node
        case bool():
            return str(node).lower()
    return _canonical(node)


def _canonical(node: Any) -> str:
    if isinstance(node, str):
        try:
            node = read(node.encode("utf-8", "surrogatepass"), str)
        except (ValueError, RecursionError):
            return ""
    return json.dumps(node)


@pytest.mark.parametrize("name", JSON_FORMATS)
def test_a_message_that_is_nearly_right_is_read_exactly_or_refused(name: str) -> None:
    @FUZZ
    @given(changed_messages(name))
    def law(seed: Seed) -> None:
        events = events_of(seed)
        check_stored(events)
        check_digits(seed, events)
        check_style(seed, events)
        check_values(events)

    law()
