"""Measure time, bytes on disk and memory, and print tables."""

import statistics
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import psutil
from pyspark.sql import SparkSession

_MEGABYTE = 1e6


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print what the benchmark is doing, to stderr."""
    sys.stderr.write(f"  {text}\n")
    sys.stderr.flush()


def show(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    say(f"\n### {title}\n\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for row in rows:
        say(f"| {' | '.join(row)} |")


def seconds(values: Sequence[float]) -> str:
    """Return the median as text. If there are several values, all follow in parentheses."""
    middle = f"{statistics.median(values):.2f}"
    return middle if len(values) == 1 else f"{middle} ({' '.join(f'{value:.1f}' for value in values)})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Return the median of `ours / theirs` over the turns. Other load on the machine affects both values of a turn."""
    return f"{statistics.median(a / b for a, b in zip(ours, theirs, strict=True)):.2f}"


def megabytes(count: float) -> str:
    return f"{count / _MEGABYTE:,.1f} MB"


def timed(act: Callable[[], object]) -> float:
    began = perf_counter()
    act()
    return perf_counter() - began


def processor_seconds() -> float:
    """Return the processor seconds that this process, its JVM and its workers have used so far."""
    return sum(map(_spent, _family()))


def folder_bytes(folder: Path) -> int:
    """Return the size of all files under a folder in bytes, without the checksum files of Hadoop's file system."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc")


def location(spark: SparkSession, table: str) -> Path:
    """Return the folder of a table."""
    told = spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Location'").collect()[0].data_type
    return Path(str(told).removeprefix("file:"))


def table_bytes(spark: SparkSession, table: str) -> int:
    """Return the size of all files in the folder of a table in bytes: data, deletes, metadata."""
    return folder_bytes(location(spark, table))


def heap_bytes(spark: SparkSession) -> int:
    """Collect garbage in the JVM and return the size of its live objects in bytes."""
    jvm: Any = spark._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return int(runtime.totalMemory() - runtime.freeMemory())


@dataclass(slots=True)
class Peak:
    """The peaks of resident memory, in bytes: of the driver's Python, of the JVM, and of the largest worker."""

    python: int = 0
    jvm: int = 0
    worker: int = 0
    _ended: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self._ended.wait(0.2):
            me, *rest = _family()
            self.python = max(self.python, _resident(me))
            for each in rest:
                if _is_jvm(each):
                    self.jvm = max(self.jvm, _resident(each))
                else:
                    self.worker = max(self.worker, _resident(each))


@contextmanager
def watched() -> Iterator[Peak]:
    """Measure the peaks of memory while the `with` block runs."""
    peak = Peak()
    thread = threading.Thread(target=peak.look)
    thread.start()
    try:
        yield peak
    finally:
        peak._ended.set()
        thread.join()


def _spent(process: psutil.Process) -> float:
    """The processor time of a process; zero if it has ended."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _resident(process: psutil.Process) -> int:
    """The memory of a process; zero if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_info().rss)
    return 0


def _is_jvm(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.name() == "java"
    return False


def _family() -> list[psutil.Process]:
    me = psutil.Process()
    return [me, *(child for child in me.children(recursive=True) if child.is_running())]
