"""Landing from a real broker through Spark, and the commands and the stage that do it."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from lakes import SettingsWriter
from retable.errors import NotFound, PositionsLost
from retable.land.due import inspect_arrivals, record_due
from retable.land.landing import open_landing
from retable.land.spark import land_window
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import StageReport
from retable.ledger.windows.empty import close_empty
from retable.ledger.windows.recording import find_window, read_windows, record_windows
from retable.settings.load import Settings
from servers.kafka_broker import PASSWORD, PASSWORD_VARIABLE, USER_VARIABLE, Broker, Record
from servers.test_kafka_genuine import genuine, produce
from servers.test_kafka_reading import DAY, NOW, stamp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

W5, W6 = "20260301T0500Z", "20260301T0600Z"
SOURCE = """
[sources.erp]
kind = "kafka"
format = "canal_json"
bootstrap = "{bootstrap}"
topics = ["{topic}"]
"""


class Erp:
    """A lake whose one source is a topic."""

    def __init__(self, spark: "SparkSession", settings: Settings) -> None:
        from retable.session import build_session

        self.spark, self.settings, self.lake = build_session(settings, "retable tests"), settings, open_lake(settings)
        self.source = settings.source("erp")

    def record(self, hour: float) -> None:
        now = DAY + timedelta(hours=hour, minutes=2)
        record_windows(
            self.lake, self.source, lambda: inspect_arrivals(self.source, now), now - timedelta(minutes=2), now
        )

    def land(self, window: str, again: bool = False) -> StageReport:
        return land_window(self.spark, self.lake, self.source, window, "run", DAY, again=again)

    def landed(self, window: str) -> list[tuple[int, int]]:
        rows = self.spark.table("lake.bronze.erp").where(f"window = '{window}'").select("partition", "offset")
        return sorted((row[0], row[1]) for row in rows.collect())


@pytest.fixture
def open_erp(spark: "SparkSession", kafka: Broker, write_settings: SettingsWriter) -> Callable[..., Erp]:
    """Open a lake over a topic; again, with other settings, the same lake."""

    def open_one(topic: str, more: str = "") -> Erp:
        return Erp(spark, write_settings(SOURCE.format(bootstrap=kafka.bootstrap, topic=topic) + more))

    return open_one


def test_a_window_lands_its_positions_once_and_the_ledger_balances(kafka: Broker, open_erp: Callable[..., Erp]) -> None:
    kafka.create("lands", 3)
    kafka.produce("lands", (Record(b"v%d" % n, stamp(5), n % 2, b"k", [("h", None)]) for n in range(10)))
    producer = kafka.producer(**{"transactional.id": "lands"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("lands", b"aborted", partition=0, timestamp=stamp(5))
    producer.flush()
    producer.abort_transaction()
    erp = open_erp("lands")
    erp.record(6)
    kafka.produce("lands", [Record(b"later", stamp(6))])
    report = erp.land(W5)
    assert report.counts == {"positions": 12, "landed": 10, "holes": 2, "bytes": 30}
    landed = erp.landed(W5)
    assert landed == [(partition, offset) for partition in (0, 1) for offset in range(5)]

    kafka.delete_records("lands", 3)
    again = erp.land(W5)
    assert (again.wrote, again.counts, erp.landed(W5)) == (False, report.counts, landed)
    erp.record(7)
    assert erp.land(W6).counts == {"positions": 1, "landed": 1, "holes": 0, "bytes": 5}
    ledger = {row.window: row.bytes for row in read_ledger(erp.lake, "erp") if row.stage == "land"}
    assert ledger == {W5: 30, W6: 5}


def test_an_hour_in_which_nothing_arrived_is_closed_without_spark(kafka: Broker, open_erp: Callable[..., Erp]) -> None:
    kafka.create("quiet")
    kafka.produce("quiet", [Record(b"v", stamp(5))])
    erp = open_erp("quiet")
    erp.record(6)
    erp.record(7)
    window = find_window(erp.lake, "erp", W6)
    assert (window.is_empty, [each.count for each in window.ranges]) == (True, [0])
    close_empty(erp.lake, [window], "run", NOW)
    landed = {"positions": 0, "holes": 0, "bytes": 0, "landed": 0}
    assert erp.land(W6).counts == landed
    assert {row.stage: row.counts for row in read_ledger(erp.lake, "erp", W6)}["land"] == landed


def test_lost_positions_land_nothing_until_the_source_epoch_is_raised(
    kafka: Broker, open_erp: Callable[..., Erp]
) -> None:
    kafka.create("lost")
    kafka.produce("lost", (Record(b"v", stamp(5)) for _ in range(10)))
    erp = open_erp("lost")
    erp.record(6)
    kafka.delete_records("lost", 4)
    with pytest.raises(PositionsLost, match="the positions 0 to 3 of lost/0 are gone"):
        erp.land(W5)
    assert read_ledger(erp.lake, "erp") == []
    assert erp.lake.load("bronze.erp").snapshots() == []
    raised = open_erp("lost", "source_epoch = 1\n")
    assert raised.land(W5).counts == {"positions": 10, "lost": 4, "landed": 6, "holes": 0, "bytes": 6}
    assert raised.landed(W5) == [(0, offset) for offset in range(4, 10)]


def test_messages_that_only_bronze_has_are_not_landed_again(kafka: Broker, open_erp: Callable[..., Erp]) -> None:
    """The source epoch was raised for another reason, so positions that are gone would count as lost."""
    kafka.create("kept")
    kafka.produce("kept", (Record(b"v", stamp(5)) for _ in range(10)))
    erp = open_erp("kept")
    erp.record(6)
    erp.land(W5)
    raised = open_erp("kept", "source_epoch = 1\n")
    assert raised.land(W5, again=True).counts["landed"] == 10
    kafka.delete_records("kept", 4)
    with pytest.raises(
        PositionsLost, match="4 positions of the window 20260301T0500Z are gone from the brokers of erp"
    ):
        raised.land(W5, again=True)
    assert raised.landed(W5) == [(0, offset) for offset in range(10)]


def test_a_run_killed_before_its_ledger_row_is_made_whole_without_reading_again(
    kafka: Broker, open_erp: Callable[..., Erp], monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.create("unwritten")
    kafka.produce("unwritten", (Record(b"value", stamp(5), key=b"k") for _ in range(4)))
    erp = open_erp("unwritten")
    erp.record(6)
    with monkeypatch.context() as patch:
        patch.setattr("retable.land.spark.append_rows", _killed)
        with pytest.raises(KeyboardInterrupt):
            erp.land(W5)
    kafka.delete_records("unwritten", 4)
    report = erp.land(W5)
    assert (report.wrote, report.counts) == (False, {"positions": 4, "landed": 4, "holes": 0, "bytes": 24})


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_broker_killed_while_a_window_lands_and_started_again_costs_nothing(
    kafka: Broker, open_erp: Callable[..., Erp]
) -> None:
    kafka.create("restart", 2)
    kafka.produce("restart", (Record(b"%06d" % n * 200, stamp(5), n % 2) for n in range(150_000)))
    erp = open_erp("restart")
    erp.record(6)
    reports: list[StageReport] = []
    landing = Thread(target=lambda: reports.append(erp.land(W5)))
    landing.start()
    tracker = erp.spark.sparkContext.statusTracker()
    while not tracker.getActiveStageIds():
        time.sleep(0.01)
    kafka.process.stop(signal.SIGKILL)
    kafka.process.start()
    landing.join()
    assert reports[0].counts == {"positions": 150_000, "landed": 150_000, "holes": 0, "bytes": 180_000_000}
    assert erp.landed(W5) == [(partition, offset) for partition in (0, 1) for offset in range(75_000)]


def test_a_job_that_comes_before_the_delay_is_over_waits_for_it(
    kafka: Broker, open_erp: Callable[..., Erp], monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka.create("waits")
    kafka.produce("waits", [Record(b"v", stamp(5))])
    erp, slept = open_erp("waits"), list[float]()
    monkeypatch.setattr("retable.land.due.sleep", slept.append)
    now = DAY + timedelta(hours=6, seconds=30)
    window = record_due(erp.lake, erp.source, W5, now)
    assert (slept, window.recorded_at) == ([90.0], DAY + timedelta(hours=6, minutes=2))
    record_due(erp.lake, erp.source, W6, DAY + timedelta(hours=6.5))
    record_due(erp.lake, erp.source, "20260301T0700Z", DAY + timedelta(hours=9))
    assert slept == [90.0]
    with pytest.raises(NotFound):
        record_due(erp.lake, erp.source, "20260301T0900Z", DAY + timedelta(hours=8.5))


class TestSecret:
    """A password is named, never carried."""

    ACCESS = f"""
