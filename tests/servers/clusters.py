"""A standalone Spark cluster on loopback, whose workers have the packages but not Retable itself."""

import json
import os
import socket
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyspark

from retable.session import archived_classes, submit_conf
from retable.settings.load import Settings
from servers.processes import QUICK, Process, free_port

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(pyspark.__file__).parent
SPARK = HOME / "bin"
WORKERS = 2

_DRIVER = Path(__file__).with_name("cluster_driver.py")
_ANSWER_SECONDS = 600

_LOCAL = {
    "SPARK_HOME": str(HOME),
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_DAEMON_MEMORY": "384m",
    "SPARK_DAEMON_JAVA_OPTS": " ".join([*QUICK, *archived_classes()]),
    # It would listen on a port that is always the same.
    "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
    "PYTHONPATH": "",
}
_NOBODY = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "LAKE_KEY": "", "LAKE_SECRET": ""}
"""Workers have no keys of their own: what they need comes with their tasks."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A master, its workers, and the wheel and the Python with which they work."""

    master: Process
    workers: tuple[Process, ...]
    wheel: Path
    python: Path

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.master.port}"

    def submit(
        self, job: str, settings: Settings, file: Path, window: str, run: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a job as a user does: `spark-submit jobs/<job>.py`, with the wheel for the workers."""
        arguments = {"--settings": str(file), "--source": "shop", "--window": window, "--run-id": run}
        parts = [part for pair in arguments.items() for part in pair]
        command = [*self._submit(settings), str(ROOT / "jobs" / f"{job}.py"), *parts]
        return subprocess.run(command, env={**os.environ, **_LOCAL}, capture_output=True, text=True, check=False)

    @contextmanager
    def driver(self, settings: Settings, log: Path) -> Iterator["Driver"]:
        """One application that runs stages as it is told, on lakes that need the same jars as that of the settings."""
        with socket.create_server(("127.0.0.1", 0)) as door, log.open("wb") as out:
            door.settimeout(_ANSWER_SECONDS)
            command = [*self._submit(settings), str(_DRIVER), str(door.getsockname()[1])]
            environment = {**os.environ, **_LOCAL}
            with subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.STDOUT) as started:
                try:
                    talk, _ = door.accept()
                    talk.settimeout(_ANSWER_SECONDS)
                    # It ends by itself as soon as there is no more to read.
                    with talk, talk.makefile("rw", encoding="utf-8") as lines:
                        yield Driver(lines, log)
                    started.wait(_ANSWER_SECONDS)
                finally:
                    started.kill()

    def _submit(self, settings: Settings) -> list[str]:
        conf = {**submit_conf(settings), **self.conf()}
        return [
            *(str(SPARK / "spark-submit"), "--master", self.url, "--py-files", str(self.wheel)),
            *(f"--conf={key}={value}" for key, value in conf.items()),
        ]

    def conf(self) -> Mapping[str, str]:
        """What a cluster's jobs are told beyond what every job is."""
        return {
            "spark.pyspark.driver.python": sys.executable,
            "spark.pyspark.python": str(self.python),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": "640m",
            "spark.executor.cores": "1",
            "spark.executor.extraJavaOptions": " ".join([*QUICK, *archived_classes()]),
            "spark.sql.shuffle.partitions": "4",
            # What a killed executor had is asked for three times before it is made again.
            "spark.shuffle.io.retryWait": "1s",
        }


@dataclass(frozen=True, slots=True)
class Ended:
    """How a stage ended: the exit code of its job, and what it said."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Driver:
    """An application on the cluster, and the line on which it is told what to run."""

    lines: TextIO
    log: Path

    def run(self, **told: str) -> Ended:
        """Run a stage: `stage`, the file of `settings`, `window`, `run` and `now`."""
        self.lines.write(json.dumps(told) + "\n")
        self.lines.flush()
        answer = self.lines.readline()
        assert answer, f"the driver is gone: {self.log.read_text(errors='replace')[-4000:]}"
        return Ended(**json.loads(answer))


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a master and its workers."""
    python, wheel = python_of_workers(folder / "python"), build_wheel(folder / "wheel")
    with ExitStack() as stack:
        port = free_port()
        deploy = [str(SPARK / "spark-class"), "org.apache.spark.deploy"]
        told = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", str(free_port())]
        started = Process([deploy[0], f"{deploy[1]}.master.Master", *told], port, folder / "master.log", _LOCAL)
        master = stack.enter_context(started.running())
        workers = tuple(_worker(folder / f"worker{number}", port) for number in range(WORKERS))
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(stack.enter_context, [worker.running() for worker in workers]))
        yield Cluster(master, workers, wheel, python)


def _worker(folder: Path, master: int) -> Process:
    folder.mkdir()
    port = free_port()
    command = [
        *(str(SPARK / "spark-class"), "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1"),
        *("--port", str(port), "--webui-port", str(free_port()), "--cores", "1", "--memory", "1g"),
        *("--work-dir", str(folder / "work"), f"spark://127.0.0.1:{master}"),
    ]
    return Process(command, port, folder / "worker.log", {**_LOCAL, **_NOBODY})


def build_wheel(folder: Path) -> Path:
    """Build the wheel as a release does; Spark takes it as the zip that it is."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(ROOT)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel.rename(wheel.with_suffix(".zip"))


def python_of_workers(folder: Path) -> Path:
    """A Python that has the packages of this one, and not Retable."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    # A path in such a file is taken as it is: that Retable is installed there as an editable is not followed.
    (packages / "packages.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    found = subprocess.run(
        [str(python), "-c", "import pyiceberg, retable"], capture_output=True, text=True, check=False
    )
    assert "No module named 'retable'" in found.stderr
    return python
