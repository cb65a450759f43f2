"""All that a stream goes through, from Kafka to its lake, and how each part is killed in the middle of a stage."""

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from queue import SimpleQueue
from typing import Any

import pytest

from retable.settings.load import load_settings
from servers.clusters import Cluster, Driver, running_cluster
from servers.kafka_broker import Broker
from servers.lake_shop import Place, lake_text
from servers.processes import Process
from servers.proxy import Proxy
from servers.stores import PLAIN_CHECKSUMS, USER, Postgres, client, store_on_disk

BUCKET = "cluster-lake"
LAYERS = {"land": "bronze", "decode": "silver", "replay": "gold"}
"""The stages, and where each commits."""
_DYING_SECONDS = 60


class Moment(Enum):
    """How far a stage is when somebody is killed."""

    A_TASK = "a task has left in the store what it folded, others may fold"
    A_SEARCH = "a task has looked into a data file for rows that change, others may look"
    A_FILE = "the first data file is in the store, others may be written"
    ALL_FILES = "all data files of a table are in the store, its commit begins"
    COMMITTED = "the catalog has a commit, its answer is on the way"


@dataclass(frozen=True, slots=True)
class Parts:
    """All that the streams go through, and the proxies in front of the store and of the catalog."""

    broker: Broker
    database: Postgres
    store: Process
    cluster: Cluster
    before_store: Proxy
    before_catalog: Proxy

    def process(self, name: str) -> Process:
        worker, *_ = self.cluster.workers
        named = {"broker": self.broker.process, "catalog": self.database.server, "store": self.store, "worker": worker}
        return named[name]

    def place(self, name: str) -> Place:
        """Make a place for a lake, and nobody else is there."""
        return place_in(self.database, name, self.before_catalog.port, self.before_store.port)

    @contextmanager
    def killing(self, name: str, moment: Moment, stage: str) -> Iterator[None]:
        """Kill one of them at a moment of a stage, and start it again at once."""
        victim, layer = self.process(name), LAYERS[stage].encode()
        starting: SimpleQueue[Future[None]] = SimpleQueue()

        def kill() -> None:
            victim.kill()
            starting.put(threads.submit(victim.start))

        match moment:
            case Moment.A_TASK:
                told = {"match": re.compile(rb"^PUT \S+/%s/\S+\.arrow" % layer), "answered": kill}
            case Moment.A_SEARCH:
                told = {"match": re.compile(rb"^GET \S+/%s/\S+\.parquet" % layer), "answered": kill}
            case Moment.A_FILE:
                told = {"match": re.compile(rb"^PUT \S+/%s/\S+\.parquet" % layer), "answered": kill}
            case Moment.ALL_FILES:
                told = {"match": re.compile(rb"^(PUT|POST) \S+/%s/\S+-m\d+\.avro" % layer), "asked": kill}
            case Moment.COMMITTED:
                told = {**commit(layer), "answered": kill, "lose": name == "catalog"}
        proxy = self.before_catalog if moment is Moment.COMMITTED else self.before_store
        with ThreadPoolExecutor() as threads:
            with proxy.doing(**told) as fault:
                yield
            assert fault.done == 1, f"the stage {stage} did not come to where {moment.value}"
            # The stage may be done before the one that was killed has died.
            starting.get(timeout=_DYING_SECONDS).result()


@pytest.fixture(scope="module")
def parts(kafka: Broker, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    """A cluster of Spark, and what is around it."""
    folder = tmp_path_factory.mktemp("parts")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name, value in PLAIN_CHECKSUMS.items():
            patch.setenv(name, value)
        store = stack.enter_context(store_on_disk(folder))
        cluster = stack.enter_context(running_cluster(folder))
        client(store.port).create_bucket(Bucket=BUCKET)
        with Proxy(store.port) as before_store, Proxy(postgres.port) as before_catalog:
            yield Parts(kafka, postgres, store, cluster, before_store, before_catalog)


@pytest.fixture(scope="module")
def driver(parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """One application for all streams, which keeps both workers."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "retable.toml").write_text(lake_text(parts.place(folder.name)), encoding="utf-8")
    with parts.cluster.driver(load_settings(folder / "retable.toml"), folder / "driver.log") as started:
        yield started


def place_in(database: Postgres, name: str, catalog: int, store: int) -> Place:
    """Make a place for a lake whose catalog and store are reached at these ports."""
    database.make_database(name)
    address = f"postgresql://{USER}@127.0.0.1:{catalog}/{name}"
    return Place(address, f"s3://{BUCKET}/{name}", store, 'catalog_password_env = "LAKE_PASSWORD"')


def commit(layer: bytes) -> dict[str, Any]:
    """How the commit to a table that is there looks on its way to the database."""
    update = re.compile(rb"metadata\.json.*/%s/.*metadata\.json" % layer, re.DOTALL)
    # Iceberg's own library commits by the statement itself, pyiceberg by a transaction around it.
    return {"match": re.compile(rb"COMMIT"), "after": update} if layer == b"silver" else {"match": update}
