"""Real applications' migrations, as real software reads them: at the end gold is what the server has.

Each folder has the stream, the server's own tables and the script that made them (ORIGIN.md).
"""

import gzip
import json
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from captures.test_expected import differences
from laws.world import World, make_settings
from retable.decode.context import context_of
from retable.formats.image_text import read_image
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage
from retable.model.sequence import Sequence

APPS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class App:
    """A stream, and what of it is rejected or differs for a reason that is named: how many rows or values."""

    folder: str
    format: str
    messages: int
    tables: int
    rows: int
    rejected: Counter[str] = field(default_factory=Counter)
    known: dict[tuple[str, str], int] = field(default_factory=dict)


STREAMS = (
    # The connector turns a uuid that ends in a zero byte (ORIGIN.md), so that row is rejected.
    App(
        *("django_debezium", "debezium_json", 3598, 77, 1524),
        Counter({"gold_site.wagtailcore_pagelogentry BAD_VALUE": 1}),
        {("site.wagtailcore_pagelogentry", "uuid"): 1},
    ),
    App("typeorm_canal", "canal_json", 1084, 24, 226),
)

Decoded = list[tuple[RawMessage, list[ChangeEvent]]]


def read_stream(app: App, world: World) -> Decoded:
    """The messages up to the last change before the truth, each with its events."""
    context, decoded = context_of(world.source), Decoded()
    with gzip.open(APPS / app.folder / "stream.jsonl.gz", "rt", encoding="utf-8") as lines:
        for record in map(json.loads, lines):
            key, value = (text if text is None else text.encode() for text in (record["key"], record["value"]))
            address = record["topic"], record["partition"], record["offset"]
            message = RawMessage(*address, record["timestamp"], key, value)
            decoded.append((message, decode_message(message, context)))
    assert len(decoded) == app.messages
    return decoded


def cut(decoded: Decoded, windows: int, draw: Random) -> list[list[RawMessage]]:
    """Cut a stream at random places of the source's order, the last at the row `final` of its markers."""
    events = [event for _, each in decoded for event in each if event.sequence is not None]
    marks = {_label(event): event.sequence for event in events if event.table == "wl_marker"}
    end = marks["final"]
    assert end is not None
    places = sorted({event.sequence for event in events if event.sequence is not None and event.sequence < end})
    bounds = [*sorted(draw.sample(places, windows - 1)), end]
    found: list[list[RawMessage]] = [[] for _ in range(windows + 1)]
    at = 0
    for message, each in decoded:
        sequence: Sequence | None = each[0].sequence if each else None
        at = at if sequence is None else bisect_left(bounds, sequence)
        found[at].append(message)
    return found[:-1]


def _label(event: ChangeEvent) -> str | None:
    return read_image(event.after)["label"] if event.after else None


@pytest.mark.parametrize("windows", [1, 9])
@pytest.mark.parametrize("app", STREAMS, ids=lambda app: app.folder)
def test_gold_is_what_the_server_has(app: App, windows: int) -> None:
    world = World(make_settings(app.format))
    for content in cut(read_stream(app, world), windows, Random(windows)):
        world.replay(world.deliver(content))
    gold = world.gold()
    assert {name: table.hold for name, table in gold.items() if table.state != "live"} == {}
    assert Counter(f"{table} {code}" for (table, _, _), code in world.rejected.items()) == app.rejected
    assert not world.suspects
    assert differences(gold, world, APPS / app.folder / "truth" / "final") == app.known
    assert (len(gold), sum(len(table.rows) for table in gold.values())) == (app.tables, app.rows)


@pytest.mark.parametrize("app", STREAMS, ids=lambda app: app.folder)
def test_windows_that_come_in_another_order_end_alike(app: App) -> None:
    """Held is only what a rebuild then settles."""
    world, draw = World(make_settings(app.format)), Random(7)
    names = [world.deliver(content) for content in cut(read_stream(app, world), 5, draw)]
    for name in draw.sample(names, len(names)):
        world.replay(name)
    for name, state in sorted(world.states().items()):
        if state.hold is not None:
            world.rebuild(name)
    gold = world.gold()
    assert {name: table.hold for name, table in gold.items() if table.state != "live"} == {}
    assert differences(gold, world, APPS / app.folder / "truth" / "final") == app.known


def test_every_folder_is_tested_and_small() -> None:
    folders = {path.name for path in APPS.iterdir() if (path / "stream.jsonl.gz").exists()}
    assert folders == {app.folder for app in STREAMS}
    for name in folders:
        assert sum(path.stat().st_size for path in (APPS / name).rglob("*") if path.is_file()) < 2 << 20
