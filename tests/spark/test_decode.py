"""Decoding through Spark: a window whole, once, into exactly its own partitions."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from formats.events import INSERT
from lakes import CANAL_LINES, FreshLake, SettingsWriter
from retable.decode import spark as door
from retable.decode.silver import rows_to_events
from retable.decode.spark import decode
from retable.errors import NotReady, Unbalanced
from retable.formats.canal import json as canal_json
from retable.land.objects.files import list_objects
from retable.land.spark import land_window
from retable.ledger.read import read_evidence, read_ledger
from retable.ledger.rows import EvidenceRow, StageReport
from retable.ledger.windows.recording import record_windows
from retable.settings.load import Settings

NOW = datetime(2026, 3, 2, tzinfo=UTC)
W5, W6, W7 = "20260301T0500Z", "20260301T0600Z", "20260301T0700Z"


class Erp:
    """A lake with one source and three landed hours: rows and a statement; nothing good; nothing."""

    def __init__(self, write: SettingsWriter, open_lake: Callable[[Settings], FreshLake], folder: Path) -> None:
        self._write, self._open = write, open_lake
        self.folder = folder / "in"
        self.folder.mkdir()
        self.configure()

    def configure(self, more: str = "") -> None:
        self.spark, self.lake, settings = self._open(self._write(CANAL_LINES + more))
        self.source = settings.source("erp")

    def put(self, hour: int, *lines: str) -> None:
        (self.folder / f"2026-03-01T{hour:02}.jsonl").write_text("\n".join(lines), encoding="utf-8")

    def record(self, hour: int) -> None:
        until = datetime(2026, 3, 1, hour, tzinfo=UTC)
        record_windows(self.lake, self.source, lambda: list_objects(self.source), until, NOW)

    def land(self, window: str) -> None:
        land_window(self.spark, self.lake, self.source, window, "run-1", NOW)

    def decode(self, window: str, run_id: str = "run-2", now: datetime = NOW) -> StageReport:
        return decode(self.spark, self.lake, self.source, window, run_id, now)

    def rows(self, layer: str) -> pa.Table:
        return self.lake.load(f"{layer}.erp").scan().to_arrow()

    def snapshots(self, *tables: str) -> list[int]:
        return [len(self.lake.load(table).snapshots()) for table in tables]


def message(**fields: object) -> str:
    return json.dumps({**INSERT, **fields})


@pytest.fixture
def erp(write_settings: SettingsWriter, lake_on_spark: Callable[[Settings], FreshLake], tmp_path: Path) -> Erp:
    erp = Erp(write_settings, lake_on_spark, tmp_path)
    rows = [{"id": "1", "c": "x"}, {"id": "2", "c": "é"}]
    statement = message(isDdl=True, type="ALTER", data=None, sql="alter table t add d int")
    erp.put(5, message(data=rows), statement, "{", message(database="crm"), message(type="UPDATE", old=[]))
    erp.put(6, "nonsense")
    erp.put(7)
    erp.record(8)
    for window in (W5, W6, W7):
        erp.land(window)
    return erp


def test_a_window_is_decoded_once_and_its_counts_balance(erp: Erp) -> None:
    report = erp.decode(W5)
    assert report.counts == {
        "landed": 5,
        "decoded": 3,
        "quarantined": 2,
        "erased": 0,
        "events": 4,
        "rows": 3,
        "notes:DDL": 1,
    }
    assert report.tables == {"shop.t": {"events": 3, "rows": 2, "notes:DDL": 1}, "crm.t": {"events": 1, "rows": 1}}
    events = rows_to_events(erp.rows("silver"))
    assert sorted((str(event.sequence), event.op) for event in events) == [
        ("0.0.0", "INSERT"),
        ("0.0.1", "INSERT"),
        ("0.1.0", "DDL"),
        ("0.3.0", "INSERT"),
    ]
    faults = erp.rows("quarantine").sort_by("offset").to_pylist()
    assert [(fault["offset"], fault["code"], fault["table"], fault["keys"]) for fault in faults] == [
        (2, "MALFORMED", None, None),
        (4, "OLD_DATA_MISALIGNED", "t", ['["1"]']),
    ]
    assert {(fault["stage"], fault["decoder_version"], fault["quarantined_at"]) for fault in faults} == {
        ("decode", canal_json.VERSION, NOW)
    }
    written = erp.snapshots("silver.erp", "quarantine.erp", "ops.ledger")
    again = erp.decode(W5, "run-3", datetime(2026, 3, 3, tzinfo=UTC))
    assert (again.counts, again.tables, again.wrote, report.wrote) == (report.counts, report.tables, False, True)
    assert erp.snapshots("silver.erp", "quarantine.erp", "ops.ledger") == written
    summary = erp.lake.load("silver.erp").current_snapshot().summary
    assert (summary["retable.window"], summary["retable.run"], summary["retable.decoder"]) == (
        W5,
        "run-2",
        canal_json.VERSION,
    )


def test_the_ledger_has_one_row_of_the_window_and_one_of_each_table(erp: Erp) -> None:
    erp.decode(W5)
    rows = {row.table: row for row in read_ledger(erp.lake, "erp", W5) if row.stage == "decode"}
    assert rows.keys() == {None, "shop.t", "crm.t"}
    assert (rows["shop.t"].lowest, rows["shop.t"].highest) == ({"erp/0": "0.0.0"}, {"erp/0": "0.1.0"})
    assert {row.snapshot_id for row in rows.values()} == {erp.lake.load("silver.erp").current_snapshot().snapshot_id}


def test_other_settings_replace_exactly_the_window(erp: Erp) -> None:
    erp.decode(W5)
    erp.decode(W6)
    erp.configure('exclude = ["crm.*"]')
    report = erp.decode(W5)
    assert (report.wrote, report.counts["excluded"], report.counts["events"]) == (True, 1, 4)
    assert report.tables["crm.t"] == {"events": 1, "rows": 1, "excluded": 1}
    assert sorted(erp.rows("silver")["database"].to_pylist()) == ["shop"] * 3
    assert sorted(erp.rows("quarantine")["window"].to_pylist()) == [W5, W5, W6]
    erp.configure('exclude = ["crm.*"]\nsource_system = "mariadb"')
    assert erp.decode(W5).wrote
    assert set(erp.rows("silver")["source_system"].to_pylist()) == {"mariadb"}
    erp.configure('exclude = ["*"]')
    assert erp.decode(W5).counts["ignored:excluded"] == 1
    assert erp.rows("silver")["kind"].to_pylist() == ["schema"]


def test_a_window_of_nothing_writes_nothing(erp: Erp) -> None:
    report = erp.decode(W7)
    assert (report.counts["landed"], report.wrote) == (0, False)
    assert erp.snapshots("silver.erp", "quarantine.erp") == [0, 0]
    assert [row.stage for row in read_ledger(erp.lake, "erp", W7)] == ["land", "decode"]


def test_a_run_that_died_before_the_ledger_is_completed_by_the_next(erp: Erp, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(door, "record_decode", die)
    with pytest.raises(KeyboardInterrupt):
        erp.decode(W5)
    monkeypatch.undo()
    assert not any(row.stage == "decode" for row in read_ledger(erp.lake, "erp", W5))
    assert not erp.decode(W5).wrote
    assert any(row.stage == "decode" for row in read_ledger(erp.lake, "erp", W5))


def test_a_window_that_is_not_landed_is_not_ready(erp: Erp) -> None:
    erp.put(8, message())
    erp.record(9)
    with pytest.raises(NotReady, match="retable land erp --window 20260301T0800Z"):
        erp.decode("20260301T0800Z")


def test_a_message_that_bronze_lost_fails_the_run(erp: Erp) -> None:
    erp.spark.sql("DELETE FROM lake.bronze.erp WHERE offset = 0")
    with pytest.raises(Unbalanced, match="the count landed is 5, but must equal decoded 2"):
        erp.decode(W5)


def test_a_window_proves_how_far_its_partition_was_read(erp: Erp) -> None:
    erp.configure('canary = "crm.t"')
    for now in (NOW, datetime(2026, 3, 3, tzinfo=UTC)):
        erp.decode(W5, now=now)
        erp.decode(W6, now=now)
    proven = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert read_evidence(erp.lake, "erp") == [
        EvidenceRow(
            source="erp",
            window=W5,
            topic="erp",
            partition=0,
            epoch=0,
            heartbeat=None,
            canary=proven,
            row=proven,
            ahead=0,
            recorded_at=NOW,
        ),
        EvidenceRow(
            source="erp",
            window=W6,
            topic="erp",
            partition=0,
            epoch=0,
            heartbeat=None,
            canary=None,
            row=None,
            ahead=0,
            recorded_at=NOW,
        ),
    ]
    assert {row["database"] for row in erp.rows("silver").to_pylist()} == {"shop"}
    assert erp.snapshots("ops.evidence") == [2]
