"""Makes the capture from nothing: python make.py OUT_FOLDER [WORK_FOLDER].

It needs Python, Java 17, Maven and MariaDB's server on the machine; all else comes from the registries, with pinned
versions. The work folder (a temporary one if none is named) must be empty or one that an earlier run has filled.
"""

import getpass
import gzip
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
OPTIONS = """\
name=capture
connector.class=io.debezium.connector.mariadb.MariaDbConnector
database.hostname=127.0.0.1
database.port={port}
database.user=capture
database.password=capture
database.server.id=5401
topic.prefix=app
include.schema.changes=true
heartbeat.interval.ms=3000
schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
schema.history.internal.file.filename={work}/history.jsonl
offset.storage=org.apache.kafka.connect.storage.FileOffsetBackingStore
offset.storage.file.filename={work}/offsets
offset.flush.interval.ms=10000
key.converter.schemas.enable=false
value.converter.schemas.enable=false
header.converter.schemas.enable=false
"""
FIRST = """\
CREATE USER capture@'127.0.0.1' IDENTIFIED BY 'capture';
GRANT ALL ON *.* TO capture@'127.0.0.1';
CREATE DATABASE site CHARACTER SET utf8mb4;
CREATE TABLE site.wl_marker (id INT PRIMARY KEY, label VARCHAR(40));
"""


def main(out: Path, work: Path) -> None:
    """Fetch the software, run the migrations under capture, and write stream and truth into a folder."""
    python = _fetch(work)
    for name in ("data", "temporary", "history.jsonl", "offsets", "stream.jsonl"):
        shutil.rmtree(work / name) if (work / name).is_dir() else (work / name).unlink(missing_ok=True)
    shutil.rmtree(out / "truth" / "final", ignore_errors=True)
    stream = work / "stream.jsonl"
    with _server(work) as port, _capture(work, port, stream):
        _wait(lambda: _holds(stream, "wl_marker"), 60, "the snapshot")
        steps: list[str | Path] = [python, "-B", HERE / "steps.py", out / "truth" / "final", str(port)]
        subprocess.run(steps, check=True, timeout=1200, env={"PYTHONHASHSEED": "0", "PYTHONPATH": str(HERE.parent)})
        _wait(lambda: _holds(stream, '\\"label\\":\\"END\\"'), 120, "the end of the stream")
    (out / "stream.jsonl.gz").write_bytes(gzip.compress(stream.read_bytes(), 9, mtime=0))


def _fetch(work: Path) -> Path:
    """Fetch Python packages and jars, and compile the capture; give the Python that has the packages."""
    work.mkdir(parents=True, exist_ok=True)
    python = work / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", work / "venv"], check=True)
    pip: list[str | Path] = [python, "-m", "pip", "install", "-q", "--no-deps", "-r", HERE / "requirements.txt"]
    subprocess.run(pip, check=True, timeout=600)
    copied = f"-DoutputDirectory={work / 'jars'}"
    maven: list[str | Path] = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:copy-dependencies", copied]
    subprocess.run([*maven, "-DincludeScope=runtime"], check=True, timeout=600)
    jars = f"{work / 'jars'}/*"
    subprocess.run(["javac", "-cp", jars, "-d", work / "classes", HERE / "Capture.java"], check=True)
    return python


@contextmanager
def _server(work: Path) -> Iterator[int]:
    """Run a MariaDB of our own on a free port of the loopback, with the database that the application will use."""
    data, user = work / "data", f"--user={getpass.getuser()}"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", user, "--skip-test-db"]
    subprocess.run([*install, "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL)
    (work / "first.sql").write_text(FIRST)
    # A server that starts sweeps its folder of temporary tables, also those of another server that shares it.
    (work / "temporary").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = ["mariadbd", "--no-defaults", user, f"--datadir={data}", "--bind-address=127.0.0.1", f"--port={port}"]
    command += [f"--socket={work / 'socket'}", f"--pid-file={work / 'pid'}", "--server-id=11", "--log-bin=binlog"]
    command += ["--binlog-format=ROW", "--binlog-row-image=FULL", "--default-time-zone=+00:00"]
    command += ["--character-set-server=utf8mb4", f"--tmpdir={work / 'temporary'}", f"--init-file={work / 'first.sql'}"]
    with _process(command, work / "server.log") as server:
        _wait(lambda: _answers(port, server), 30, "the server")
        yield port


@contextmanager
def _capture(work: Path, port: int, stream: Path) -> Iterator[None]:
    """Run Debezium beside the server; it writes its records into a file."""
    (work / "capture.properties").write_text(OPTIONS.format(port=port, work=work))
    command = ["java", "-Xmx512m", "-cp", f"{work / 'classes'}:{work / 'jars'}/*", "Capture"]
    with _process([*command, str(work / "capture.properties"), str(stream)], work / "capture.log"):
        yield


@contextmanager
def _process(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as lines, subprocess.Popen(command, stdout=lines, stderr=lines) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


def _answers(port: int, server: "subprocess.Popen[bytes]") -> bool:
    if server.poll() is not None:
        raise RuntimeError("the server ended: see server.log")
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _holds(stream: Path, words: str) -> bool:
    return stream.exists() and words in stream.read_text(encoding="utf-8")


def _wait(ready: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.perf_counter() + seconds
    while not ready():
        if time.perf_counter() > end:
            raise TimeoutError(f"waited {seconds} s for {what}")
        time.sleep(0.5)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(sys.argv[1]).absolute(), Path(folder))
