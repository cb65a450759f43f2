"""`make demo`: replay a genuine MariaDB change log and a simulated shop through Airflow, and compare with the truth."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

import demo_shop
import demo_source
import local_airflow
from demo_show import STAGES, console, held_tables, show_gold, show_mart, show_watermark, show_windows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.settings.load import Settings, load_settings
from retable.settings.sources import SourceSettings

HOME = demo_source.FOLDER / "airflow"
LOG = demo_source.FOLDER / "airflow.log"
DAGS = demo_source.FOLDER / "dags"
REPLAY_TASKS = (*STAGES, "fresh")
MART_TASKS = ("complete", "build")

LOCAL_BUNDLE = "airflow.dag_processing.bundles.local.LocalDagBundle"
SHORT_JOBS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options for a fast start. In a job of a few seconds, the optimizing compiler costs twice what it saves."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a DAG for the interval that ends at `end`. `words` is its name for people. `tasks` counts its tasks."""

    dag_id: str
    end: datetime
    words: str
    tasks: int


def main() -> None:
    if local_airflow.running():
        sys.exit("Airflow is running on the demo's lake; `make down` stops it")
    started = time.monotonic()
    shutil.rmtree(demo_source.FOLDER, ignore_errors=True)
    settings = load_settings(demo_source.prepare())
    demo_shop.write_mart_dag(DAGS)
    env = _prepare_airflow()
    lake = open_lake(settings)
    agrees = [_replay_mariadb(settings, lake, env), _replay_shop(settings, lake, env)]
    console.print(f"\n{time.monotonic() - started:.0f} s in all. Airflow's log is var/demo/airflow.log.")
    _show_next_steps()
    sys.exit(0 if all(agrees) else 4)


def _replay_mariadb(settings: Settings, lake: Lake, env: dict[str, str]) -> bool:
    """Replay the genuine log and compare gold with the server. Return False if a table differs and is not held."""
    source = settings.source(demo_source.SOURCE)
    hours = len(demo_source.HOURS)
    console.print(f"[bold]1. {hours} hours of a MariaDB change log, read by Canal[/]: var/demo/landing")
    _run_airflow(_hours(source, hours), env)
    sys.path.insert(0, str(demo_source.ROOT / "tests"))
    from truth import differences

    found = differences(lake, demo_source.TRUTH, demo_source.HOURS[-1])
    show_windows(lake, source.name)
    show_gold(lake, source.name, found)
    return found.keys() <= held_tables(lake, source.name)


def _replay_shop(settings: Settings, lake: Lake, env: dict[str, str]) -> bool:
    """Replay the shop, then build the mart. Return False if gold or the mart differs from the shop."""
    source = settings.source(demo_shop.SOURCE)
    runs = _hours(source, demo_shop.HOURS)
    through = runs[-1].end
    console.print(
        f"\n[bold]2. {demo_shop.HOURS} hours of a simulated shop, as DataWorks writes them[/]: var/demo/landing_shop\n"
        f"   {demo_shop.DELIVERY.partitions} partitions, a heartbeat per minute, the halves of an update apart; "
        f"{demo_shop.DELIVERY.late:.0%} of the row changes late, {demo_shop.DELIVERY.repeated:.0%} repeated.\n"
        "   Then build_marts (var/demo/dags) waits for the watermark, and reads one consistent cut."
    )
    _run_airflow([*runs, Run("build_marts", through, "the mart", len(MART_TASKS))], env)
    assert source.first
    truth = demo_shop.play(source.first).truth()
    found = demo_shop.differences(lake, truth)
    show_windows(lake, source.name)
    fresh = show_watermark(lake, source, through)
    show_gold(lake, source.name, found)
    built = show_mart(demo_shop.MART, demo_shop.mart_rows(lake, through), demo_shop.mart_truth(truth))
    return fresh and built and not found


def _hours(source: SourceSettings, hours: int) -> list[Run]:
    assert source.first
    ends = [source.first + number * timedelta(hours=1) for number in range(1, hours + 1)]
    return [
        Run(f"replay_changes__{source.name}", end, f"hour {number} of {hours}", len(REPLAY_TASKS))
        for number, end in enumerate(ends, 1)
    ]


# --- Airflow ---------------------------------------------------------------------------------------------------------
def _prepare_airflow() -> dict[str, str]:
    """Make a separate metadata database for the demo's Airflow. Return its environment. No daemon is started."""
    folders = {"dags-folder": demo_source.ROOT / "dags", "demo": DAGS}
    bundles = [
        {"name": name, "classpath": LOCAL_BUNDLE, "kwargs": {"path": str(path)}} for name, path in folders.items()
    ]
    env = local_airflow.environment(HOME, demo_source.SETTINGS) | {
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps(bundles),
        "SPARK_SUBMIT_OPTS": SHORT_JOBS,
    }
    with console.status("Airflow's metadata database …"):
        local_airflow.prepare(HOME, env)
    return env


def _run_airflow(runs: list[Run], env: dict[str, str]) -> None:
    """Run DAGs, one run after another, in one process."""
    asked = [f"{run.dag_id}@{run.end.isoformat()}" for run in runs]
    command = [sys.executable, str(Path(__file__).with_name("demo_dag.py")), *asked]
    words = [run.words for run in runs for _ in range(run.tasks)]
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with LOG.open("a") as log, Progress(*columns, console=console) as progress:
        bar = progress.add_task("Airflow starts", total=len(words))
        with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            assert process.stdout
            done = 0
            for line in process.stdout:
                event, task = json.loads(line)
                if event == "began":
                    progress.update(bar, description=f"{words[done]}: {task}")
                else:
                    done += 1
                    progress.update(bar, completed=done)
        progress.update(bar, description="the DAG failed" if process.returncode else "all of it is done")
    if process.returncode:
        sys.exit(f"{LOG} says why")


def _show_next_steps() -> None:
    console.print(
        "\n[bold]Look around[/]\n"
        "  export RETABLE_SETTINGS=var/demo/retable.toml\n"
        "  .venv/bin/retable status                      or tables, rows, schema, history, why, hold list: see --help\n"
        "  make up                                       both sources in Airflow's UI, on this machine only\n"
        "[bold]Your own messages[/]\n"
        "  unset RETABLE_SETTINGS\n"
        "  .venv/bin/retable init --from-files FOLDER    recognises the format and writes retable.toml\n"
        "  .venv/bin/retable run SOURCE                  lands, decodes and replays them, window by window\n"
        "  RETABLE_SETTINGS=retable.toml make up         the same, every hour\n"
    )


if __name__ == "__main__":
    main()
