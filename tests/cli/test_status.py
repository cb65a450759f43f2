"""How far each source is, in words and as JSON."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

from feeding import EACH, Feed, at
from lakes import SettingsWriter
from published import publish
from retable.cli.look import status
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS, QUARANTINE
from retable.ledger.rows import LedgerRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.schema_history.history import Hold

Retable = Callable[..., Result]

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
HOLD = Hold("ZERO_DATE", "a zero date", None, None, None, "set zero_date")


@pytest.fixture
def two_windows(lake: Lake) -> Lake:
    rows = [
        {
            "source": "dump",
            "ordinal": ordinal,
            "window": f"{start:%Y%m%dT%H%MZ}",
            "start": start,
            "end": start + timedelta(hours=1),
            "objects": [],
            "recorded_at": NOW,
        }
        for ordinal in (0, 1)
        for start in (NOW + timedelta(hours=ordinal),)
    ]
    lake.ensure("ops.windows").append(pa.Table.from_pylist(rows, schema=OPS["ops.windows"].columns))
    rest = {
        "counts": {},
        "lowest": {},
        "highest": {},
        "snapshot_id": None,
        "identity": None,
        "run_id": "run",
        "seconds": 0.1,
        "bytes": 0,
        "recorded_at": NOW,
    }
    append_rows(
        lake,
        [
            LedgerRow(source="dump", window="20260301T0500Z", stage="land", table=None, **rest),
            LedgerRow(source="dump", window="20260301T0500Z", stage="decode", table=None, **rest),
            LedgerRow(source="dump", window="20260301T0500Z", stage="replay", table="gold_shop.t", **rest),
            LedgerRow(source="dump", window="20260301T0500Z", stage="replay", table=None, **rest),
            LedgerRow(source="dump", window="20260301T0600Z", stage="land", table=None, **rest),
        ],
    )
    return lake


def test_a_status_counts_windows_by_what_is_done(retable: Retable, two_windows: Lake) -> None:
    publish(two_windows, TableName("shop", None, "t"), {"id": "int"}, [])
    assert json.loads(retable("status", "--json").stdout) == [
        {
            "source": "dump",
            "paused": None,
            "windows": {
                "recorded": 2,
                "empty": 2,
                "landed": 2,
                "decoded": 1,
                "replayed": 1,
                "last_replayed": "20260301T0500Z",
                "next": "20260301T0600Z",
                "next_opens": None,
            },
            "watermark": None,
            "grade": None,
            "lag_seconds": None,
            "tables": {"live": 1, "held": 0, "dropped": 0, "retired": 0},
            "gold_tables": [
                {
                    "name": "gold_shop.t",
                    "state": "live",
                    "watermark": None,
                    "grade": None,
                    "lag_seconds": None,
                    "hold": None,
                }
            ],
            "held": [],
            "suspect": {},
            "clashes": {},
            "stale": {},
            "unfinished_baselines": [],
            "quarantined": 0,
            "kept_from": {},
        }
    ]
    lines = retable("status").stdout.splitlines()
    assert lines[1].split() == ["dump", "2", "(2", "empty)", "1", "20260301T0500Z", "20260301T0600Z", "1", "0", "0"]
    assert retable("status", "--check").exit_code == 0


def test_a_source_that_never_ran_is_there_too(retable: Retable, lake: Lake) -> None:
    (source,) = json.loads(retable("status", "--json").stdout)
    assert source["windows"]["recorded"] == 0
    assert source["windows"]["next"] is None


def test_a_check_ends_with_2_when_a_table_is_held(retable: Retable, lake: Lake) -> None:
    publish(lake, TableName("shop", None, "t"), {"id": "int"}, [], state="held", hold=HOLD)
    assert retable("status").exit_code == 0
    result = retable("status", "--check", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)[0]["held"] == ["gold_shop.t"]
    assert "1 table is held and 0 messages or rows are quarantined" in result.stderr


def test_a_check_ends_with_2_when_anything_is_quarantined(retable: Retable, lake: Lake) -> None:
    row = {"stage": "decode", "window": "20260301T0500Z", "topic": "t", "partition": 0, "offset": 1}
    lake.ensure("quarantine.dump").append(pa.Table.from_pylist([row], schema=QUARANTINE.columns))
    result = retable("status", "--check")
    assert result.exit_code == 2
    assert "0 tables are held and 1 message or row is quarantined" in result.stderr


def test_quarantine_within_its_budget_needs_nobody(retable: Retable, write_settings: SettingsWriter) -> None:
    feed = Feed(open_lake(write_settings(EACH + 'quarantine_budget = "2/window"')))
    feed.quarantined(5, 2)
    feed.quarantined(6, 2)
    assert retable("status", "--check").exit_code == 0
    feed.quarantined(6, 1)
    result = retable("status", "--check")
    assert result.exit_code == 2
    assert "3 messages or rows are quarantined" in result.stderr


@pytest.fixture
def feed(write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch) -> Feed:
    """A source whose windows 05 and 06 are replayed; it is half past seven."""
    monkeypatch.setattr(status, "now", lambda: at("07:30"))
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(7)
    feed.done(5)
    feed.done(6)
    return feed


def test_a_source_is_as_far_as_the_table_that_lags_most(retable: Retable, feed: Feed) -> None:
    publish(feed.lake, TableName("shop", None, "t"), {"id": "int"}, [])
    assert _shown(retable) == ["2026-03-01T07:00:00Z", "drained", "30m"]
    feed.proves(6, row="06:10")
    assert _shown(retable) == ["2026-03-01T06:10:00Z", "row", "1h", "20m"]
    (source,) = json.loads(retable("status", "--json").stdout)
    assert (source["watermark"], source["grade"], source["lag_seconds"]) == ("2026-03-01T06:10:00Z", "row", 4800)
    publish(feed.lake, TableName("shop", None, "u"), {"id": "int"}, [], state="held", hold=HOLD)
    assert _shown(retable) == []


def test_a_check_says_a_cause_once_and_names_the_other_tables_that_it_delays() -> None:
    def late(name: str, key: str) -> Any:
        return SimpleNamespace(name=name, key=key, verdict=SimpleNamespace(words=f"{name} is late"))

    found = [late("gold_a.t", "HELD"), *(late(f"gold_a.t{at}", "SILENT") for at in range(8))]
    assert list(status._late_words(found)) == [
        "gold_a.t is late",
        "gold_a.t0 is late (also late by this: gold_a.t1, gold_a.t2, gold_a.t3, gold_a.t4, gold_a.t5 and 2 more)",
    ]


def test_a_status_of_one_source_shows_how_far_each_table_is_and_what_holds_it(retable: Retable, feed: Feed) -> None:
    feed.proves(6, row="06:10")
    publish(feed.lake, TableName("shop", None, "t"), {"id": "int"}, [])
    publish(feed.lake, TableName("shop", None, "u"), {"id": "int"}, [], state="held", hold=HOLD)
    assert "gold_shop.t" not in retable("status").stdout
    lines = retable("status", "dump").stdout.splitlines()
    assert [line.split() for line in lines[lines.index("") + 1 :]] == [
        ["TABLE", "STATE", "WATERMARK", "GRADE", "LAG", "HELD"],
        ["gold_shop.t", "live", "2026-03-01T06:10:00Z", "row", "1h", "20m"],
        ["gold_shop.u", "held", *["ZERO_DATE", "at", "its", "first", "row"]],
    ]
    (source,) = json.loads(retable("status", "dump", "--json").stdout)
    assert [(each["watermark"], each["hold"] and each["hold"]["code"]) for each in source["gold_tables"]] == [
        ("2026-03-01T06:10:00Z", None),
        (None, "ZERO_DATE"),
    ]
    assert retable("status", "dmup").exit_code == 1


def _shown(retable: Retable) -> list[str]:
    """What `status` shows of the watermark: what stands between the window and the three numbers at the end."""
    line = retable("status").stdout.splitlines()[1]
    return re.sub(r"\(\d+ empty\)", "", line).split()[4:-3]


def test_a_check_ends_with_2_when_airflow_is_dead_and_an_hour_was_due(
    retable: Retable, write_settings: SettingsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = Feed(open_lake(write_settings(EACH + 'sla = "20m"')))
    feed.windows(6)
    feed.done(5)
    feed.proves(5, heartbeat="06:00")
    monkeypatch.setattr(status, "now", lambda: at("07:19"))
    assert retable("status", "--check").exit_code == 0
    monkeypatch.setattr(status, "now", lambda: at("07:20"))
    result = retable("status", "--check")
    assert result.exit_code == 2
    assert "the last window of dump ends at 2026-03-01T06:00:00Z" in result.stderr
