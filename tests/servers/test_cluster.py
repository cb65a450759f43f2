"""The same jobs on a cluster: `spark-submit` of jobs/*.py, a wheel for the workers, a lake in S3."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from retable.ledger.read import read_ledger
from servers.clusters import Cluster, running_cluster
from servers.lake_shop import LakeShop, Place, shop_at
from servers.processes import Process
from servers.stores import client

STAGES = ("land", "decode", "replay")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    with running_cluster(folder) as started:
        yield started


def run(cluster: Cluster, shop: LakeShop, stage: str, window: str, run: str = "run") -> int:
    done = cluster.submit(stage, shop.settings, shop.file, window, run)
    if done.returncode == 0:
        assert json.loads(done.stdout.splitlines()[-1])["stage"] == stage
    else:
        assert done.returncode == 3, done.stderr[-4000:]
    return done.returncode


def test_a_cluster_replays_the_shop_as_it_is_though_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path, bucket: str, place: Callable[[str], Place], store: Process
) -> None:
    shop = shop_at(tmp_path, place("postgresql s3"), bucket)
    first, second = shop.windows()
    for stage in STAGES:
        assert run(cluster, shop, stage, first) == 0
    assert all(any(Path(worker.log.parent, "work").iterdir()) for worker in cluster.workers)
    victim = threading.Thread(target=kill_when_silver_grows, args=(cluster.workers[0], store, bucket))
    assert run(cluster, shop, "land", second) == 0
    victim.start()
    for stage in ("decode", "replay"):
        while run(cluster, shop, stage, second, "again") == 3:
            pass
    victim.join()
    assert shop.differences() == {}
    assert {row.stage for row in read_ledger(shop.lake, "shop", second)} == set(STAGES)


def kill_when_silver_grows(worker: Process, store: Process, bucket: str) -> None:
    """Kill a worker, and what it runs, as soon as something of the window's silver is written."""
    before = count_silver(store, bucket)
    ends = time.monotonic() + 120
    while count_silver(store, bucket) == before and time.monotonic() < ends:
        time.sleep(0.1)
    worker.stop(signal.SIGKILL)


def count_silver(store: Process, bucket: str) -> int:
    pages = client(store.port).get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix="lake/silver/")
    return sum(entry["Key"].endswith(".parquet") for page in pages for entry in page.get("Contents", ()))
