"""What the simulator writes says what it did: its messages, read one after the other, give the truth."""

import random
from collections import Counter
from decimal import Decimal
from functools import cache
from typing import Any, cast

import pytest

from formats.events import options_of
from retable.ddl.registry import parse_statement
from retable.formats.context import DecodeContext
from retable.formats.reading import ValueRules
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.schema_change import Unsupported
from retable.simulate import (
    FORMATS,
    LOADED,
    ROW_KINDS,
    History,
    Message,
    Stream,
    canal_json,
    debezium_json,
    lindorm_debezium,
    simulate,
    streamx_json,
)
from retable.simulate.columns import Column, ColumnType
from retable.simulate.designs import DESIGNS
from simulate.reader import Reader, truth_of

SEEDS = range(12)
VARIANTS: dict[str, object] = {
    "streamx_json, halves": streamx_json.Options("halves", row_ids=False),
    "streamx_json, whole": streamx_json.Options("whole", marks=False),
    "datahub_blob, halves": streamx_json.Options("halves"),
    "debezium_json, without schemas": debezium_json.Options(schemas=False, transactions=False, tombstones=False),
    "lindorm_debezium, without schemas": lindorm_debezium.Options(schemas=False, before=False),
}
WRITERS = (*FORMATS, *VARIANTS)
TELLING = [writer for writer in WRITERS if FORMATS[writer.partition(",")[0]].tells_statements]


@cache
def shop(seed: int, name: str = "streamx_json") -> History:
    """A history that a format can tell; every third one begins with all its tables loaded, where any may be."""
    known = FORMATS[name]
    loaded = known.loaded if seed % 3 or not set(LOADED) <= set(known.loaded) else tuple(DESIGNS)
    return known.as_source(simulate(random.Random(seed), 60, kinds=ROW_KINDS + known.kinds, loaded=loaded))


def written(writer: str, seed: int) -> tuple[History, Stream]:
    """A history, and the stream of a format or of a variant of one."""
    name = writer.partition(",")[0]
    history, write = shop(seed, name), FORMATS[name].write
    return history, write(history, VARIANTS[writer]) if writer in VARIANTS else write(history)


def events_of(history: History, stream: Stream) -> list[tuple[Message, list[ChangeEvent]]]:
    tables = FORMATS[stream.format].tables(history)

    def keys_of(name: TableName) -> tuple[str, ...]:
        return tables[str(name)].keys if str(name) in tables else ()

    context = DecodeContext(
        source_format=stream.format, keys_of=keys_of, options=options_of(stream.format, **FORMATS[stream.format].source)
    )
    return [
        (message, decode_message(as_read(message, offset), context)) for offset, message in enumerate(stream.messages)
    ]


@cache
def decoded(writer: str, seed: int) -> list[tuple[Message, list[ChangeEvent]]]:
    return events_of(*written(writer, seed))


def as_read(message: Message, offset: int) -> RawMessage:
    key, value = message.key, message.value
    return RawMessage(
        "shop",
        0,
        offset,
        0,
        None if key is None else key.encode(),
        value.encode() if isinstance(value, str) else value,
        tuple((name, text.encode()) for name, text in message.headers),
    )


@pytest.mark.parametrize("writer", WRITERS)
def test_messages_read_one_after_the_other_give_the_truth_at_every_place(writer: str) -> None:
    for seed in SEEDS:
        history, stream = written(writer, seed)
        known = FORMATS[stream.format]
        truths = dict(history.truths())
        rules = ValueRules(binary_encoding=cast("Any", known.source.get("binary_encoding", "utf-8")))
        reader = Reader(stream.format, known.tables(history), rules)
        messages = decoded(writer, seed)
        for number, (message, events) in enumerate(messages):
            for event in events:
                reader.take(event)
            last = number + 1 == len(messages) or messages[number + 1][0].position > message.position
            if last:
                expected = {name: truth_of(table) for name, table in truths[message.position].tables.items()}
                found = reader.content()
                names = {name for name in (*found, *expected) if found.get(name) or expected.get(name)}
                assert {name: found.get(name) for name in names} == {name: expected.get(name) for name in names}, seed


