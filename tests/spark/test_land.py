"""Landing through Spark: a window whole, once, or not at all."""

import gzip
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lakes import FreshLake, SettingsWriter
from retable.errors import EnvironmentFault, PositionsLost
from retable.land.landing import ObjectsLanding
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.read import read_ledger
from retable.ledger.rows import StageReport
from retable.ledger.windows.recording import record_windows

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = datetime(2026, 3, 2, 0, 0, 1, 500, tzinfo=UTC)
W5, W6, W7 = "20260301T0500Z", "20260301T0600Z", "20260301T0700Z"
SOURCE = """
[sources.erp]
kind = "files"
format = "canal_json"
path = "in"
layout = "{layout}"
hour = '(\\d{{4}}-\\d\\d-\\d\\dT\\d\\d)'
"""


class Erp:
    """A lake with one source, whose objects the test writes."""

    def __init__(self, fresh: FreshLake, folder: Path) -> None:
        self.spark, self.lake, settings = fresh
        self.source, self.folder = settings.source("erp"), folder

    def put(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def record(self, hour: int) -> None:
        record_windows(self.lake, self.source, lambda: list_objects(self.source), DAY + timedelta(hours=hour), NOW)

    def land(self, window: str) -> StageReport:
        return land_window(self.spark, self.lake, self.source, window, "run-1", NOW)

    def rows(self) -> list[tuple[object, ...]]:
        bronze = self.spark.table("lake.bronze.erp").drop("headers")
        return sorted(tuple(row) for row in bronze.collect())

    def snapshots(self) -> int:
        return len(self.lake.load("bronze.erp").snapshots())


@pytest.fixture
def erp(
    lake_on_spark: Callable[..., FreshLake], write_settings: SettingsWriter, tmp_path: Path
) -> Callable[[str], Erp]:
    (tmp_path / "in").mkdir()
    return lambda layout: Erp(lake_on_spark(write_settings(SOURCE.format(layout=layout))), tmp_path / "in")


def dump(*offsets: int) -> bytes:
    records = ({"topic": "t", "partition": 1, "offset": offset, "value": f"v{offset}"} for offset in offsets)
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_window_lands_once_and_bronze_never_changes(erp):
    erp = erp("kafka_dump")
    erp.put("2026-03-01T05a.jsonl", dump(0, 1) + b"\nbroken\n")
    erp.put("2026-03-01T05b.jsonl.gz", gzip.compress(dump(2)))
    erp.put("2026-03-01T06.jsonl", dump(3))
    erp.record(7)
    report = erp.land(W5)
    counts = {"objects": 2, "landed": 4, "skipped_lines": 1, "new_versions": 0}
    assert report.wrote
    assert {name: report.counts[name] for name in counts} == counts
    at = NOW.replace(tzinfo=None)
    landed = erp.rows()
    assert landed[0][:6] == (W5, "erp", -1, 3, None, None)
    assert landed[0][6] == b"broken"
    assert [row[:7] for row in landed[1:]] == [(W5, "t", 1, n, None, None, b"v%d" % n) for n in range(3)]
    assert {row[-1].astimezone(UTC).replace(tzinfo=None) for row in landed} == {at}
    assert erp.land(W6).counts["landed"] == 1

    before = erp.snapshots()
    again = erp.land(W5)
    assert (again.wrote, again.counts) == (False, report.counts)
    assert erp.snapshots() == before == 2
    assert [row for row in erp.rows() if row[0] == W5] == landed
    (row,) = read_ledger(erp.lake, "erp", W5)
    bronze = erp.lake.load("bronze.erp")
    assert row.counts == report.counts
    assert row.bytes == row.counts["bytes"] > 0
    assert bronze.snapshot_by_id(row.snapshot_id).summary["retable.window"] == W5
    assert bronze.snapshot_by_id(row.snapshot_id).summary["retable.run"] == "run-1"


def test_a_window_with_nothing_in_it_writes_nothing(erp):
    erp = erp("lines")
    erp.put("2026-03-01T05.jsonl", b"a\n")
    erp.put("2026-03-01T07.jsonl", b"")
    erp.record(8)
    for window in (W6, W7):
        report = erp.land(window)
        assert (report.counts["landed"], report.counts["objects"]) == (0, int(window == W7))
        assert not erp.land(window).wrote
    assert erp.snapshots() == 0
    assert {row.window for row in read_ledger(erp.lake, "erp")} == {W6, W7}


def test_an_object_that_is_gone_or_changed_stops_its_window_and_lands_nothing(erp):
    erp = erp("lines")
    erp.put("2026-03-01T05a.jsonl", b"a\n")
    erp.put("2026-03-01T05b.jsonl", b"b\n")
    erp.record(6)
    (erp.folder / "2026-03-01T05b.jsonl").unlink()
    with pytest.raises(PositionsLost, match="05b.jsonl is gone"):
        erp.land(W5)
    assert (erp.snapshots(), read_ledger(erp.lake, "erp")) == (0, [])
    erp.put("2026-03-01T05b.jsonl", b"b\n and what was appended later")
    assert erp.land(W5).counts["landed"] == 2
    assert [row[6] for row in erp.rows()] == [b"a", b"b"]


def test_an_object_that_changes_while_it_is_read_lands_nothing(erp, monkeypatch):
    erp = erp("lines")
    erp.put("2026-03-01T05.jsonl", b"a\n")
    erp.record(6)
    with monkeypatch.context() as patch:
        patch.setattr(ObjectsLanding, "check", lambda *_: erp.put("2026-03-01T05.jsonl", b"A\n"))
        with pytest.raises(PositionsLost, match="05.jsonl was changed"):
            erp.land(W5)
    assert (erp.snapshots(), read_ledger(erp.lake, "erp")) == (0, [])


def test_a_warehouse_that_cannot_be_written_says_what_to_check(erp):
    erp = erp("lines")
    erp.put("2026-03-01T05.jsonl", b"a\n")
    erp.record(6)
    Path(erp.lake.ensure("bronze.erp").location(), "data").write_text("in the way")
    with pytest.raises(EnvironmentFault, match="cannot be read or written"):
        erp.land(W5)


def test_a_run_killed_before_its_ledger_row_is_made_whole_without_landing_again(erp, monkeypatch):
    erp = erp("lines")
    erp.put("2026-03-01T05.jsonl", b"a\nb\n")
    erp.record(6)
    with monkeypatch.context() as patch:
        patch.setattr("retable.land.spark.append_rows", killed)
        with pytest.raises(KeyboardInterrupt):
            erp.land(W5)
    assert (erp.snapshots(), read_ledger(erp.lake, "erp")) == (1, [])
    (erp.folder / "2026-03-01T05.jsonl").unlink()
    assert not erp.land(W5).wrote
    assert erp.snapshots() == 1
    assert read_ledger(erp.lake, "erp", W5)[0].counts == {"objects": 1, "bytes": 4, "landed": 2}


def test_more_objects_than_tasks_all_land(erp):
    erp = erp("lines")
    for number in range(40):
        erp.put(f"2026-03-01T05-{number:02}.jsonl", b"x\n" * number)
    erp.record(6)
    assert erp.land(W5).counts["landed"] == sum(range(40))
    assert {row[3] >> 40 for row in erp.rows()} == set(range(1, 40))
