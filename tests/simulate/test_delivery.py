"""What a queue does to a stream, and what it never does."""

import json
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.errors import InvalidSetting
from retable.land.objects.files import list_objects
from retable.land.objects.layouts import read_messages
from retable.model.window import SourceObject
from retable.settings.sources import FilesSource
from retable.simulate import Delivery, Record, deliver, hour_cuts, simulate, write_objects
from retable.simulate.delivery import Windows
from retable.simulate.streams import canal_json, streamx_json

HISTORY = simulate(random.Random(9), 50)
STREAMX, CANAL = streamx_json.write(HISTORY, streamx_json.Options("halves")), canal_json.write(HISTORY)
KIND_OF = {message.value: message.kind for message in STREAMX.messages}
ROUGH = Delivery(partitions=3, windows=5, late=0.2, repeated=0.2, shuffled=True)


def records_of(windows: Windows) -> list[Record]:
    return list(chain.from_iterable(windows))


def natural_window(cuts: list[int]) -> dict[str, int]:
    return {message.value: sum(cut <= at for cut in cuts) for at, message in enumerate(STREAMX.messages)}


@given(st.integers(), st.sampled_from(["key", "any"]))
def test_nothing_is_lost_and_only_what_can_be_recognised_comes_again(seed: int, spread: str) -> None:
    delivery = replace(ROUGH, spread=spread)
    seen = Counter(record.value for record in records_of(deliver(STREAMX, random.Random(seed), delivery)))
    assert seen.keys() == {message.value for message in STREAMX.messages}
    assert max(seen.values()) <= 2
    again = {value for value, count in seen.items() if count > 1}
    assert all(message.repeatable for message in STREAMX.messages if message.value in again)


@given(st.integers())
def test_offsets_rise_by_one_in_each_partition_and_stamps_never_go_back(seed: int) -> None:
    for partition in range(ROUGH.partitions):
        mine = [r for r in records_of(deliver(STREAMX, random.Random(seed), ROUGH)) if r.partition == partition]
        assert [record.offset for record in mine] == list(range(len(mine)))
        stamps = [record.timestamp for record in mine]
        assert stamps == sorted(stamps)


@given(st.integers(), st.booleans())
def test_statements_are_late_only_where_they_may_be(seed: int, late_ddl: bool) -> None:
    cuts = [40, 80, 120, 200]
    delivery = replace(ROUGH, late=0.9, repeated=0.0, late_ddl=late_ddl)
    windows = deliver(STREAMX, random.Random(seed), delivery, cuts=cuts)
    own = natural_window(cuts)
    delays = Counter[str]()
    for number, window in enumerate(windows):
        for record in window:
            assert number >= own[record.value]
            delays[KIND_OF[record.value]] += number - own[record.value]
    assert delays["row"] > 0
    assert (delays["statement"] > 0) == late_ddl
    assert delays["load"] == delays["heartbeat"] == 0


def test_halves_of_an_update_come_apart() -> None:
    windows = deliver(STREAMX, random.Random(1), ROUGH)
    places: dict[str, set[tuple[int, int]]] = {}
    for number, window in enumerate(windows):
        for record in window:
            payload = json.loads(record.value)["payload"]
            if payload["op"].startswith("UPDATE"):
                places.setdefault(payload["sequenceId"], set()).add((number, record.partition))
    assert any(len({window for window, _ in found}) > 1 for found in places.values())
    assert any(len({partition for _, partition in found}) > 1 for found in places.values())


def test_a_key_stays_in_its_partition_where_keys_are_spread() -> None:
    found: dict[str, set[int]] = {}
    for record in records_of(deliver(STREAMX, random.Random(1), Delivery(partitions=4, spread="key"))):
        found.setdefault(record.key, set()).add(record.partition)
    assert {len(partitions) for partitions in found.values()} == {1}
    assert len(set(chain.from_iterable(found.values()))) == 4


def test_a_plain_delivery_keeps_the_order() -> None:
    for stream in (STREAMX, CANAL):
        records = records_of(deliver(stream, random.Random(1), Delivery(windows=7)))
        assert [record.value for record in records] == [message.value for message in stream.messages]


@pytest.mark.parametrize(
    "rough", [Delivery(partitions=2), Delivery(late=0.1), Delivery(repeated=0.1), Delivery(shuffled=True)]
)
def test_a_stream_that_has_only_the_order_of_its_queue_keeps_it(rough: Delivery) -> None:
    with pytest.raises(InvalidSetting, match="only offsets order messages of canal_json"):
        deliver(CANAL, random.Random(1), rough)


def test_hours_are_cut_by_the_clock_and_the_last_one_takes_the_rest() -> None:
    start = HISTORY.loaded_at_ms
    windows = deliver(STREAMX, random.Random(1), Delivery(), cuts=hour_cuts(STREAMX, start, 2))
    assert all(record.timestamp < start + 3_600_000 for record in windows[0])
    assert len(windows) == 2


def test_objects_are_read_as_dumps_of_kafka(tmp_path: Path) -> None:
    windows = deliver(STREAMX, random.Random(1), ROUGH)
    names = write_objects(windows, tmp_path, datetime(2026, 3, 1, 23, tzinfo=UTC))
    assert names == ["20260301T2300Z", "20260302T0000Z", "20260302T0100Z", "20260302T0200Z", "20260302T0300Z"]
    source = FilesSource(name="shop", kind="files", format="streamx_json", path=tmp_path, layout="kafka_dump")
    objects = sorted(list_objects(source), key=lambda item: item.key)
    for item, window in zip(objects, windows, strict=True):
        read = [m for m in read_messages(source, SourceObject(0, item.key, "", item.size)) if m is not None]
        assert [(m.topic, m.partition, m.offset, m.timestamp_ms, m.value) for m in read] == [
            (r.topic, r.partition, r.offset, r.timestamp, r.value.encode()) for r in window
        ]
        assert not any(message.container_problem for message in read)
