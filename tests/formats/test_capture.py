"""A genuine stream of Canal, decoded whole."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from formats.events import CANAL
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage

CAPTURE = Path(__file__).parents[1] / "captures" / "canal_mariadb.jsonl.gz"


def message_of(record: dict[str, Any]) -> RawMessage:
    address = record["topic"], record["partition"], record["offset"]
    return RawMessage(*address, record["timestamp"], None, record["value"].encode())


@pytest.fixture(scope="module")
def events() -> list[ChangeEvent]:
    with gzip.open(CAPTURE, "rt", encoding="utf-8") as lines:
        messages = map(message_of, map(json.loads, lines))
        return [event for message in messages for event in decode_message(message, CANAL)]


def test_every_message_decodes_and_the_counts_are_those_of_the_stream(events: list[ChangeEvent]) -> None:
    assert Counter(event.op for event in events if event.address.row_index == 0) == {
        "INSERT": 950,
        "UPDATE": 135,
        "DELETE": 46,
        "DDL": 61,
        "TRUNCATE": 2,
    }
    assert Counter(event.op for event in events) == {
        "INSERT": 982,
        "UPDATE": 448,
        "DELETE": 198,
        "DDL": 61,
        "TRUNCATE": 2,
    }


def test_only_tables_without_a_primary_key_have_a_problem(events: list[ChangeEvent]) -> None:
    problems = Counter((event.table, event.problems) for event in events if event.problems)
    assert problems == {("events_nopk", ("KEYS_UNKNOWN",)): 67, ("uk_only", ("KEYS_UNKNOWN",)): 18}


def test_images_are_whole_and_typed(events: list[ChangeEvent]) -> None:
    rows = [event for event in events if event.kind == "row"]
    for event in rows:
        for image in (event.before, event.after):
            assert image is None or read_image(image).keys() == (event.column_types or {}).keys()
    assert Counter((event.before is None, event.after is None) for event in rows) == {
        (True, False): 982,
        (False, False): 448,
        (False, True): 198,
    }


def test_an_update_changes_something_and_key_changes_are_seen(events: list[ChangeEvent]) -> None:
    changed = Counter[str]()
    for event in events:
        if event.op == "UPDATE":
            before, after = read_image(event.before or ""), read_image(event.after or "")
            assert before != after
            changed[event.table or ""] += any(before[key] != after[key] for key in event.keys or ())
    assert +changed == {"orders": 22, "all_types": 1, "inventory": 3, "trunc_me": 50, "order-items": 1}


def test_positions_rise_and_times_are_those_of_the_source(events: list[ChangeEvent]) -> None:
    sequences = [event.sequence for event in events if event.sequence is not None]
    assert len(sequences) == len(events)
    assert sequences == sorted(set(sequences))
    assert all(1_772_323_256_000 <= (event.event_time_ms or 0) < 1_795_243_759_000 for event in events)
