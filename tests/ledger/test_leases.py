"""Leases: who may work on a table now, and until when."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import sleep

import pyarrow as pa
import pytest

import retable
from retable.errors import Leased, Unavailable
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.leases import LENGTH, Lease, Purpose, end_leases, leased, standing_leases

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.fixture
def lake(lake_settings) -> Lake:
    return open_lake(lake_settings)


def lease(target: str, holder: str, purpose: Purpose = "upkeep", now: datetime = NOW) -> Lease:
    return Lease(source="erp", target=target, purpose=purpose, holder=holder, until=now + LENGTH, recorded_at=now)


def test_a_table_is_one_upkeeps_at_a_time(lake):
    with leased(lake, lease("gold_shop.t", "one")):
        other = lease("gold_shop.t", "other")
        with pytest.raises(Leased, match="the upkeep one works on gold_shop.t"), leased(lake, other):
            pass
        with leased(lake, lease("gold_shop.u", "other")):
            assert {each.target for each in standing_leases(lake, "erp", NOW)} == {"gold_shop.t", "gold_shop.u"}
    later = NOW + timedelta(minutes=1)
    assert standing_leases(lake, "erp", later) == []
    with leased(lake, lease("gold_shop.t", "other", now=later)):
        pass


def test_upkeep_keeps_away_from_all_tables_of_a_source_that_is_replayed(lake):
    with (
        leased(lake, lease("erp", "one", "replay")),
        leased(lake, lease("erp", "backfill", "replay")),
        pytest.raises(Leased, match="replay"),
        leased(lake, lease("gold_shop.t", "upkeep")),
    ):
        pass


def test_a_replay_that_begins_beside_upkeep_is_let_in_and_waits_for_it(lake):
    with leased(lake, lease("gold_shop.t", "upkeep")), leased(lake, lease("erp", "one", "replay"), patience=0.01):
        assert len(standing_leases(lake, "erp", NOW)) == 2


def test_a_replay_goes_on_as_soon_as_upkeep_has_left(lake):
    with ThreadPoolExecutor(1) as beside, leased(lake, lease("gold_shop.t", "upkeep")):
        let_in = beside.submit(lambda: leased(lake, lease("erp", "one", "replay"), patience=60).__enter__())
        while len(standing_leases(lake, "erp", NOW)) < 2:
            sleep(0.02)
        assert not let_in.done()
    let_in.result(60)


def test_what_a_killed_run_held_runs_out(lake):
    dead = leased(lake, lease("gold_shop.t", "killed"))
    dead.__enter__()
    with pytest.raises(Leased), leased(lake, lease("gold_shop.t", "next")):
        pass
    with leased(lake, lease("gold_shop.t", "next", now=NOW + LENGTH)):
        pass


def test_what_a_killed_process_held_is_free_at_once(lake):
    tell = "import sys; from retable.ledger.processes import *; print(this_process(), flush=True); sys.stdin.read()"
    environment = {**os.environ, "PYTHONPATH": str(Path(retable.__file__).parents[1])}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", tell], env=environment, text=True, **pipes) as process:
        name = process.stdout.readline().strip()
        dead = leased(lake, replace(lease("erp", "killed", "replay"), process=name))
        dead.__enter__()
        assert [each.holder for each in standing_leases(lake, "erp", NOW)] == ["killed"]
        process.kill()
    assert standing_leases(lake, "erp", NOW) == []


def test_what_ran_elsewhere_for_a_window_is_free_as_soon_as_another_run_of_that_window_ended_well(lake):
    killed = replace(lease("erp", "killed", "replay"), window="20260301T0400Z", process="elsewhere:1/2/3")
    backfill = replace(killed, holder="backfill", window="20260301T0300Z")
    dead = [leased(lake, each) for each in (killed, backfill)]
    for each in dead:
        each.__enter__()
    again = replace(killed, holder="again", process=None)
    with pytest.raises(ZeroDivisionError), leased(lake, again):
        raise ZeroDivisionError
    assert len(standing_leases(lake, "erp", NOW)) == 2
    with leased(lake, again):
        pass
    assert [each.holder for each in standing_leases(lake, "erp", NOW)] == ["backfill"]


def test_a_run_that_ended_because_the_catalog_is_away_does_not_wait_for_it_again(lake):
    with pytest.raises(Unavailable), leased(lake, lease("erp", "one", "replay")):
        raise Unavailable("the catalog is busy")
    assert lake.load("ops.leases").scan().count() == 1


def test_leases_of_an_earlier_version_are_read_and_their_table_gets_its_new_columns(lake):
    columns = OPS["ops.leases"].columns
    old = pa.schema([field for field in columns if field.name not in ("window", "process")])
    location = lake.new_location("ops")
    lake.catalog.create_namespace("ops")
    table = lake.catalog.create_table("ops.leases", old, location, properties=OPS["ops.leases"].properties)
    row = {**dict.fromkeys(("source", "target"), "erp"), "purpose": "replay", "holder": "old"}
    table.append(pa.Table.from_pylist([{**row, "until": NOW + LENGTH, "recorded_at": NOW}], schema=old))
    with leased(lake, lease("erp", "new", "replay")):
        assert {each.holder for each in standing_leases(lake, "erp", NOW)} == {"old", "new"}
    assert sorted(lake.load("ops.leases").schema().column_names) == sorted(columns.names)


def test_what_a_machine_gave_back_whose_clock_is_ahead_is_free(lake):
    with leased(lake, lease("gold_shop.t", "ahead", now=NOW + timedelta(minutes=30))):
        assert len(standing_leases(lake, "erp", NOW)) == 1
    assert standing_leases(lake, "erp", NOW) == []


def test_a_lease_of_another_source_is_of_no_account(lake):
    with leased(lake, lease("gold_shop.t", "one")):
        assert standing_leases(lake, "other", NOW) == []


def test_a_build_has_its_shadow_alone_and_is_in_nobodys_way(lake):
    with (
        leased(lake, lease("shadow_erp", "one", "build")),
        leased(lake, lease("erp", "a replay", "replay")),
        leased(lake, lease("shadow_crm", "other", "build")),
    ):
        with pytest.raises(Leased, match="the build one works on shadow_erp"):
            leased(lake, lease("shadow_erp", "other", "build")).__enter__()
        end_leases(lake, "erp", "shadow_erp", NOW)
        with leased(lake, lease("shadow_erp", "other", "build")):
            pass
    with leased(lake, lease("shadow_erp", "one", "build")), leased(lake, lease("gold_shop.t", "upkeep")):
        pass


def test_work_that_takes_longer_than_a_lease_keeps_it(lake):
    length = timedelta(seconds=0.4)
    short = Lease(
        source="erp", target="erp", purpose="replay", holder="one", until=NOW + length, recorded_at=NOW, window="w"
    )
    with leased(lake, short):
        while not (kept := [each for each in standing_leases(lake, "erp", NOW + length) if each.recorded_at > NOW]):
            sleep(0.02)
        assert kept[0].until - kept[0].recorded_at == length
    assert standing_leases(lake, "erp", NOW) == []
    written = lake.load("ops.leases").scan().count()
    sleep(0.3)
    assert lake.load("ops.leases").scan().count() == written


def test_short_work_renews_nothing(lake):
    with leased(lake, lease("shadow_erp", "one", "build")):
        assert lake.load("ops.leases").scan().count() == 1
