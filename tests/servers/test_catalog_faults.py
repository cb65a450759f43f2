"""Catalogs and stores that fail in the middle: the table's own state decides, nothing is doubled, nothing deleted."""

import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from recorded import record_windows
from retable.errors import ConflictError, EnvironmentFault, NotFound, RetableError, Unavailable
from retable.exit_codes import exit_code
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.windows.recording import read_windows
from retable.session import build_session
from servers.lake_shop import NOW, STAGES, LakeShop, Place, shop_at
from servers.processes import Process
from servers.proxy import Proxy
from servers.stores import Postgres

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMITS = {
    "postgresql": {"match": re.compile(rb"UPDATE iceberg_tables")},
    "rest": {"match": re.compile(rb"^POST /v1/namespaces/\w+/tables/\w+ HTTP")},
}
"""How a commit to a table that is there looks on the way to its catalog."""

CATALOGS = ["postgresql folder", "rest folder"]


@contextmanager
def behind(place: Place) -> Iterator[tuple[Place, Proxy]]:
    """The same place, whose catalog is reached through a proxy."""
    port = urlsplit(place.catalog).port
    assert port is not None
    with Proxy(port) as proxy:
        yield replace(place, catalog=place.catalog.replace(f":{port}", f":{proxy.port}")), proxy


@pytest.fixture(params=CATALOGS)
def behind_proxy(
    request: pytest.FixtureRequest, tmp_path: Path, place: Callable[[str], Place]
) -> Iterator[tuple[LakeShop, Proxy, str]]:
    with behind(place(request.param)) as (reached, proxy):
        yield shop_at(tmp_path, reached), proxy, request.param.split()[0]


def replayed_until_done(shop: LakeShop, spark: "SparkSession", most: int = 40) -> list[RetableError]:
    """Run each stage of the windows as a scheduler does, again where it says to try again; give all that was said."""
    told: list[RetableError] = []
    for window, stage in product(shop.windows(), STAGES):
        for attempt in range(most):
            try:
                shop.run_stage(build_session(shop.settings, "retable tests"), stage, window, f"run{attempt}")
                break
            except ConflictError as error:
                told.append(error)
        else:
            pytest.fail(f"{stage} of {window} is not done after {most} runs: {told[-1]}")
    return told


def test_answers_that_are_lost_after_a_commit_change_nothing(behind_proxy, spark):
    shop, proxy, catalog = behind_proxy
    shop.windows()
    with proxy.doing(**COMMITS[catalog], times=12, lose=True) as fault:
        told = replayed_until_done(shop, spark)
    assert fault.done == 12
    assert told
    assert shop.differences() == {}
    assert_whole(shop.lake)


def test_commits_that_never_arrive_are_made_again(behind_proxy, spark):
    shop, proxy, catalog = behind_proxy
    shop.windows()
    with proxy.doing(**COMMITS[catalog], times=6, reset=True) as fault:
        assert replayed_until_done(shop, spark)
    assert fault.done == 6
    assert shop.differences() == {}
    assert_whole(shop.lake)


def assert_whole(lake: Lake) -> None:
    """Every file that a snapshot of any table names is there, and none twice."""
    for namespace in lake.catalog.list_namespaces():
        for name in lake.catalog.list_tables(namespace):
            table = lake.load(".".join(name))
            files = [task.file.file_path for task in table.scan().plan_files()]
            assert len(set(files)) == len(files), name
            assert all(table.io.new_input(file).exists() for file in files), name
            for snapshot in table.snapshots():
                for manifest in snapshot.manifests(table.io):
                    assert table.io.new_input(manifest.manifest_path).exists(), name


