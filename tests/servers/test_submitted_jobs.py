"""The jobs as users submit them to a cluster, S3 in front, S3 and PostgreSQL behind: gold is the truth."""

import json
from pathlib import Path

import pytest

from retable.ledger.read import read_ledger
from servers.clusters import running_cluster
from servers.lake_shop import shop_at
from servers.parts import BUCKET, LAYERS, place_in
from servers.stores import PLAIN_CHECKSUMS, Postgres, client, store_on_disk


def test_jobs_that_are_submitted_replay_the_shop_as_it_is(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in PLAIN_CHECKSUMS.items():
        monkeypatch.setenv(name, value)
    with store_on_disk(tmp_path) as store, running_cluster(tmp_path) as cluster:
        client(store.port).create_bucket(Bucket=BUCKET)
        shop = shop_at(tmp_path, place_in(postgres, "shop", postgres.port, store.port), BUCKET)
        first, second = shop.windows()
        # A window that is landed already is what it is: the next job goes on with it.
        for job, window in (("land", first), ("window", first), ("window", second)):
            done = cluster.submit(job, shop.settings, shop.file, window, "run")
            assert done.returncode == 0, done.stderr[-4000:]
            last = json.loads(done.stdout.splitlines()[-1])
            assert (last["stage"], last["window"]) == ("replay" if job == "window" else job, window)
        assert all(any(Path(worker.log.parent, "work").iterdir()) for worker in cluster.workers)
        assert shop.differences() == {}
        ledger = [read_ledger(shop.lake, "shop", each) for each in (first, second)]
        assert all({row.stage for row in rows} == set(LAYERS) for rows in ledger)
