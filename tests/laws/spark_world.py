"""A story on Spark and Iceberg, through every stage, behind the same doors as the world in memory."""

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from laws.story import Story, differences
from laws.world import FIRST, HOUR, NOW, Gold, World, shown_hold
from recorded import record_windows
from retable.decode.spark import decode
from retable.gold.read import gold_states, list_gold, read_rows
from retable.gold.render import json_rows
from retable.gold.state import GoldState
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import LedgerRow
from retable.model.message import RawMessage
from retable.replay.spark import rebuild, replay
from retable.session import build_session
from retable.settings.load import load_settings
from retable.settings.sources import SourceSettings
from retable.simulate import TableSetting

SETTINGS = """
[lake]
catalog = "sqlite:///catalog.db"
warehouse = "lake"

[sources.shop]
kind = "files"
format = "{format}"
path = "landing"
layout = "kafka_dump"
hour = '(\\d{{4}}-\\d{{2}}-\\d{{2}}T\\d{{2}})'
"""


@dataclass(slots=True)
class SparkWorld:
    """The source `shop` in a lake of its own."""

    folder: Path
    session: SparkSession
    lake: Lake
    names: list[str] = field(default_factory=list)

    @property
    def source(self) -> SourceSettings:
        return self.lake.settings.source("shop")

    def deliver(self, messages: list[RawMessage]) -> str:
        """Land and decode the next window; gives its name."""
        hour = FIRST + len(self.names) * HOUR
        text = "".join(f"{_line(message)}\n" for message in messages)
        (self.folder / "landing" / f"shop-{hour:%Y-%m-%dT%H}.jsonl").write_text(text, encoding="utf-8")
        window = record_windows(self.lake, self.source, lambda: list_objects(self.source), hour + HOUR / 2, NOW)[-1]
        land_window(self.session, self.lake, self.source, window.name, "run", NOW)
        decode(self.session, self.lake, self.source, window.name, "run", NOW)
        self.names.append(window.name)
        return window.name

    def replay(self, name: str, step: Callable[[str], None] = lambda _: None) -> bool:
        """Replay a window; says whether gold changed."""
        before = self.digest()
        replay(self.session, self.lake, self.source, name, "run", NOW, step)
        return before != self.digest()

    def rebuild(self, gold: str) -> bool:
        return rebuild(self.session, self.lake, self.source, gold, "run", NOW).wrote

    def release(self, gold: str) -> bool:
        """Let a table go on, or look at all of its events once more."""
        return rebuild(self.session, self.lake, self.source, gold, "run", NOW, resumes=True).wrote

    def gold(self) -> dict[str, Gold]:
        return gold_of(self.lake)

    def states(self) -> dict[str, GoldState]:
        return gold_states(self.lake)

    def ledger(self) -> list[LedgerRow]:
        """The ledger's rows, in an order of their own: rows of one commit have none."""
        rows = read_ledger(self.lake, self.source.name)
        return sorted(rows, key=lambda row: (row.window, row.stage, row.table or ""))

    def digest(self) -> dict[str, Any]:
        """The snapshot of every table: what a replay of nothing new leaves alone."""
        return {name: self.lake.load(name).metadata.current_snapshot_id for name in self.states()}


def gold_of(lake: Lake) -> dict[str, Gold]:
    """Every gold table of a lake by name, but for those that are dropped."""
    return {
        table.name: Gold(
            tuple(column.name for column in table.columns),
            tuple(sorted(line for batch in read_rows(lake, table.name) for line in json_rows(batch))),
            table.state.state,
            shown_hold(table.state.hold),
        )
        for table in list_gold(lake)
        if table.state.state != "dropped"
    }


def open_world(story: Story, folder: Path) -> SparkWorld:
    """Make a lake for a story in an empty folder, with a session of its own on the running Spark."""
    source = "".join(f"{name} = {json.dumps(told)}\n" for name, told in story.known.source.items())
    tables = "".join(_table(name, told) for name, told in story.known.tables(story.history).items())
    return open_lake_in(folder, story.format, source + tables)


def replay_as_in_memory(story: Story, order: list[int], folder: Path) -> tuple[SparkWorld, World]:
    """Replay the windows of a story in this order, on Spark and in memory: gold is the same, and that of the source."""
    world, pure = open_world(story, folder), story.world()
    for number in range(len(story.windows)):
        story.deliver(world, number)
    for number in order:
        world.replay(world.names[number])
        pure.replay(pure.names[number])
    assert world.gold() == pure.gold()
    assert differences(story, world.gold()) == []
    return world, pure


def open_lake_in(folder: Path, source_format: str, more: str) -> SparkWorld:
    """Make a lake in an empty folder; `more` are settings of its source, and behind them of its tables."""
    (folder / "landing").mkdir(parents=True)
    (folder / "retable.toml").write_text(SETTINGS.format(format=source_format) + more, encoding="utf-8")
    settings = load_settings(folder / "retable.toml")
    return SparkWorld(folder, build_session(settings, "retable tests"), open_lake(settings))


def _table(name: str, told: TableSetting) -> str:
    types = ", ".join(f"{json.dumps(column)} = {json.dumps(kind)}" for column, kind in told.types.items())
    return f"\n[tables.{json.dumps(name)}]\nkeys = {json.dumps(told.keys)}\ntypes = {{ {types} }}\n"


def _line(message: RawMessage) -> str:
    """The message as a line of a dump; its bytes stand in base64, whatever they are."""
    key, value = (None if part is None else b64encode(part).decode() for part in (message.key, message.value))
    headers = [(name, text and text.decode()) for name, text in message.headers]
    address = {"topic": message.topic, "partition": message.partition, "offset": message.offset}
    content = {"timestamp": message.timestamp_ms, "key_base64": key, "value_base64": value, "headers": headers}
    return json.dumps(address | content)
