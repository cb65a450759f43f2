"""Retable in somebody else's Airflow: from a wheel, with settings from wherever, and as many tables as there are."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG

from lakes import SettingsWriter
from retable.settings.address import to_address
from retable_airflow import dags
from retable_airflow.lakes import address_of

ROOT = Path(__file__).resolve().parents[2]
SOURCE = """
[sources.{name}]
kind = "files"
format = "canal_json"
path = "/landing"
layout = "kafka_dump"
"""
LAKE = '[lake]\ncatalog = "sqlite:////lake/catalog.db"\nwarehouse = "/lake"\n'


def parsed(folder: Path, settings: object) -> dict[str, DAG]:
    (folder / "mine.py").write_text(f"from retable_airflow import dags\ndags({settings!r})\n", encoding="utf-8")
    bag = DagBag(str(folder))
    assert bag.import_errors == {}
    return bag.dags


def test_a_dag_file_of_two_lines_makes_every_dag_there_is(
    write_settings: SettingsWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = SOURCE.format(name="erp") + 'sla = "20m"\n' + SOURCE.format(name="crm") + 'applications = "window"\n'
    write_settings(more)
    (tmp_path / "dags").mkdir()
    found = parsed(tmp_path / "dags", str(tmp_path / "retable.toml"))
    of_sources = {"replay_changes__crm", "replay_changes__erp"}
    assert set(found) == of_sources | {"watch_tables", "watch_holds", "decide_hold", "keep_tables", "replay_window"}
    monkeypatch.setenv("RETABLE_SETTINGS", str(tmp_path / "retable.toml"))
    assert set(found) == set(DagBag(str(ROOT / "dags")).dags)
    crm = found["replay_changes__crm"].topological_sort()
    assert [task.task_id for task in crm] == ["window", "fresh"]


def test_settings_may_be_an_airflow_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = LAKE + SOURCE.format(name="erp")
    monkeypatch.setenv("AIRFLOW_VAR_RETABLE", text)
    assert "replay_changes__erp" in parsed(tmp_path, "var:retable")
    assert address_of("var:retable") == to_address(text)


def test_without_an_sla_nothing_is_watched(write_settings: SettingsWriter, tmp_path: Path) -> None:
    write_settings(SOURCE.format(name="erp"))
    assert "watch_tables" not in {dag.dag_id for dag in dags(tmp_path / "retable.toml")}


def test_a_dag_file_loads_nothing_that_reads_a_lake(write_settings: SettingsWriter, tmp_path: Path) -> None:
    """Parsing 1,000 tables costs what their settings cost, and Airflow parses again and again."""
    rules = (f'[tables."shop.table_{number}"]\nkeys = ["id"]\nsla = "20m"\n' for number in range(1000))
    sources = (SOURCE.format(name=f"source_{number}") for number in range(20))
    write_settings("".join([*sources, *rules]))
    program = (
        "import sys; from retable_airflow import dags; made = dags(); assert len(made) > 20, made; "
        "print(*sorted({'pyarrow', 'pyiceberg', 'pyspark', 'pandas', 'boto3', 'confluent_kafka'} & set(sys.modules)))"
    )
    env = {**os.environ, "RETABLE_SETTINGS": str(tmp_path / "retable.toml")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "plugins"), str(ROOT / "src")])
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[-2] == ""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as it is built for a release, unpacked where nothing of this folder is."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (
        "import sys; from hatchling.builders.wheel import WheelBuilder; "
        "list(WheelBuilder(sys.argv[1]).build(directory=sys.argv[2], versions=['standard']))"
    )
    subprocess.run([sys.executable, "-c", build, str(ROOT), str(folder)], check=True, capture_output=True, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        archive.extractall(folder / "installed")
    return folder / "installed"


def test_the_wheel_has_what_airflow_finds_by_itself(wheel: Path) -> None:
    (told,) = wheel.glob("*.dist-info/entry_points.txt")
    text = told.read_text("utf-8")
    assert "[apache_airflow_provider]\nprovider_info = retable_airflow.provider:provider_info" in text
    assert "[airflow.plugins]\nretable = retable_airflow.plugin:RetablePlugin" in text


def test_the_wheel_makes_dags_in_an_empty_folder_without_the_repository(wheel: Path, tmp_path: Path) -> None:
    program = (
        "import retable, retable_airflow; from retable_airflow import dags, doors, plugin, provider; "
        f"assert retable.__file__.startswith({str(wheel)!r}), retable.__file__; "
        f"assert retable_airflow.__file__.startswith({str(wheel)!r}); "
        "assert provider.provider_info()['package-name'] == 'retable'; "
        "print(*(dag.dag_id for dag in dags('var:retable'))); "
        "print(*sorted(path.name for path in doors.jobs_folder().glob('*.py')), doors.jobs_folder())"
    )
    env = {name: value for name, value in os.environ.items() if not name.startswith("RETABLE")}
    env |= {"PYTHONPATH": str(wheel), "AIRFLOW_VAR_RETABLE": LAKE + SOURCE.format(name="erp")}
    env["AIRFLOW__CORE__PLUGINS_FOLDER"] = str(tmp_path / "none")
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "replay_changes__erp" in lines[-2].split()
    assert {"land.py", "decode.py", "replay.py", "window.py"} <= set(lines[-1].split())
    assert lines[-1].endswith(str(wheel / "retable_airflow" / "jobs"))
