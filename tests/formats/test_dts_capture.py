"""A stream in DTS's own encoding, decoded whole and compared with how DTS's SDK reads the same bytes."""

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from formats.dts import DTS
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage

CAPTURE = Path(__file__).parents[1] / "captures" / "dts_avro.jsonl.gz"
EPOCH = datetime.fromisoformat("1970-01-01")

Told = dict[str, Any]


def message_of(line: Told) -> RawMessage:
    address = line["topic"], line["partition"], line["offset"]
    return RawMessage(*address, line["timestamp"], None, base64.b64decode(line["value_base64"]))


@pytest.fixture(scope="module")
def pairs() -> list[tuple[ChangeEvent, Told]]:
    """Each event with what the SDK says of its message."""
    with gzip.open(CAPTURE, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [(event, line["about"]["sdk"]) for line in lines for event in decode_message(message_of(line), DTS)]


def test_every_message_decodes_and_the_counts_are_those_of_the_stream(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    assert Counter(event.op_raw for event, _ in pairs) == {
        "INSERT": 974,
        "UPDATE": 447,
        "DELETE": 199,
        "INIT": 1,
        "DDL": 63,
        "BEGIN": 364,
        "COMMIT": 364,
        **dict.fromkeys(("ROLLBACK", "ABORT", "CHECKPOINT", "NOOP", "COMMAND", "FILL", "FINISH"), 1),
        "CONTROL": 1,
        "RDB": 1,
        "HEARTBEAT": 16,
    }
    assert Counter(event.op for event, _ in pairs) == {
        "INSERT": 974,
        "UPDATE": 447,
        "DELETE": 199,
        "READ": 1,
        "DDL": 63,
        "TRANSACTION": 730,
        "HEARTBEAT": 16,
        "OTHER": 7,
    }


def test_names_keys_and_times_are_those_that_the_sdk_reads(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    for event, told in pairs:
        names = [name for name in (event.database, event.schema, event.table) if name is not None]
        assert names == told.get("names", [])
        assert list(event.keys or ()) == told.get("primary", [])
        assert event.event_time_ms == told["sourceTimestamp"] * 1000
        assert event.op_raw == told["operation"] or told["operation"] == "UNKNOWN"
        assert event.ddl_text == told.get("after", {}).get("ddl") or event.op != "DDL"


def images(pairs: list[tuple[ChangeEvent, Told]]) -> Iterator[tuple[ChangeEvent, str, Told]]:
    """Images of rows with what the SDK reads of each; of one record it reads none."""
    for event, told in pairs:
        for image, place in ((event.before, "before"), (event.after, "after")):
            if event.kind == "row" and image is not None and f"{place}_error" not in told:
                yield event, image, told[place]


def test_values_are_those_that_the_sdk_reads(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    compared = Counter[str]()
    for event, image, told in images(pairs):
        row = read_image(image)
        for name, text in told.items():
            wire = (event.column_types or {})[name]
            if name not in row:
                assert "NoneValue" in text
            elif row[name] is None or text is None:
                assert row[name] is text
            else:
                assert same(row[name] or "", text, wire), (name, row[name], text, wire)
                compared[wire] += 1
    assert len(compared) == 16
    assert sum(compared.values()) > 9_000


def same(raw_value: str, told: str, wire: str) -> bool:
    """Say whether a raw value is what the SDK shows: Java's doubles, times with a fraction always, bytes as hex."""
    match wire.partition("#"):
        case ("Float", _, _):
            return float(raw_value) == float(told)
        case ("Character" | "BinaryObject", "#", "base64") | ("BinaryObject", "", _):
            return base64.b64decode(raw_value).hex() == told.lower()
        case ("Timestamp", _, _) if raw_value.startswith("0000"):
            return told == "1970-01-01 00:00:00.0"
        case ("Timestamp", _, _):
            return EPOCH + timedelta(microseconds=int(raw_value)) == datetime.fromisoformat(padded(told))
        case ("TimestampWithTimeZone", _, _):
            return raw_value == f"{told.replace(' ', 'T')}+08:00"
        case ("DateTime", "#", "time"):
            sign, clock = ("-", told[1:]) if told.startswith("-") else ("", told)
            hour, minute, second = clock.split(":")
            micros = (int(hour) * 60 + int(minute)) * 60_000_000 + round(float(second) * 1_000_000)
            return raw_value == (f"{sign}{micros}" if micros else "0")
        case ("DateTime", "", _):
            return padded(raw_value) == padded(told)
        case ("BinaryGeometry", _, _):
            return base64.b64decode(raw_value)[1:5] in (b"\x01\0\0\0", b"\x02\0\0\0", b"\x03\0\0\0") and told[0] in "PL"
    return raw_value == told


def padded(text: str) -> str:
    second, _, fraction = text.partition(".")
    return f"{second}.{fraction:0<6}"


def test_only_tables_without_a_primary_key_have_a_problem(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    problems = Counter((event.table, event.problems) for event, _ in pairs if event.problems)
    assert problems == {
        ("events_nopk", ("KEYS_UNKNOWN",)): 67,
        ("uk_only", ("KEYS_UNKNOWN",)): 18,
        ("nopk_dup", ("KEYS_UNKNOWN",)): 1,
        ("customers_init", ("KEYS_UNKNOWN",)): 1,
    }


def test_only_images_that_were_not_delivered_whole_are_partial(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    partial = [(event.table, event.partial_before, event.partial_after) for event, _ in pairs]
    assert [each for each in partial if each[1:] != (False, False)] == [("EMP", False, True), ("odd.name", True, False)]


def test_a_null_changes_no_wire_type_but_those_of_bytes(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    """Types that change with each row's values would make a table's readers without number; TEXT and BLOB share one."""
    seen: dict[str, set[str]] = {}
    for event, _ in pairs:
        for name, wire in (event.column_types or {}).items() if event.table == "all_types" else ():
            seen.setdefault(name, set()).add(wire)
    assert len(seen) > 40
    many = {name: wires for name, wires in seen.items() if len(wires) > 1}
    assert many == {name: {"Character", "BinaryObject"} for name in ("c_bin", "c_vbin", "c_blob")}


def test_positions_rise_and_notes_have_none(pairs: list[tuple[ChangeEvent, Told]]) -> None:
    sequences = [event.sequence for event, _ in pairs if event.sequence is not None]
    assert len(sequences) == 974 + 447 + 199 + 1 + 63
    assert sequences == sorted(set(sequences))
    assert {event.kind for event, _ in pairs if event.sequence is None} == {"note"}
