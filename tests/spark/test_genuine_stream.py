"""A genuine change stream through all stages, cut at its checkpoints and at random, in any order of replay."""

import random
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from retable.decode.spark import decode
from retable.gold.read import list_gold, read_rows
from retable.gold.render import json_rows
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_ledger
from retable.ledger.windows.recording import record_windows
from retable.model.sequence import Sequence
from retable.replay.spark import rebuild, replay
from retable.session import build_session
from retable.settings.load import Settings, load_settings
from streams import CHECKPOINTS, SOURCE, TRUTH, canal_lines, checkpoint_cuts, write_objects
from truth import differences

NOW = datetime(2026, 4, 1, tzinfo=UTC)
LAKE = '[lake]\ncatalog = "sqlite:///catalog.db"\nwarehouse = "{warehouse}"\n'

# Where each table is held: by a statement that is not replayed yet, and zero_dates by a date that no date can hold.
HELD_AT = {
    "gold_shop.part_t": 689,
    "gold_shop.zero_dates": 298,
}


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream that is landed and decoded, with gold still empty."""

    folder: Path
    windows: list[str]

    def fresh(self, name: str) -> Settings:
        """Settings of a lake that shares bronze and silver with the stream, but has a gold of its own."""
        copy = self.folder.parent / f"{self.folder.name}-{name}"
        copy.mkdir()
        for file in self.folder.glob("catalog.db*"):
            shutil.copy(file, copy / file.name)
        text = (self.folder / "retable.toml").read_text(encoding="utf-8")
        (copy / "retable.toml").write_text(text, encoding="utf-8")
        return load_settings(copy / "retable.toml")


@pytest.fixture(scope="module")
def prepare(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Iterable[int]], Stream]:
    """Land and decode the stream, cut behind the given lines."""

    def cut(cuts: Iterable[int]) -> Stream:
        folder = tmp_path_factory.mktemp("stream") / "lake"
        windows = write_objects(canal_lines(), list(cuts), folder / "landing")
        toml = LAKE.format(warehouse=folder / "warehouse") + SOURCE.format(folder=folder / "landing")
        (folder / "retable.toml").write_text(toml, encoding="utf-8")
        settings = load_settings(folder / "retable.toml")
        lake, source = open_lake(settings), settings.source("erp")
        session = build_session(settings, "retable tests")
        last = datetime.strptime(windows[-1], "%Y%m%dT%H%MZ").replace(tzinfo=UTC, minute=1)
        record_windows(lake, source, lambda: list_objects(source), last, NOW)
        for window in windows:
            land_window(session, lake, source, window, "test", NOW)
            decode(session, lake, source, window, "test", NOW)
        return Stream(folder, windows)

    return cut


def replay_all(settings: Settings, windows: Iterable[str]) -> Lake:
    lake, session = open_lake(settings), build_session(settings, "retable tests")
    for window in windows:
        replay(session, lake, settings.source("erp"), window, f"replay-{window}", NOW)
    return lake


def release(settings: Settings, lake: Lake) -> None:
    """Rebuild every table that is held."""
    session = build_session(settings, "retable tests")
    for table in list_gold(lake):
        if table.state.hold is not None:
            rebuild(session, lake, settings.source("erp"), table.name, "release", NOW)


class Content(NamedTuple):
    """What a reader sees of a table, and where it is held."""

    hold: tuple[str, Sequence | None] | None
    lines: list[str]


def content(lake: Lake) -> dict[str, Content]:
    """Every gold table's hold and rows, without what Retable itself adds; a table that is gone and empty is none."""
    return {
        table.name: Content(
            table.state.hold and (table.state.hold.code, table.state.hold.position),
            sorted(line for batch in read_rows(lake, table.name) for line in json_rows(batch)),
        )
        for table in list_gold(lake)
        if table.state.state != "dropped"
    }


def snapshots(lake: Lake) -> dict[str, object]:
    return {table.name: lake.load(table.name).metadata.current_snapshot_id for table in list_gold(lake)}


def assert_balanced(lake: Lake) -> None:
    """Every row that decode counted has one verdict of replay."""
    rows = read_ledger(lake, "erp")
    decoded = {row.window: row.counts["rows"] for row in rows if row.stage == "decode" and row.table is None}
    replayed = {row.window: row.counts.get("rows", 0) for row in rows if row.stage == "replay" and row.table is None}
    assert replayed == {window: decoded[window] for window in replayed}


def test_at_every_checkpoint_gold_is_what_the_source_held(prepare: Callable[[Iterable[int]], Stream]) -> None:
    cuts = checkpoint_cuts(canal_lines())
    ends = sorted({*cuts, *HELD_AT.values()})
    stream = prepare(ends)
    settings = stream.fresh("checkpoints")
    before_hold: dict[str, Content] = {}
    for window, end in zip(stream.windows, ends, strict=False):
        lake = replay_all(settings, [window])
        tables = {table.name: table for table in list_gold(lake)}
        held = {name: table.state.hold for name, table in tables.items() if table.state.hold is not None}
        assert held.keys() == {name for name, line in HELD_AT.items() if line < end}
        assert all(hold.position == Sequence(0, HELD_AT[name], 0) and hold.statement for name, hold in held.items())
        if end in cuts:
            unequal = differences(lake, TRUTH, CHECKPOINTS[cuts.index(end)])
            assert set(unequal) <= held.keys(), unequal
        before_hold |= {name: content(lake)[name] for name, line in HELD_AT.items() if line == end and name in tables}
        assert_balanced(lake)
    assert held.keys() == HELD_AT.keys()
    assert {name: content(lake)[name].lines for name in HELD_AT} == {
        name: before.lines for name, before in before_hold.items()
    }


def test_any_cut_and_any_order_of_replay_give_the_same_rows(prepare: Callable[[Iterable[int]], Stream]) -> None:
    """In five pieces and two orders; laws cut the stream into more, and replay them in any order, in memory."""
    chance = random.Random(1)
    stream = prepare(sorted(chance.sample(range(1, len(canal_lines())), 4)))
    in_order = stream.fresh("in-order")
    lake = replay_all(in_order, stream.windows)
    assert set(differences(lake, TRUTH, "final")) <= HELD_AT.keys()
    assert_balanced(lake)
    expected, before = content(lake), snapshots(lake)

    replay_all(in_order, stream.windows)
    assert snapshots(lake) == before
    assert content(lake) == expected

    shuffled = chance.sample(stream.windows, len(stream.windows))
    assert shuffled not in (stream.windows, stream.windows[::-1])
    out_of_order = stream.fresh("shuffled")
    lake = replay_all(out_of_order, shuffled)
    release(out_of_order, lake)
    assert content(lake) == expected
    assert_balanced(lake)