@pytest.mark.parametrize("kind", CATALOGS)
def test_of_eight_that_record_at_once_one_wins_and_all_agree(kind, tmp_path, place):
    shop = shop_at(tmp_path, place(kind))
    shop.lake.ensure("ops.windows")
    lakes = [open_lake(shop.settings) for _ in range(8)]
    start, found = threading.Barrier(8), []

    def race(lake: Lake) -> None:
        source = shop.settings.source("shop")
        from retable.land.objects.files import list_objects

        start.wait()
        found.append(record_windows(lake, source, lambda: list_objects(source), NOW, NOW))

    threads = [threading.Thread(target=race, args=(lake,)) for lake in lakes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(windows == found[0] for windows in found)
    assert read_windows(shop.lake, "shop") == found[0]
    assert len(shop.lake.load("ops.windows").snapshots()) == 1


def test_a_database_that_is_away_for_a_while_is_waited_for(tmp_path, place, postgres: Postgres, spark):
    shop = shop_at(tmp_path, place("postgresql folder"))
    first, second = shop.windows()
    session = build_session(shop.settings, "retable tests")
    shop.run(session, first)
    # A database that is asked kindly waits until all its clients have gone.
    postgres.server.stop(signal.SIGINT)
    try:
        with pytest.raises(Unavailable) as told:
            shop.run(session, second)
        assert exit_code(told.value) == 3
        with pytest.raises(Unavailable):
            open_lake(shop.settings)
    finally:
        postgres.server.start()
    shop.run(build_session(shop.settings, "retable tests"), second)
    assert shop.differences() == {}


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({"proofs": 'catalog_password_env = "LAKE_KEY"'}, EnvironmentFault, "refuses the user or the password; check"),
        ({"proofs": ""}, EnvironmentFault, "refuses the user or the password; check"),
        ({"catalog": ("/lake_", "/no_such_")}, EnvironmentFault, "has no such database; make it with `createdb`"),
    ],
    ids=["wrong password", "no password", "no database"],
)
def test_what_a_database_refuses_is_told_with_its_remedy(tmp_path, place, changed, kind, said):
    there = place("postgresql folder")
    catalog = there.catalog.replace(*changed.pop("catalog")) if "catalog" in changed else there.catalog
    shop = shop_at(tmp_path, replace(there, catalog=catalog, **changed))
    with pytest.raises(kind, match=said):
        open_lake(shop.settings)


def test_a_warehouse_without_its_bucket_says_so(tmp_path, place, bucket):
    there = place("sqlite s3")
    shop = shop_at(tmp_path, replace(there, warehouse="s3://no-such-bucket/lake"))
    with pytest.raises((EnvironmentFault, NotFound), match="there is no such bucket; make it, or correct"):
        open_lake(shop.settings).ensure("ops.ledger")


def test_a_store_that_is_unwell_now_and_then_changes_nothing(tmp_path, place, store: Process, spark):
    there, asked = place("sqlite s3"), re.compile(rb"^(GET|PUT|HEAD) /[^ ]*/lake/")
    with Proxy(store.port) as proxy, ExitStack() as faults:
        shop = shop_at(tmp_path, replace(there, store=proxy.port))
        shop.windows()
        unwell = [{"status": 500, "every": 13}, {"status": 503, "every": 17}, {"reset": True, "every": 19}]
        done = [faults.enter_context(proxy.doing(match=asked, times=20, **fault)) for fault in unwell]
        replayed_until_done(shop, spark)
        assert all(fault.done > 5 for fault in done)
        assert shop.differences() == {}
        assert_whole(shop.lake)


def test_a_catalog_that_is_away_says_so_to_spark_too(tmp_path, place, spark):
    with behind(place("postgresql folder")) as (reached, proxy):
        shop = shop_at(tmp_path, reached)
        (first, _) = shop.windows()
        session = build_session(shop.settings, "retable tests")
        with (
            proxy.doing(match=re.compile(rb"metadata_location"), times=10**6, reset=True),
            pytest.raises(ConflictError),
        ):
            shop.run(session, first)
        shop.run(build_session(shop.settings, "retable tests"), first)
