"""`make demo`: replay a genuine MariaDB change log through Airflow, window by window, and compare with the truth."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

import demo_source
import local_airflow
from retable.config import Settings, load_settings
from retable.gold.read import PublishedTable, list_gold
from retable.ledger.catalog import Lake, open_lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import Stage
from retable.ledger.windows import read_windows

HOME = demo_source.FOLDER / "airflow"
LOG = demo_source.FOLDER / "airflow.log"
STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
TASKS = (*STAGES, "fresh")

SHORT_JOBS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""What lets a JVM start cheaply: in a job of seconds its optimizing compiler costs twice what it saves."""

console = Console(soft_wrap=True)


def main() -> None:
    if local_airflow.running():
        sys.exit("Airflow is running on the demo's lake; `make down` stops it")
    started = time.monotonic()
    shutil.rmtree(demo_source.FOLDER, ignore_errors=True)
    settings = load_settings(demo_source.prepare())
    ends = list(_interval_ends(settings))
    console.print(f"[bold]{len(ends)} hours of a MariaDB change log, read by Canal[/]: var/demo/landing")
    _run_airflow(ends)
    lake = open_lake(settings)
    _show_windows(lake)
    agrees = _show_gold(lake)
    console.print(f"\n{time.monotonic() - started:.0f} s in all. Airflow's words are in var/demo/airflow.log.")
    _show_next_steps()
    sys.exit(0 if agrees else 4)


def _interval_ends(settings: Settings) -> Iterator[str]:
    source = settings.source(demo_source.SOURCE)
    assert source.start
    for number, _ in enumerate(demo_source.HOURS, 1):
        yield (source.start + number * timedelta(hours=1)).isoformat()


def _run_airflow(ends: list[str]) -> None:
    """Run the DAG for every interval on a metadata database of its own; no daemon is started."""
    env = local_airflow.environment(HOME, demo_source.SETTINGS) | {"SPARK_SUBMIT_OPTS": SHORT_JOBS}
    with console.status("Airflow's metadata database …"):
        local_airflow.prepare(HOME, env)
    command = [sys.executable, str(Path(__file__).with_name("demo_dag.py")), f"replay_changes__{demo_source.SOURCE}"]
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with LOG.open("w") as log, Progress(*columns, console=console) as progress:
        bar = progress.add_task("Airflow starts", total=len(ends) * len(TASKS))
        with subprocess.Popen([*command, *ends], env=env, stdout=subprocess.PIPE, stderr=log, text=True) as run:
            assert run.stdout
            done = 0
            for line in run.stdout:
                event, task = json.loads(line)
                if event == "began":
                    progress.update(bar, description=f"hour {done // len(TASKS) + 1} of {len(ends)}: {task}")
                else:
                    done += 1
                    progress.update(bar, completed=done)
        progress.update(bar, description="the DAG failed" if run.returncode else "all hours are replayed")
    if run.returncode:
        sys.exit(f"{LOG} says why")


def _show_windows(lake: Lake) -> None:
    counts = {(row.window, row.stage): row.counts for row in read_ledger(lake, demo_source.SOURCE) if row.table is None}
    table = Table("window", *STAGES, title="\nWhat each stage did with each window (from the ledger)")
    for window in read_windows(lake, demo_source.SOURCE):
        table.add_row(window.name, *(_spell(counts.get((window.name, stage), {})) for stage in STAGES))
    console.print(table)


def _spell(counts: dict[str, int]) -> str:
    return "\n".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _show_gold(lake: Lake) -> bool:
    """Show every gold table beside the source's own; false where one that is not held differs."""
    sys.path.insert(0, str(demo_source.ROOT / "tests"))
    from truth import differences

    found = differences(lake, demo_source.TRUTH, demo_source.HOURS[-1])
    published = list_gold(lake)
    table = Table("gold table", "rows", "state", "against the source's own table", title="\nGold")
    for gold in published:
        table.add_row(escape(gold.name), f"{gold.rows:,}", gold.state.state, _verdict(gold, found.get(gold.name, [])))
    console.print(table)
    held = {gold.name for gold in published if gold.state.hold}
    _show_held(published)
    for name in sorted(found.keys() - held):
        console.print(f"[red]{escape(name)} differs:[/]", *map(escape, found[name][:5]), sep="\n  ")
    return found.keys() <= held


def _verdict(gold: PublishedTable, lines: list[str]) -> str:
    if not lines:
        return "[green]equal[/]"
    return "[yellow]held: it stops before the end[/]" if gold.state.hold else f"[red]{len(lines)} differences[/]"


def _show_held(published: list[PublishedTable]) -> None:
    for gold in published:
        if hold := gold.state.hold:
            console.print(f"[yellow]{escape(gold.name)} is held[/] ({hold.code}): {escape(hold.reason)}")
            if hold.statement:
                console.print(f"  {escape(hold.statement)}")
            console.print(f"  Next: {escape(hold.remedy)}")


def _show_next_steps() -> None:
    console.print(
        "\n[bold]Look around[/]\n"
        "  export RETABLE_SETTINGS=var/demo/retable.toml\n"
        "  .venv/bin/retable status                      or tables, rows, schema, history, hold list: see --help\n"
        "  make up                                       the same in Airflow's UI, on this machine only\n"
        "[bold]Your own messages[/]\n"
        "  unset RETABLE_SETTINGS\n"
        "  .venv/bin/retable init --from-files FOLDER    recognises the format and writes retable.toml\n"
        "  .venv/bin/retable run SOURCE                  lands, decodes and replays them, window by window\n"
        "  RETABLE_SETTINGS=retable.toml make up         the same by the hour\n"
    )


if __name__ == "__main__":
    main()
