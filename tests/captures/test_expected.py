"""EXPECTED.md says what genuine streams decode to, and where gold differs from their sources: all, and no more."""

import gzip
import json
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from formats import test_capture, test_dts_capture
from formats.debezium_messages import capture
from laws.world import Gold, World, make_settings
from retable.decode.context import context_of
from retable.errors import MessageError
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.gold.names import gold_table
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from truth import KNOWN, compare, read_truth

CAPTURES = Path(__file__).parent
WHOLE_ROWS, WHOLE_TABLE = "(rows)", "(table)"
END = "end"
"""What the streams hold behind their last checkpoint."""

Cells = tuple[str, ...]


def _tables() -> dict[str, list[Cells]]:
    """The tables of EXPECTED.md by the heading they stand under: their rows, without the first and the ruled line."""
    found: dict[str, list[Cells]] = defaultdict(list)
    heading = ""
    for line in (CAPTURES / "EXPECTED.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("|"):
            found[heading].append(tuple(cell.strip() for cell in line.replace("`", "").strip("|").split("|")))
    return {heading: rows[2:] for heading, rows in found.items()}


EXPECTED = _tables()


def expected(heading: str, stream: str) -> list[Cells]:
    """The rows of one stream under a heading, without its name."""
    return [row[1:] for row in EXPECTED[heading] if stream in row[0].split(", ")]


STREAMS = {name: (kind, truth, checkpoints.split(", ")) for name, kind, truth, checkpoints, _ in EXPECTED["Streams"]}


def messages_of(stream: str) -> list[RawMessage]:
    if stream.startswith("debezium"):
        _, database, *schemas = stream.split("_")
        return list(capture(database, not schemas))
    read = test_dts_capture.message_of if stream.startswith("dts") else test_capture.message_of
    with gzip.open(CAPTURES / f"{stream}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [read(json.loads(line)) for line in lines]


def differences(gold: dict[str, Gold], world: World, folder: Path) -> Counter[tuple[str, str]]:
    """Count, by table and column, what gold does not have as the source; a held table counts nothing."""
    found: Counter[tuple[str, str]] = Counter()
    names = json.loads(gzip.decompress((folder / "schema.json.gz").read_bytes()))
    left = dict(gold)
    for name in names:
        table = left.pop(gold_table(world.settings.lake, _table_name(name, folder)), None)
        if table is None:
            found[name, WHOLE_TABLE] += 1
        elif table.state == "live":
            seen = compare(set(table.columns), table.rows, read_truth(folder, name))
            found.update((name, each.column or WHOLE_ROWS) for each in seen)
    found.update((name, WHOLE_TABLE) for name in left)
    return found


def _table_name(name: str, folder: Path) -> TableName:
    first, _, table = name.partition(".")
    return TableName("shopdb", first, table) if "postgres" in str(folder) else TableName(first, None, table)


@dataclass(slots=True)
class Replayed:
    """A stream that was decoded and replayed from checkpoint to checkpoint, as EXPECTED.md counts it."""

    messages: int = 0
    events: int = 0
    quarantined: Counter[str] = field(default_factory=Counter)
    rejected: Counter[tuple[str, str]] = field(default_factory=Counter)
    held: dict[str, tuple[str, str]] = field(default_factory=dict)
    differing: dict[tuple[str, str], list[int]] = field(default_factory=dict)


def replay_stream(stream: str) -> Replayed:
    kind, truth, checkpoints = STREAMS[stream]
    world, replayed = World(make_settings(kind)), Replayed()
    windows = _cut(list(_decode(stream, world, replayed)), checkpoints)
    for number, (window, content) in enumerate(zip([*checkpoints, END], windows, strict=True)):
        name = world.deliver(content)
        world.replay(name)
        gold = world.gold()
        for table, each in gold.items():
            if each.hold is not None:
                replayed.held.setdefault(table, (each.hold.code, window))
        if window != END:
            for place, count in differences(gold, world, CAPTURES / truth / window).items():
                replayed.differing.setdefault(place, [0] * len(checkpoints))[number] = count
    replayed.rejected.update((gold, code) for (gold, _, _), code in world.rejected.items())
    return replayed


def _decode(stream: str, world: World, replayed: Replayed) -> Iterator[tuple[RawMessage, list[ChangeEvent]]]:
    context = context_of(world.source)
    for message in messages_of(stream):
        replayed.messages += 1
        try:
            events = decode_message(message, context)
        except MessageError as error:
            replayed.quarantined[str(error.facts.get("problem", error.code))] += 1
        else:
            replayed.events += len(events)
            yield message, events


def _cut(decoded: Iterable[tuple[RawMessage, list[ChangeEvent]]], checkpoints: list[str]) -> list[list[RawMessage]]:
    """Cut a stream at the markers of its checkpoints, by the source's order: its topics tell no common one."""
    pairs = list(decoded)
    ends: dict[str, Sequence] = {}
    for _, events in pairs:
        for event in events:
            if event.table == "wl_marker" and event.after is not None and event.sequence is not None:
                ends[str(read_image(event.after)["label"])] = event.sequence
    bounds = [ends[checkpoint] for checkpoint in checkpoints]
    windows: list[list[RawMessage]] = [[] for _ in range(len(bounds) + 1)]
    at = 0
    for message, events in pairs:
        sequence = events[0].sequence if events else None
        at = at if sequence is None else bisect_left(bounds, sequence)
        windows[at].append(message)
    return windows


@pytest.fixture(scope="module", params=STREAMS)
def stream(request: pytest.FixtureRequest) -> tuple[str, Replayed]:
    return request.param, replay_stream(request.param)


def test_a_stream_decodes_to_exactly_what_is_expected(stream: tuple[str, Replayed]) -> None:
    name, replayed = stream
    codes = ", ".join(f"{code} {count}" for code, count in sorted(replayed.quarantined.items()))
    assert expected("Decode", name) == [(str(replayed.messages), str(replayed.events), codes or "none")]


def test_replay_rejects_exactly_the_rows_that_are_expected(stream: tuple[str, Replayed]) -> None:
    name, replayed = stream
    told = expected("Rejected rows", name)
    assert replayed.rejected == {(gold, code): int(rows) for gold, code, rows, _ in told}


def test_exactly_the_expected_tables_are_held(stream: tuple[str, Replayed]) -> None:
    name, replayed = stream
    told = expected("Held tables", name)
    assert replayed.held == {gold: (code, since) for gold, code, since, _ in told}


def test_gold_equals_the_source_but_for_what_is_named(stream: tuple[str, Replayed]) -> None:
    """At every checkpoint, in every table that is not held, whether statements touch it or not."""
    name, replayed = stream
    told = expected("Differences", name)
    assert replayed.differing == {(table, column): [*map(int, counts.split())] for table, column, counts, _ in told}


def test_what_the_comparison_on_spark_excuses_is_named_here() -> None:
    excused = {(each.table, each.column) for each in KNOWN if each.column is not None}
    assert excused <= {(table, column) for table, column, *_ in expected("Differences", "canal_mariadb")}


def test_every_genuine_stream_is_expected() -> None:
    streams = {path.name.removesuffix(".jsonl.gz") for path in CAPTURES.glob("*.jsonl.gz")}
    assert streams <= STREAMS.keys()
    assert {settings for *_, settings in EXPECTED["Streams"]} == {"none but the format"}
    for heading in ("Decode", "Rejected rows", "Held tables", "Differences"):
        assert {name for row in EXPECTED[heading] for name in row[0].split(", ")} <= STREAMS.keys()


def test_far_dates_of_the_genuine_stream_are_what_the_source_shows() -> None:
    """Rows that are rejected by default."""
    tables = {"shopdb.public.all_types": {"far_date": "string"}}
    world = World(make_settings("debezium_json", tables))
    world.replay(world.deliver(list(messages_of("debezium_postgres"))))
    assert not world.rejected
    rows = [json.loads(line) for line in world.gold()["gold_shopdb__public.all_types"].rows]
    with gzip.open(
        CAPTURES / "truth_postgres" / "final" / "public.all_types.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        truth = {each["id"]: each for each in map(json.loads, lines)}
    for name in ("c_date", "c_ts"):
        assert {row["id"]: row[name] for row in rows} == {key: each[name] for key, each in truth.items()}
    assert {"0044-03-15 BC", "infinity"} <= {row[name] for row in rows for name in ("c_date", "c_ts")}
