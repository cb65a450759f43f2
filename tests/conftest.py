"""What every test may use: one warm Spark for each process of the run, and a lake of its own for each test that asks.

Imports stand inside the fixtures, so that a run of pure tests starts without Spark.
"""

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakes import FreshLake, SettingsWriter
    from retable.settings.load import Settings

# The JVM's optimizing compiler would cost tests of seconds twice what it saves them. Without it the JVM keeps 48 MB for
# code, which one process of all the tests outgrows.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m")

# How long a law takes says how busy the machine is. What CI draws is the same each time, what a developer does is not.
hypothesis.settings.register_profile(
    "unhurried",
    deadline=None,
    derandomize=os.environ.get("CI") == "true",
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("unhurried")

LAKE = """
[lake]
catalog = "sqlite:///lake/catalog.db"
warehouse = "lake"
"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """In CI a skipped test is a failed one: nobody reads that it did not run."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI") == "true":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which is a failure in CI: {report.longrepr}"
    return report


@pytest.fixture
def write_settings(tmp_path: Path) -> "SettingsWriter":
    """Write and load settings: a lake in this test's own folder, and the sources and tables given as TOML."""
    from retable.settings.load import load_settings

    def write(more: str = "") -> "Settings":
        path = tmp_path / "retable.toml"
        path.write_text(LAKE + more, encoding="utf-8")
        return load_settings(path)

    return write


@pytest.fixture
def lake_settings(write_settings: "SettingsWriter") -> "Settings":
    """Settings of a lake without any source."""
    return write_settings("")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """The one Spark of the run, for tests that need no lake; every other session joins it."""
    from retable.session import build_session, stop_session
    from retable.settings.load import load_settings

    path = tmp_path_factory.mktemp("spark") / "retable.toml"
    path.write_text(LAKE, encoding="utf-8")
    session = build_session(load_settings(path), "retable tests")
    yield session
    stop_session(session)


@pytest.fixture
def lake_on_spark(spark: "SparkSession") -> Callable[["Settings"], "FreshLake"]:
    """Open the lake of the given settings, with a session of its own on the warm Spark."""
    from lakes import FreshLake
    from retable.ledger.lake.catalog import open_lake
    from retable.session import build_session

    def open_on_spark(settings: "Settings") -> FreshLake:
        lake = open_lake(settings)
        return FreshLake(build_session(settings, "retable tests"), lake, settings)

    return open_on_spark


@pytest.fixture
def fresh_lake(lake_on_spark: Callable[["Settings"], "FreshLake"], lake_settings: "Settings") -> "FreshLake":
    """An empty lake without any source, on the warm Spark."""
    return lake_on_spark(lake_settings)
