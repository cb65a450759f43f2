"""Windows are recorded once, in order, and tile whatever arrives."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import retable
from recorded import record_windows
from retable.errors import ConflictError, InvalidSetting, NotFound
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.windows import recording as door
from retable.ledger.windows.objects import FoundObject, plan_windows
from retable.ledger.windows.recorded import recorded_items
from retable.ledger.windows.recording import count_empty, find_window, read_windows
from retable.model.window import Window
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = DAY + timedelta(days=1)
HOUR = r"(\d{4}-\d\d-\d\dT\d\d)"


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


def source(**more: object) -> SourceSettings:
    erp = {"kind": "files", "format": "canal_json", "path": "/in", "layout": "lines", "hour": HOUR, **more}
    lake = {"catalog": "sqlite:////lake/c.db", "warehouse": "/lake"}
    return Settings.model_validate({"lake": lake, "sources": {"erp": erp}}).source("erp")


def found(key: str, etag: str = "e", modified: datetime = DAY, changed: datetime = NOW, size: int = 1) -> FoundObject:
    return FoundObject(key, size, modified, changed, lambda: etag, lambda earlier: etag == f"{earlier.etag}+")


def named(hour: int, name: str = "", etag: str = "e") -> FoundObject:
    return found(f"2026-03-01T{hour:02}{name}.jsonl", etag)


def keys(windows: Sequence[Window]) -> dict[str, list[str]]:
    return {window.name: [item.key for item in window.objects] for window in windows}


def test_windows_run_from_the_earliest_object_and_leave_no_hour_out():
    windows = plan_windows(source(), [], [named(7), named(5, "b"), named(5, "a")], at(9), NOW)
    assert keys(windows) == {
        "20260301T0500Z": ["2026-03-01T05a.jsonl", "2026-03-01T05b.jsonl"],
        "20260301T0600Z": [],
        "20260301T0700Z": ["2026-03-01T07.jsonl"],
        "20260301T0800Z": [],
    }
    assert [item.number for window in windows for item in window.objects] == [0, 1, 2]
    assert [window.ordinal for window in windows] == [0, 1, 2, 3]
    assert {window.recorded_at for window in windows} == {NOW}


def test_a_late_object_belongs_to_the_next_window_recorded():
    first = plan_windows(source(), [], [named(5)], at(6), NOW)
    then = plan_windows(source(), first, [named(5), named(3, "late"), named(6)], at(8), NOW)
    assert keys(then) == {"20260301T0600Z": ["2026-03-01T03late.jsonl", "2026-03-01T06.jsonl"], "20260301T0700Z": []}
    assert [item.number for item in then[0].objects] == [~1, 2]
    last = plan_windows(source(), [*first, *then], [named(2), named(7), named(1)], at(9), NOW)
    assert [item.number for item in last[0].objects] == [~3, ~4, 5]


@pytest.mark.parametrize(
    ("pattern", "newest", "then", "number"),
    [
        (HOUR, named(5, "b"), named(5, "c"), 1),
        (HOUR, named(5, "b"), named(5, "a"), ~1),
        (HOUR, named(5, "b"), named(4, "c"), ~1),
        (HOUR, named(5, "b"), named(6, "a"), 1),
        (None, found("b", modified=at(5.5)), found("c", modified=at(5.2)), 1),
        (None, found("b", modified=at(5.5)), found("a", modified=at(5.8)), ~1),
        (None, found("b", modified=at(5.5)), found("c", modified=at(1)), ~1),
        (None, found("b", modified=at(5.5)), found("a", modified=at(6)), 1),
    ],
)
def test_an_object_is_late_if_its_hour_or_its_name_is_before_the_newest(pattern, newest, then, number):
    first = plan_windows(source(hour=pattern), [], [newest], at(8), NOW)
    (window,) = plan_windows(source(hour=pattern), first, [newest, then], at(9), NOW)
    assert [item.number for item in window.objects] == [number]


def test_objects_are_numbered_by_their_hours_and_then_by_their_names():
    names = ["p1-2026-03-01T04", "p0-2026-03-01T06", "p0-2026-03-01T04", "p0-2026-03-01T05"]
    first = plan_windows(source(), [], [named(3)], at(8), NOW)
    (window,) = plan_windows(source(), first, [found(name) for name in names], at(9), NOW)
    in_order = ["p0-2026-03-01T04", "p1-2026-03-01T04", "p0-2026-03-01T05", "p0-2026-03-01T06"]
    assert [(item.number, item.key) for item in window.objects] == list(enumerate(in_order, 1))
    (last,) = plan_windows(source(), [*first, window], [found("p1-2026-03-01T05")], at(10), NOW)
    assert last.objects[0].number == ~5


def test_objects_that_arrive_in_order_are_not_late_though_their_windows_were_recorded_without_them():
    first = plan_windows(source(), [], [named(3)], at(8), NOW)
    then = plan_windows(source(), first, [named(4), named(5)], at(9), NOW)
    last = plan_windows(source(), [*first, *then], [named(6)], at(10), NOW)
    assert [item.number for window in [*then, *last] for item in window.objects] == [1, 2, 3]


def test_a_new_version_under_the_same_name_is_a_new_object():
    first = plan_windows(source(), [], [named(5, etag="old")], at(6), NOW)
    then = plan_windows(source(), first, [named(5, etag="new")], at(7), NOW)
    assert [(item.number, item.etag) for item in then[0].objects] == [(~1, "new")]
    assert plan_windows(source(), [*first, *then], [named(5, etag="new")], at(8), NOW)[0].objects == ()


def test_an_object_that_changed_is_late_however_new_it_is():
    first = plan_windows(source(hour=None), [], [found("x", "old", modified=at(5))], at(6), NOW)
    then = plan_windows(source(hour=None), first, [found("x", "new", modified=at(6))], at(7), NOW)
    assert [item.number for item in then[0].objects] == [~1]


def test_no_object_is_late_because_of_an_earlier_source_epoch():
    first = plan_windows(source(), [], [named(5, etag="old"), named(6)], at(7), NOW)
    raised = source(source_epoch=1)
    then = plan_windows(raised, first, [named(4), named(5, etag="new")], at(8), NOW)
    last = plan_windows(raised, [*first, *then], [named(3), named(7)], at(9), NOW)
    assert [item.number for window in [*then, *last] for item in window.objects] == [2, 3, ~4, 5]


def test_an_object_that_has_only_grown_keeps_its_number():
    windows = plan_windows(source(), [], [named(5, "a", "v"), named(5, "b")], at(6), NOW)
    windows += plan_windows(source(), windows, [named(5, "a", "v+"), named(6)], at(7), NOW)
    windows += plan_windows(source(), windows, [named(5, "a", "v++")], at(8), NOW)
    windows += plan_windows(source(), windows, [named(7)], at(9), NOW)
    assert [item.number for window in windows for item in window.objects] == [0, 1, 0, 2, 0, 3]


def test_an_object_that_nothing_touched_since_it_was_recorded_is_not_read_again():
    first = plan_windows(source(), [], [named(5)], at(6), NOW)
    untouched = found("2026-03-01T05.jsonl", "unread", changed=NOW - timedelta(hours=2))
    touched = found("2026-03-01T05.jsonl", "other", changed=NOW - timedelta(minutes=30))
    longer = found("2026-03-01T05.jsonl", "other", changed=NOW - timedelta(hours=2), size=2)
    for item, objects in ((untouched, 0), (touched, 1), (longer, 1)):
        assert len(plan_windows(source(), first, [item], at(7), NOW)[0].objects) == objects


def test_the_window_in_progress_is_closed_at_once():
    windows = plan_windows(source(), [], [named(5), named(6)], at(5.25), NOW)
    assert keys(windows) == {"20260301T0500Z": ["2026-03-01T05.jsonl"]}


def test_without_a_pattern_the_modification_time_counts():
    windows = plan_windows(
        source(hour=None), [], [found("x", modified=at(5.9)), found("y", modified=at(6))], at(7), NOW
    )
    assert keys(windows) == {"20260301T0500Z": ["x"], "20260301T0600Z": ["y"]}


def test_a_name_that_the_pattern_does_not_match_falls_back_to_the_modification_time():
    assert keys(plan_windows(source(), [], [found("x", modified=at(5))], at(6), NOW)) == {"20260301T0500Z": ["x"]}


@pytest.mark.parametrize(
    ("pattern", "name", "hour"),
    [
        (r"(\d{10})", "a-2026030105.gz", 5),
        (r"dt=([\d-]+/hh=\d\d)", "dt=2026-03-01/hh=05/x", 5),
        (r"(\d{8})", "20260301", 0),
        (r"(\d{8}T\d{6}Z)", "20260301T053059Z.json", 5),
        (r"(\d{4}/\d\d/\d\d/\d\d)", "2026/03/01/05/x", 5),
    ],
)
def test_the_hour_in_a_name_is_read_in_utc_however_it_is_written(pattern, name, hour):
    windows = plan_windows(source(hour=pattern), [], [found(name)], at(hour + 1), NOW)
    assert windows[0].start == at(hour)


def test_patterns_that_an_earlier_init_wrote_are_read_as_they_were_meant():
    for pattern, name in {
        r"(?<!\d)(\d{8}[T_-]\d{2})": "a-20260301T05",
        r"(?<!\d)(\d{10})(?!\d)": "7-2026030105",
    }.items():
        windows = plan_windows(source(hour=pattern), [], [found(name)], at(6), NOW)
        assert windows[0].start == at(5)
    late = found("12026030105", modified=at(5.5))
    windows = plan_windows(source(hour=r"(?<!\d)(\d{10})(?!\d)"), [], [late], at(6), NOW)
    assert keys(windows) == {"20260301T0500Z": ["12026030105"]}


def test_a_pattern_that_could_be_tried_in_countless_ways_ends_at_once():
    name = "a" * 1000
    windows = plan_windows(source(hour=r"((a|a?)+)+b"), [], [found(name, modified=at(5))], at(6), NOW)
    assert keys(windows) == {"20260301T0500Z": [name]}


@pytest.mark.parametrize("name", ["2026-13-01T05", "2026-02-30T05", "2026-03-01T25"])
def test_a_name_that_says_no_hour_is_an_error_that_shows_it(name):
    with pytest.raises(InvalidSetting, match=f"sources.erp.hour finds '{name}' in the object name"):
        plan_windows(source(), [], [found(name)], at(6), NOW)


def test_a_start_leaves_out_what_is_older_and_begins_without_objects():
    begin = source(start="2026-03-01T05:30:00Z")
    windows = plan_windows(begin, [], [named(4), named(5), named(6)], at(7), NOW)
    assert keys(windows) == {"20260301T0500Z": ["2026-03-01T05.jsonl"], "20260301T0600Z": ["2026-03-01T06.jsonl"]}
    assert keys(plan_windows(begin, [], [], at(6), NOW)) == {"20260301T0500Z": []}


def test_an_empty_source_without_a_start_has_no_windows():
    assert plan_windows(source(), [], [], at(6), NOW) == []


def test_an_object_from_long_ago_asks_for_a_start():
    with pytest.raises(InvalidSetting, match=r"'x' \(see the setting `hour`\), and get \d+ windows.*sources.erp.start"):
        plan_windows(source(), [], [found("x", modified=datetime(1970, 1, 1, tzinfo=UTC))], at(6), NOW)


def test_another_interval_than_the_recorded_one_is_an_error():
    first = plan_windows(source(), [], [named(5)], at(6), NOW)
    with pytest.raises(InvalidSetting, match=r"sources.erp.every is 0:15:00, but .* 1:00:00 long"):
        plan_windows(source(every="15m"), first, [], at(7), NOW)


ARRIVALS = st.lists(
    st.tuples(st.integers(0, 30), st.sampled_from("abcd"), st.sampled_from(["v", "v+", "w"]), st.integers(0, 40)),
    max_size=20,
)


@given(arrivals=ARRIVALS, looks=st.lists(st.integers(0, 40), min_size=1, max_size=6).map(sorted))
def test_windows_tile_whatever_objects_appear_in_whatever_order(arrivals, looks):
    recorded: list[Window] = []
    seen: set[tuple[str, str]] = set()
    for look in looks:
        standing = {
            f"{at(hour):%Y-%m-%dT%H}{name}": (etag, at(hour))
            for hour, name, etag, arrived in sorted(arrivals, key=lambda one: one[3])
            if arrived <= look
        }
        seen |= {(key, etag) for key, (etag, _) in standing.items()}
        objects = [found(key, etag) for key, (etag, _) in standing.items()]
        if made := plan_windows(source(), recorded, objects, at(look), NOW):
            recorded += made
            due = {(key, etag) for key, (etag, hour) in standing.items() if hour < recorded[-1].end}
            assert due <= {(item.key, item.etag) for window in recorded for item in window.objects}
    held = [item for window in recorded for item in window.objects]
    first = {item.number: item.key for item in reversed(held)}
    assert sorted(number if number >= 0 else ~number for number in first) == list(range(len(first)))
    in_order = [first[number] for number in sorted(first) if number >= 0]
    assert in_order == sorted(in_order)
    grown = [item for at, item in enumerate(held) if item.number in {other.number for other in held[:at]}]
    assert {(item.etag, first[item.number]) for item in grown} <= {("v+", item.key) for item in grown}
    assert max(Counter((item.key, item.etag) for item in held).values(), default=1) == 1
    assert {(item.key, item.etag) for item in held} <= seen
    assert [window.ordinal for window in recorded] == list(range(len(recorded)))
    assert all(earlier.end == later.start for earlier, later in pairwise(recorded))


@given(
    arrivals=st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from("abcd"), st.sampled_from(["v", "v+", "w"]), st.integers(0, 40)),
        max_size=20,
    ),
    looks=st.lists(st.integers(0, 40), min_size=1, max_size=8).map(sorted),
    sizes=st.sampled_from([{"v": 1, "v+": 2, "w": 1}, {"v": 1, "v+": 2, "w": 2}]),
)
def test_a_look_at_some_of_the_recorded_windows_plans_what_a_look_at_all_would(arrivals, looks, sizes):
    recorded: list[Window] = []
    erp, passed = source(), 0
    for look in looks:
        standing = {
            f"{at(hour):%Y-%m-%dT%H}{name}": (etag, arrived)
            for hour, name, etag, arrived in sorted(arrivals, key=lambda one: one[3])
            if arrived <= look
        }
        objects = [found(key, etag, changed=at(arrived), size=sizes[etag]) for key, (etag, arrived) in standing.items()]
        rows = pa.Table.from_pylist(
            [door._record(stretch) for stretch in door._stretches(recorded)], schema=OPS["ops.windows"].columns
        )
        made = plan_windows(erp, recorded, objects, at(look), at(look))
        unsure, numbers = recorded_items(rows, "objects", ("key", "size", "number")).unsure(objects)
        some = [window for row in rows.to_pylist() if row["ordinal"] in numbers for window in door._read("erp", row)]
        assert plan_windows(erp, some, unsure, at(look), at(look)) == made
        passed += len(objects) - len(unsure)
        recorded += made
    event(f"{min(passed, 1)} passed over")


class TestRecorded:
    """Through the catalog."""

    @pytest.fixture
    def settings(self, write_settings, tmp_path) -> Settings:
        (tmp_path / "in").mkdir()
        text = f"[sources.erp]\nkind='files'\nformat='canal_json'\npath='in'\nlayout='lines'\nhour='{HOUR}'\n"
        return write_settings(text)

    @pytest.fixture
    def lake(self, settings) -> Lake:
        return open_lake(settings)

    def test_what_is_recorded_is_read_back_and_found(self, lake, settings):
        made = record_windows(lake, settings.source("erp"), lambda: [named(5), named(6)], at(7), NOW)
        assert read_windows(lake, "erp") == made
        assert find_window(lake, "erp", "20260301T0600Z") == made[1]
        assert keys(made)["20260301T0600Z"] == ["2026-03-01T06.jsonl"]
        assert count_empty(lake, "erp") == 0
        record_windows(lake, settings.source("erp"), lambda: [named(5), named(6), named(8)], at(9), NOW)
        assert count_empty(lake, "erp") == 1

    def test_asking_again_records_nothing_and_lists_nothing(self, lake, settings):
        made = record_windows(lake, settings.source("erp"), lambda: [named(5), named(6)], at(7), NOW)
        assert record_windows(lake, settings.source("erp"), lambda: pytest.fail("listed"), at(7), NOW) == made
        assert record_windows(lake, settings.source("erp"), lambda: pytest.fail("listed"), at(6), NOW) == made[:1]
        assert len(lake.load("ops.windows").snapshots()) == 1

    def test_a_window_that_has_not_begun_is_not_recorded(self, lake, settings):
        made = record_windows(lake, settings.source("erp"), lambda: [named(5)], at(100), at(6.5))
        assert [window.name for window in made] == ["20260301T0500Z", "20260301T0600Z"]

    def test_an_unknown_window_says_which_ones_are_recorded(self, lake, settings):
        with pytest.raises(NotFound, match="no window is recorded yet"):
            find_window(lake, "erp", "20260301T0500Z")
        record_windows(lake, settings.source("erp"), lambda: [named(5), named(6)], at(7), NOW)
        with pytest.raises(NotFound, match="its recorded windows are 20260301T0500Z to 20260301T0600Z"):
            find_window(lake, "erp", "20260301T0700Z")
        with pytest.raises(InvalidSetting, match="is not a window"):
            find_window(lake, "erp", "2026-03-01")

    def test_who_loses_the_race_sees_the_winners_windows(self, lake, settings):
        erp, listings = settings.source("erp"), []

        def list_after_the_other() -> list[FoundObject]:
            if not listings:
                listings.append(record_windows(open_lake(settings), erp, lambda: [named(5)], at(6), at(8)))
            return [named(5), named(6)]

        mine = record_windows(lake, erp, list_after_the_other, at(7), at(9))
        assert keys(mine) == {"20260301T0500Z": ["2026-03-01T05.jsonl"], "20260301T0600Z": ["2026-03-01T06.jsonl"]}
        assert [window.recorded_at for window in mine] == [at(8), at(9)]
        assert read_windows(lake, "erp") == mine

    def test_who_loses_every_race_says_to_try_again(self, lake, settings, monkeypatch):
        monkeypatch.setattr(door, "append_to_loaded", lambda *_: False)
        with pytest.raises(ConflictError, match="try again"):
            record_windows(lake, settings.source("erp"), lambda: [named(5)], at(6), NOW)

    @pytest.mark.parametrize("empty_catalog", [True, False])
    def test_two_processes_at_once_have_one_winner(self, settings, tmp_path, empty_catalog):
        for hour in (5, 6, 7):
            (tmp_path / "in" / f"2026-03-01T{hour:02}.jsonl").write_text("{}\n")
        if not empty_catalog:
            open_lake(settings).ensure("ops.windows")
        racers = [self.race(tmp_path, minute) for minute in (1, 2)]
        for racer in racers:
            assert racer.stdout is not None
            racer.stdout.readline()
        (tmp_path / "go").touch()
        seen = [racer.communicate(timeout=60) for racer in racers]
        assert [racer.returncode for racer in racers] == [0, 0], seen
        assert seen[0][0] == seen[1][0]
        recorded = read_windows(open_lake(settings), "erp")
        assert [window.ordinal for window in recorded] == list(range(8))
        assert len({window.recorded_at for window in recorded}) == 1

    @staticmethod
    def race(folder: Path, minute: int) -> "subprocess.Popen[str]":
        command = [sys.executable, Path(__file__).with_name("racer.py"), folder / "retable.toml", folder / "go"]
        environment = {**os.environ, "PYTHONPATH": str(Path(retable.__file__).parents[1])}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([*command, str(minute)], env=environment, text=True, **pipes)