[sources.erp.kafka]
security_protocol = "SASL_PLAINTEXT"
username_env = "{USER_VARIABLE}"
password_env = "{PASSWORD_VARIABLE}"
"""

    def test_what_goes_to_sparks_workers_has_no_secret(self, kafka: Broker, write_settings: SettingsWriter) -> None:
        kafka.create("closure")
        kafka.produce("closure", [Record(b"v", stamp(5))])
        bootstrap = f"127.0.0.1:{kafka.sasl_port}"
        settings = write_settings(SOURCE.format(bootstrap=bootstrap, topic="closure") + self.ACCESS)
        lake, source = open_lake(settings), settings.source("erp")
        record_windows(lake, source, lambda: inspect_arrivals(source, NOW), DAY + timedelta(hours=6), NOW)
        landing = open_landing(source, find_window(lake, "erp", W5), 8)
        carried = pickle.dumps(landing) + repr(settings).encode()
        assert PASSWORD_VARIABLE.encode() in carried
        assert PASSWORD.encode() not in carried

    def test_a_whole_run_leaves_no_trace_of_it_and_plan_and_status_know_the_source(
        self, kafka: Broker, write_settings: SettingsWriter, tmp_path: Path
    ) -> None:
        messages = list(genuine("canal_mariadb"))[:40]
        kafka.create("canal.example-few")
        produce(kafka, [_renamed(each) for each in messages])
        bootstrap = f"127.0.0.1:{kafka.sasl_port}"
        settings = write_settings(SOURCE.format(bootstrap=bootstrap, topic="canal.example-few") + self.ACCESS)
        before = retable(tmp_path, "plan", "erp", "--json")
        assert json.loads(before.stdout)[0]["new_positions"] == 40
        end = datetime.fromtimestamp(messages[-1].timestamp_ms // 3_600_000 * 3_600 + 3_600, UTC)
        ran = retable(tmp_path, "run", "erp", "--to", f"{end:%FT%TZ}")
        assert ran.returncode in (0, 2), ran.stderr
        landed = [row for row in read_ledger(open_lake(settings), "erp") if row.stage == "land"]
        assert sum(row.counts["landed"] for row in landed) == 40
        status = retable(tmp_path, "status", "--json")
        windows = json.loads(status.stdout)[0]["windows"]
        assert windows["recorded"] == windows["replayed"] == len(read_windows(open_lake(settings), "erp"))
        said = "".join(each.stdout + each.stderr for each in (before, ran, status))
        traces = [path for path in tmp_path.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
        assert (PASSWORD in said, traces) == (False, [])


def _renamed(message):  # type: ignore[no-untyped-def]
    import msgspec

    return msgspec.structs.replace(message, topic="canal.example-few")


def retable(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line, with Spark as loud as it gets."""
    command = [str(Path(sys.executable).with_name("retable")), "--settings", str(folder / "retable.toml"), *arguments]
    return subprocess.run(command, env=dict(os.environ), cwd=folder, capture_output=True, text=True, check=False)
