"""A replay that dies: `victim.py SETTINGS WINDOW RUN NOW SEAM NUMBER`.

It kills its own JVM with SIGKILL at the NUMBERth step whose text ends with SEAM, or, where SEAM is `.parquet`, as soon
as the NUMBERth new data file stands in gold. What it was killed at is the last line that it prints; then it fails by
itself, because nobody answers.
"""

import os
import signal
import sys
import time
from datetime import datetime
from pathlib import Path
from subprocess import Popen
from threading import Lock, Thread

from retable.ledger.lake.catalog import open_lake
from retable.replay.spark import replay
from retable.session import build_session
from retable.settings.load import load_settings

DATA_FILE = ".parquet"
LAST_STEP = "recorded, except in the ledger"
NEEDS_NO_JVM = (LAST_STEP, ": published")


class Killer:
    """Counts what it is told, from any thread, and kills at the seam."""

    def __init__(self, jvm: "Popen[bytes]", seam: str, number: int) -> None:
        self._jvm = jvm
        self._seam = seam
        self._left = number
        self._lock = Lock()

    def tell(self, what: str) -> None:
        if not what.endswith(self._seam):
            return
        with self._lock:
            self._left -= 1
            if self._left:
                return
            os.kill(self._jvm.pid, signal.SIGKILL)
            if self._jvm.wait() == -signal.SIGKILL:
                print(what, flush=True)
            if what.endswith(NEEDS_NO_JVM):
                # What is left needs no JVM: the driver goes down with it.
                os.kill(os.getpid(), signal.SIGKILL)

    def finish(self) -> None:
        """Wait until whoever kills has said so: the replay may have failed before."""
        with self._lock:
            pass


def watch(gold: Path, killer: Killer) -> None:
    known = set(gold.glob("*/data/*.parquet"))
    while True:
        for file in set(gold.glob("*/data/*.parquet")) - known:
            killer.tell(str(file))
            known.add(file)
        time.sleep(0.0005)


def main(settings_file: str, window: str, run_id: str, now: str, seam: str, number: str) -> None:
    settings = load_settings(Path(settings_file))
    lake, spark = open_lake(settings), build_session(settings, "victim")
    killer = Killer(spark.sparkContext._gateway.proc, seam, int(number))
    if seam == DATA_FILE:
        Thread(target=watch, args=(settings.lake.warehouse / "gold", killer), daemon=True).start()
    try:
        replay(spark, lake, settings.source("erp"), window, run_id, datetime.fromisoformat(now), killer.tell)
    finally:
        killer.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
