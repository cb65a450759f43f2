"""Which windows a run takes, what it says, and how it ends; the stages themselves are tested in their rooms."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from feeding import EACH, Feed, at
from lakes import SettingsWriter
from retable.cli.look import plan, status
from retable.cli.run import stages as run
from retable.errors import Fenced
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_watermarks
from retable.ledger.rows import LedgerRow, StageReport
from retable.ledger.windows.recording import read_windows
from retable.ledger.write import append_rows

Retable = Callable[..., Result]

W5, W6, W7 = "20260301T0500Z", "20260301T0600Z", "20260301T0700Z"
RANGE = ("--to", "2026-03-01T08:00:00Z")


class Stages:
    """Stands in for the three stages: notes what was asked, and says of a replayed window that it is."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.asked: list[tuple[str, str]] = []
        self.runs: set[str] = set()
        self.reports: dict[tuple[str, str], dict[str, Any]] = {}
        self.error: Exception | None = None

    def door(self, stage: Any) -> Callable[..., StageReport]:
        def act(spark: object, lake: Lake, source: object, window: str, run_id: str, now: datetime) -> StageReport:
            if self.error is not None:
                raise self.error
            self.asked.append((stage, window))
            self.runs.add(run_id)
            append_rows(
                lake,
                [
                    LedgerRow(
                        source="dump",
                        window=window,
                        stage=stage,
                        table=None,
                        counts={},
                        lowest={},
                        highest={},
                        snapshot_id=None,
                        identity=None,
                        run_id=run_id,
                        seconds=0.0,
                        bytes=0,
                        recorded_at=now,
                    )
                ],
            )
            told = {"counts": {"rows": 1200, "applied": 1200, "held": 0}, **self.reports.get((stage, window), {})}
            return StageReport(source="dump", window=window, stage=stage, **told)

        return act


