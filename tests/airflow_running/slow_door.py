"""A door behind which nothing happens until a file is there; then the ledger says that all was done, as Spark would.

A test puts it into the DAGs folder: settings name it as any user's own door.
"""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import BaseOperator, Context

from retable.ledger.lake.catalog import open_lake
from retable.ledger.rows import EvidenceRow, LedgerRow
from retable.ledger.write import append_rows
from retable.model.window import window_start
from retable.settings.load import load_settings
from retable_airflow.doors import SparkJob


def slow(job: SparkJob) -> BaseOperator:
    return _Slow(task_id=job.stage, job=job)


class _Slow(BaseOperator):
    def __init__(self, *, job: SparkJob, **task: object) -> None:
        super().__init__(**task)
        self.job = job

    def execute(self, context: Context) -> None:
        lake, job = open_lake(load_settings(self.job.settings)), self.job
        while not (Path(str(lake.settings.lake.warehouse)) / f"{job.source}.go").exists():
            time.sleep(0.5)
        now = datetime.now(UTC)
        proof = window_start(job.window) + timedelta(hours=1, seconds=30)
        rest = {
            "counts": {"landed": 1},
            "lowest": {},
            "highest": {},
            "snapshot_id": None,
            "identity": None,
            "run_id": job.run_id,
            "seconds": 1.0,
            "bytes": 0,
            "recorded_at": now,
        }
        done = [
            LedgerRow(source=job.source, window=job.window, stage=stage, table=None, **rest)
            for stage in ("land", "decode", "replay")
        ]
        append_rows(
            lake,
            [
                EvidenceRow(
                    source=job.source,
                    window=job.window,
                    topic="t",
                    partition=0,
                    epoch=0,
                    heartbeat=proof,
                    canary=None,
                    row=None,
                    ahead=0,
                    recorded_at=now,
                ),
                *done,
            ],
        )
