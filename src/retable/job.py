"""What all Spark jobs share: read the arguments, start Spark, print one line of JSON for each stage, and exit."""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from threading import Thread

import psutil

from retable.exit_codes import exiting
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.rows import StageReport
from retable.ledger.runs import begin_run, end_run
from retable.session import build_session
from retable.settings.load import load_settings

LIFELINE = "RETABLE_LIFELINE"
"""The environment variable with process IDs, as `123,45`. A local job stops when one of these processes is gone."""

_LOOK_SECONDS = 1.0


def run_stage(name: str, stage: Callable[..., StageReport]) -> None:
    """Run one stage of the window that the command-line arguments name. Print its report as one line of JSON.

    `stage` is the function of the stage, and `name` the name of the stage. A held table (one that waits for a person)
    is not a failure: the report and the ledger name the table, and the exit code is 0.
    """
    run_stages(name, [stage])


def run_stages(name: str, stages: Sequence[Callable[..., StageReport]]) -> None:
    """Run these stages of one window, one after the other, in one Spark application.

    Print the report of each stage as one line of JSON. `name` is the job's name in Spark and in the help.
    """
    parser = argparse.ArgumentParser(description=f"The stage {name} of one window of a source.")
    for option in ("--settings", "--source", "--window", "--run-id"):
        parser.add_argument(option, required=True)
    args = parser.parse_args()
    hold_lifeline()
    with exiting():
        settings = load_settings(args.settings)
        lake, source = open_lake(settings), settings.source(args.source)
        with spark_explained(settings.lake):
            spark = build_session(settings, f"retable {name} {args.source} {args.window}")
        try:
            for stage in stages:
                begin_run(lake)
                report = stage(spark, lake, source, args.window, args.run_id, datetime.now(UTC))
                sys.stdout.write(json.dumps(asdict(report)) + "\n")
        finally:
            end_run(lake)


def hold_lifeline() -> None:
    """Start a thread that ends this process and its JVM when the JVM or a process in $RETABLE_LIFELINE is gone.

    $RETABLE_LIFELINE has the process IDs of the task runner, as `123,45`. If it is not set, do nothing. A killed task
    runner cannot end the job that it started, and a driver notices only at its next call to Spark that its JVM is gone.
    Without this thread, the job could then run at the same time as its retry.
    """
    others = [int(pid) for pid in os.environ.get(LIFELINE, "").split(",") if pid]
    if others:
        Thread(target=_watch, args=(others, os.getppid()), name="lifeline", daemon=True).start()


def _watch(others: Sequence[int], jvm: int) -> None:
    while os.getppid() == jvm and all(map(_lives, others)):
        time.sleep(_LOOK_SECONDS)
    if os.getppid() == jvm:
        with suppress(ProcessLookupError):
            os.kill(jvm, signal.SIGKILL)
    os._exit(70)


def _lives(pid: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.AccessDenied:
        return True
    except psutil.NoSuchProcess:
        return False