@pytest.fixture
def stages(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stages:
    """A source with objects in the hours 05, 06 and 07, and stages that only take notes."""
    (tmp_path / "dump").mkdir()
    for hour in (5, 6, 7):
        (tmp_path / "dump" / f"2026-03-01T{hour:02d}.jsonl").write_text("{}\n")
    stages = Stages(lake)

    @contextmanager
    def no_spark(_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(run, "running_spark", no_spark)
    monkeypatch.setattr(
        run, "_entry_points", lambda *_, **__: {stage: stages.door(stage) for stage in ("land", "decode", "replay")}
    )
    return stages


def _windows(stages: Stages) -> list[str]:
    return [window for stage, window in stages.asked if stage == "replay"]


def test_a_run_takes_every_window_through_every_stage_in_order(retable: Retable, stages: Stages) -> None:
    result = retable("run", "dump", *RANGE)
    assert result.exit_code == 0, result.stderr
    assert stages.asked == [(stage, window) for window in (W5, W6, W7) for stage in ("land", "decode", "replay")]
    assert len(stages.runs) == 9
    assert result.stdout == ""
    assert f"[2/3] {W6} decode 1,200 rows, 1,200 applied · 0.0 s" in result.stderr


def test_a_run_says_which_columns_gold_keeps(retable: Retable, stages: Stages) -> None:
    words = "gold_shop.t: gold keeps the former column a__until_1"
    stages.reports["replay", W5] = {"kept_columns": (words,)}
    assert retable("run", "dump", *RANGE).stderr.count(words) == 1


def test_a_run_begins_at_the_first_window_that_was_not_replayed(retable: Retable, stages: Stages) -> None:
    retable("run", "dump", "--to", "2026-03-01T06:00:00Z")
    stages.asked.clear()
    retable("run", "dump", *RANGE)
    assert _windows(stages) == [W6, W7]
    stages.asked.clear()
    result = retable("run", "dump", *RANGE)
    assert (result.exit_code, stages.asked) == (0, [])
    assert "nothing to do" in result.stderr


@pytest.mark.parametrize(
    ("start", "end", "windows"),
    [
        ("2026-03-01T06:00:00Z", "2026-03-01T07:00:00Z", [W6]),
        ("2026-03-01T06:30:00Z", "2026-03-01T07:00:01Z", [W6, W7]),
        ("2026-03-01T14:00:00+08:00", "2026-03-01T15:00:00+08:00", [W6]),
        (W5, W6, [W5]),
        ("2026-02-01T00:00:00Z", "2026-03-01T06:00:00Z", [W5]),
        ("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z", []),
    ],
)
def test_a_range_takes_the_windows_that_it_touches(
    retable: Retable, stages: Stages, start: str, end: str, windows: list[str]
) -> None:
    assert retable("run", "dump", "--from", start, "--to", end).exit_code == 0
    assert _windows(stages) == windows


def test_a_range_that_was_replayed_is_replayed_again(retable: Retable, stages: Stages) -> None:
    for _ in range(2):
        retable("run", "dump", "--from", W6, "--to", W7)
    assert _windows(stages) == [W6, W6]


def test_windows_before_the_range_are_recorded_and_not_replayed(retable: Retable, stages: Stages) -> None:
    retable("run", "dump", "--from", W7, *RANGE)
    assert _windows(stages) == [W7]
    assert [window.name for window in read_windows(stages.lake, "dump")] == [W5, W6, W7]


def test_a_run_without_an_end_closes_the_window_in_progress(
    retable: Retable, stages: Stages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "now", lambda: datetime(2026, 3, 1, 6, 20, tzinfo=UTC))
    retable("run", "dump")
    assert _windows(stages) == [W5, W6]


def test_a_source_without_objects_has_nothing_to_do(retable: Retable, stages: Stages, tmp_path: Path) -> None:
    for file in (tmp_path / "dump").iterdir():
        file.unlink()
    result = retable("run", "dump")
    assert result.exit_code == 0
    assert "nothing to do" in result.stderr


def test_a_source_without_its_folder_says_so(retable: Retable, stages: Stages, tmp_path: Path) -> None:
    (tmp_path / "dump").rename(tmp_path / "elsewhere")
    result = retable("run", "dump")
    assert result.exit_code == 1
    assert "sources.dump.path: there is no folder" in result.stderr


def test_each_table_of_a_replay_is_told(retable: Retable, stages: Stages) -> None:
    stages.reports["replay", W5] = {"tables": {"gold_shop.b": {"rows": 2, "applied": 2}, "gold_shop.a": {"rows": 1}}}
    stages.reports["replay", W6] = {"tables": {"gold_shop.c": {"rows": 1}}, "wrote": False}
    lines = retable("run", "dump", *RANGE).stderr.splitlines()
    at = next(number for number, line in enumerate(lines) if f"{W5} replay" in line)
    assert lines[at + 1 : at + 3] == ["    gold_shop.a: 1 rows", "    gold_shop.b: 2 rows, 2 applied"]
    assert not any("gold_shop.c" in line for line in lines)
    assert f"[2/3] {W6} replay nothing new · 0.0 s" in lines


def test_a_run_that_held_a_table_ends_with_2_and_names_it(retable: Retable, stages: Stages) -> None:
    stages.reports["replay", W5] = {"held": ("gold_shop.orders",)}
    result = retable("run", "dump", *RANGE)
    assert result.exit_code == 2
    assert _windows(stages) == [W5, W6, W7]
    assert result.stderr.rstrip().endswith("done, but held: gold_shop.orders; `retable hold list` says why")


@pytest.mark.parametrize(("stage", "count"), [("decode", "quarantined"), ("replay", "rejected")])
def test_a_run_that_quarantined_something_ends_with_2(retable: Retable, stages: Stages, stage: str, count: str) -> None:
    stages.reports[stage, W6] = {"counts": {"landed": 3, count: 2}}
    result = retable("run", "dump", *RANGE)
    assert result.exit_code == 2
    assert "quarantined: 2 messages or rows; `retable quarantine list` says which" in result.stderr


def test_a_conflict_ends_the_run_with_3(retable: Retable, stages: Stages) -> None:
    stages.error = Fenced("gold_shop.t: another writer committed first; run this window again")
    result = retable("run", "dump", *RANGE)
    assert result.exit_code == 3
    assert "another writer committed first\n       run this window again" in result.stderr


def test_landing_a_window_records_it_first(retable: Retable, stages: Stages) -> None:
    assert retable("land", "dump", "--window", W6).exit_code == 0
    assert stages.asked == [("land", W6)]
    assert [window.name for window in read_windows(stages.lake, "dump")] == [W5, W6]


@pytest.mark.parametrize("stage", ["decode", "replay"])
def test_one_stage_of_one_window_runs_alone(retable: Retable, stages: Stages, stage: str) -> None:
    assert retable(stage, "dump", "--window", W6).exit_code == 0
    assert stages.asked == [(stage, W6)]


@pytest.mark.parametrize(
    "command", [("run", "dumb"), ("land", "dumb", "--window", W5), ("replay", "dumb", "--window", W5)]
)
def test_an_unknown_source_gives_the_nearest(retable: Retable, stages: Stages, command: tuple[str, ...]) -> None:
    result = retable(*command)
    assert result.exit_code == 1
    assert "did you mean 'dump'?" in result.stderr


def test_a_window_that_is_none_says_how_one_is_named(retable: Retable, stages: Stages) -> None:
    result = retable("land", "dump", "--window", "5 o'clock")
    assert result.exit_code == 1
    assert "write the start of a window in UTC, such as 20260301T0500Z" in result.stderr


def test_a_run_promises_how_far_each_window_brought_the_source_and_says_it_at_the_end(
    retable: Retable, stages: Stages
) -> None:
    feed = Feed(stages.lake)
    feed.proves(5, row="05:50")
    feed.proves(7, row="07:40")
    result = retable("run", "dump", *RANGE)
    assert "dump is complete through 2026-03-01T07:40:00Z (row)" in result.stderr
    promised = read_watermarks(stages.lake, "dump", grade="row")
    assert [(row.window, row.watermark) for row in promised] == [
        (W5, at("05:50")),
        (W6, at("05:50")),
        (W7, at("07:40")),
    ]


def test_windows_in_which_nothing_arrived_are_promised_too(retable: Retable, stages: Stages, tmp_path: Path) -> None:
    for hour in (6, 7):
        (tmp_path / "dump" / f"2026-03-01T{hour:02d}.jsonl").unlink()
    retable("run", "dump", *RANGE)
    assert [row.window for row in read_watermarks(stages.lake, "dump", grade="drained")] == [W5, W6, W7]


def test_quarantine_within_its_budget_ends_a_run_well(
    retable: Retable, stages: Stages, write_settings: SettingsWriter
) -> None:
    write_settings(EACH + 'quarantine_budget = "10%"')
    stages.reports["land", W5] = {"counts": {"landed": 50}}
    stages.reports["decode", W5] = {"counts": {"landed": 50, "quarantined": 5}}
    assert retable("run", "dump", *RANGE).exit_code == 0
    stages.reports["replay", W5] = {"counts": {"rejected": 1}}
    result = retable("run", "dump", "--from", W5, "--to", W6)
    assert result.exit_code == 2
    assert "quarantined: 6 messages or rows" in result.stderr


def test_run_plan_and_status_say_when_the_next_window_opens(
    retable: Retable, stages: Stages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (run, plan, status):
        monkeypatch.setattr(module, "now", lambda: at("07:20"))
    result = retable("run", "dump")
    assert _windows(stages) == [W5, W6, W7]
    opens = "the next window of dump, 20260301T0800Z, can be recorded from 2026-03-01T08:00:00Z on"
    assert opens in result.stderr
    (tmp_path / "dump" / "2026-03-01T07b.jsonl").write_text("{}\n")
    stages.asked.clear()
    planned = retable("plan", "dump").stderr
    assert "dump: 1 new objects wait for the window 20260301T0800Z: `retable run dump` records it" in planned
    assert "would record" not in planned
    assert json.loads(retable("plan", "dump", "--json").stdout)[0]["next_window_opens"] == "2026-03-01T08:00:00Z"
    assert "from 2026-03-01T08:00:00Z" in retable("status").stdout
    result = retable("run", "dump")
    assert (stages.asked, "nothing to do" in result.stderr, opens in result.stderr) == ([], True, True)
    for module in (run, plan, status):
        monkeypatch.setattr(module, "now", lambda: at("08:10"))
    assert "`retable run dump` would record 1 new objects" in retable("plan", "dump").stderr
    assert "from 2026" not in retable("status").stdout
    retable("run", "dump")
    assert _windows(stages) == ["20260301T0800Z"]
