"""Real servers on loopback, started when the first test asks for them and stopped at the end of the run."""

import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers.kafka_broker import kafka  # noqa: F401  # a fixture
from servers.lake_shop import Place
from servers.parts import driver, parts  # noqa: F401  # fixtures: tests ask for them by name
from servers.processes import Process
from servers.stores import (
    AWS,
    REGION,
    USER,
    VARIABLES,
    Postgres,
    client,
    drop_databases,
    moto_server,
    postgres_server,
    rest_server,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST = (
    "test_cluster.py",
    "test_cluster_classes.py",
    "test_catalog_faults.py",
    "test_submitted_jobs.py",
    "test_catalogs.py",
    "test_kafka_landing.py",
    "test_rights.py",
)
"""Of files that take minutes none may begin when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, which `--no-loadscope-reorder` keeps."""
    first = {name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path.name, len(first)))


@pytest.fixture(scope="session", autouse=True)
def _variables() -> Iterator[None]:
    """What the settings name, in the environment of the tests and of what they start."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**VARIABLES, **AWS}.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A store that speaks S3, and Glue."""
    with moto_server(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture
def bucket(store: Process, request: pytest.FixtureRequest) -> str:
    """An empty bucket of the test's own."""
    name = f"lake-{abs(hash(request.node.nodeid)) % 10**12}"
    client(store.port).create_bucket(Bucket=name)
    return name


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL without a database for lakes, in a folder that its own user may enter."""
    with tempfile.TemporaryDirectory(prefix="retable-postgres-") as folder, postgres_server(Path(folder)) as server:
        yield server


@pytest.fixture
def place(
    request: pytest.FixtureRequest, tmp_path: Path, bucket: str, store: Process
) -> Iterator[Callable[[str], Place]]:
    """Gives a place for a lake by the names of a catalog and of a warehouse; nobody else is there."""
    with ExitStack() as stack:

        def place(named: str) -> Place:
            catalog, kind = named.split()
            warehouse = f"s3://{bucket}/lake" if kind == "s3" else str(tmp_path / "lake")
            match catalog:
                case "sqlite":
                    return Place("sqlite:///catalog.db", warehouse, store.port)
                case "postgresql":
                    postgres: Postgres = request.getfixturevalue("postgres")
                    database = f"lake_{uuid.uuid4().hex[:8]}"
                    postgres.make_database(database)
                    address = f"postgresql://{USER}@127.0.0.1:{postgres.port}/{database}"
                    return Place(address, warehouse, store.port, 'catalog_password_env = "LAKE_PASSWORD"')
                case "rest":
                    server = stack.enter_context(rest_server(tmp_path, warehouse, store.port))
                    return Place(f"rest+http://127.0.0.1:{server.port}", warehouse, store.port)
                case _:
                    drop_databases(client(store.port, "glue"))
                    address = f"glue://{REGION}?endpoint=http://127.0.0.1:{store.port}"
                    return Place(address, warehouse, store.port)

        yield place


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """One Spark with every jar that a lake may need; each session of it stands on a lake of its own."""
    from pyspark import SparkConf, SparkContext

    from retable.session import build_session, stop_session, submit_conf
    from retable.settings.load import jars_folder, load_settings

    path = tmp_path_factory.mktemp("spark") / "retable.toml"
    path.write_text('[lake]\ncatalog = "sqlite:///lake.db"\nwarehouse = "lake"\n', encoding="utf-8")
    settings = load_settings(path)
    every_jar = {"spark.jars": ",".join(map(str, sorted(jars_folder().glob("*.jar"))))}
    SparkContext._ensure_initialized(
        conf=SparkConf(loadDefaults=False).setAll([*(submit_conf(settings) | every_jar).items()])
    )
    session = build_session(settings, "retable tests")
    yield session
    stop_session(session)
