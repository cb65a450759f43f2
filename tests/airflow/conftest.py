"""An Airflow of the tests' own, made before anything imports Airflow."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_HOME = tempfile.TemporaryDirectory(prefix="retable-airflow-")

for _name in [name for name in os.environ if name.startswith("AIRFLOW")]:
    del os.environ[_name]
os.environ.update(
    AIRFLOW_HOME=_HOME.name,
    AIRFLOW__CORE__DAGS_FOLDER=str(ROOT / "dags"),
    AIRFLOW__CORE__PLUGINS_FOLDER=str(ROOT / "plugins"),
    AIRFLOW__CORE__LOAD_EXAMPLES="False",
    AIRFLOW__CORE__UNIT_TEST_MODE="True",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests give one DAG several settings, so Airflow's database has several versions of it: Airflow warns of that."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.filterwarnings("ignore:Multiple rows returned with uselist=False"))


@pytest.fixture(scope="session", autouse=True)
def metadata() -> Iterator[None]:
    from airflow.utils.db import initdb

    initdb()
    yield
    _HOME.cleanup()