@pytest.mark.parametrize("writer", TELLING)
def test_columns_come_in_the_order_of_the_truth(writer: str) -> None:
    for seed in SEEDS:
        history, stream = written(writer, seed)
        reader = Reader(stream.format, FORMATS[stream.format].tables(history))
        for _, events in decoded(writer, seed):
            for event in events:
                reader.take(event)
        for name, table in history.truth().tables.items():
            assert [c.name for c in reader.sheets[name].columns] == [c.name for c in table.columns]


@pytest.mark.parametrize("writer", TELLING)
def test_every_statement_is_understood_wholly(writer: str) -> None:
    for seed in SEEDS:
        events = [event for _, events in decoded(writer, seed) for event in events]
        statements = [event for event in events if event.kind == "schema"]
        assert statements
        for event in statements:
            if event.ddl_text is None:
                assert event.op == "TRUNCATE"
                continue
            changes = parse_statement("mysql", event.ddl_text, event.database, None, event.table)
            assert not [change for change in changes if isinstance(change, Unsupported)], event.ddl_text


@pytest.mark.parametrize("writer", WRITERS)
def test_no_row_has_a_problem_but_that_its_table_has_no_key(writer: str) -> None:
    for seed in SEEDS:
        for _, events in decoded(writer, seed):
            assert {event.problems for event in events} <= {(), ("KEYS_UNKNOWN",)}


def test_streamx_rows_have_sequences_of_their_own_but_halves_share_one() -> None:
    """The full load is below every change, whatever the digits look like as text."""
    for seed in SEEDS:
        history = shop(seed)
        events = [event for _, events in events_of(history, streamx_json.write(history)) for event in events]
        ordered = [
            (event.sequence, event.image) for event in events if event.sequence is not None and event.op != "READ"
        ]
        assert ordered == sorted(ordered, key=lambda pair: pair[0])
        assert len({sequence for sequence, _ in ordered}) == len(ordered)
        assert {event.sequence.hi for event in events if event.op == "READ" and event.sequence} == {-1}
        halves = [sequence.hi for sequence, image in ordered if image != "full" and image is not None]
        assert sorted(set(halves)) == halves[::2] == halves[1::2]


def test_heartbeats_come_every_minute_and_never_before_what_is_older() -> None:
    history = shop(3)
    events = [event for _, events in events_of(history, streamx_json.write(history)) for event in events]
    beats = [event.event_time_ms or 0 for event in events if event.op == "HEARTBEAT"]
    assert beats == list(range(beats[0], history.ended_at_ms + 60_000, 60_000))
    assert history.ended_at_ms <= beats[-1] < history.ended_at_ms + 60_000
    seen = 0
    for event in events:
        if event.op == "HEARTBEAT":
            seen = event.event_time_ms or 0
        elif event.op != "READ" and event.kind != "note":
            assert (event.event_time_ms or 0) >= seen


def test_rows_of_one_statement_are_one_message_of_canal() -> None:
    sizes = Counter(len(events) for seed in SEEDS for _, events in decoded("canal_json", seed))
    assert sizes[1] > sizes[2] > 0
    assert max(sizes) > 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (100.0, "100.0"),
        (1e-3, "0.001"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (-1e-7, "-1.0E-7"),
        (1e22, "1.0E22"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
    ],
)
def test_doubles_of_canal_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert canal_json.java_double(value) == text


@pytest.mark.parametrize(("digits", "text"), [("-1.80", "-1.80"), ("74.00", "74.0"), ("0.000", "0.0"), ("5", "5")])
def test_decimals_of_canal_lose_a_fraction_of_zeros(digits: str, text: str) -> None:
    """As in the genuine stream of tests/captures."""
    column = Column("d", ColumnType("decimal", (12, 2)))
    assert canal_json.wire_value(column, Decimal(digits)) == text
