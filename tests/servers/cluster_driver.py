"""`spark-submit cluster_driver.py PORT`: runs the stages that it is told there, one a line, each as its job runs it."""

import json
import socket
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

from retable.decode.spark import decode
from retable.errors import RetableError
from retable.exit_codes import exit_code
from retable.land.spark import land
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.rows import StageReport
from retable.replay.files import lake_rows
from retable.replay.inputs import scope
from retable.replay.spark import rebuild, replay
from retable.replay.table import rewriting
from retable.replay.tasks import apart, folding
from retable.session import build_session
from retable.settings.load import load_settings

STAGES: dict[str, Callable[..., StageReport]] = {"land": land, "decode": decode, "replay": replay, "rebuild": rebuild}


def run(stage: str, settings: str, window: str, run: str, now: str, rows_a_task: str) -> tuple[int, str]:
    """Run a stage of the source `shop`, with a session of its own; give its job's exit code, and its words.

    A rebuild is of the gold table that is given as its `window`.
    With a number of `rows_a_task` every window is a big one.
    """
    if rows_a_task:
        lake_rows.ROWS_HERE = lake_rows.ROWS_NEAR = lake_rows.ROWS_NEAR_LONG = 0
        scope.EVENTS_AT_ONCE = scope.ROWS_ONE_BY_ONE = rewriting.EVENTS_AT_ONCE = apart.FEW_ROWS = 0
        folding.EVENTS_AT_ONCE = folding.EVENTS_IN_TASK = folding.ROWS_A_TASK = int(rows_a_task)
    try:
        told = load_settings(settings)
        lake = open_lake(told)
        with spark_explained(told.lake):
            spark = build_session(told, "retable tests")
        report = STAGES[stage](spark, lake, told.source("shop"), window, run, datetime.fromisoformat(now))
    except RetableError as error:
        return exit_code(error), f"{error.code}: {error}"
    except Exception:  # noqa: BLE001  # the outermost door
        return 70, traceback.format_exc()
    return 0, json.dumps(asdict(report))


def main(port: str) -> None:
    with socket.create_connection(("127.0.0.1", int(port))) as line, line.makefile("rw", encoding="utf-8") as lines:
        for told in lines:
            code, said = run(**json.loads(told))
            lines.write(json.dumps({"code": code, "said": said}) + "\n")
            lines.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
