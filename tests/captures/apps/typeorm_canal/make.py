"""Makes the stream and the truth beside it: `python make.py OUT_FOLDER [WORK_FOLDER]`.

Wants MariaDB 10.11, Java 11 or newer, Maven, Node and npm on the machine, and PyMySQL. A work folder that is named is
kept, with what was fetched into it.
"""

import json
import logging
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pymysql
from row_writer import RowWriter

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from server_tables import write_compressed, write_tables  # noqa: E402  # it stands in the folder above

SEED = 20260117
TOPIC = "app"
MARKER = "flowise.wl_marker"
OTHERS = 2
EVERY = 1000
MOST_WAIT_S = 120
CANAL = "1.1.7"

log = logging.getLogger("make")


APPLICATION = "flowise"
VERSION = "3.1.4"
NEEDS = {"typeorm": "0.3.28", "mysql2": "3.11.3", "uuid": "9.0.1"}
CLOSED = frozenset({"migrations", "wl_marker"})


def make(out: Path, work: Path) -> None:
    """Make everything from nothing."""
    fetch_application(work)
    classpath = fetch_canal(work)
    with ExitStack() as running:
        port = running.enter_context(mariadb(work))
        root = connect(port)
        prepare(root)
        lines = running.enter_context(canal(port, root, classpath, work))
        run_steps(root, port, work)
        write_tables(port, APPLICATION, out / "truth" / "final")
        execute(root, f"INSERT INTO {MARKER} VALUES (999999, 'END')")
        write_stream(lines, out / "stream.jsonl.gz")


# --- fetching --------------------------------------------------------------------------------------------------------


def fetch_application(work: Path) -> None:
    """Fetch the package that has the migrations, without what it needs itself, and TypeORM to run them."""
    folder = work / APPLICATION
    if folder.exists():
        return
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": NEEDS}))
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--omit=optional", "--silent"]
    subprocess.run(["npm", "install", *quiet], cwd=folder, check=True)
    pack = ["npm", "pack", "--silent", f"{APPLICATION}@{VERSION}"]
    subprocess.run(pack, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    shutil.unpack_archive(archive, folder)
    (folder / "package").rename(folder / "node_modules" / APPLICATION)


def fetch_canal(work: Path) -> str:
    """Fetch Canal's jars, compile the capture, and give the class path of both."""
    folder = work / "canal"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "lib").exists():
        dependencies = "".join(
            f"<dependency><groupId>com.alibaba.otter</groupId><artifactId>{name}</artifactId>"
            f"<version>{CANAL}</version></dependency>"
            for name in ("canal.server", "connector.core")
        )
        (folder / "pom.xml").write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>capture</groupId>"
            f"<artifactId>capture</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
        )
        copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory=lib"]
        subprocess.run(["mvn", "-q", "-B", *copy], cwd=folder, check=True)
    source = HERE / "CanalCapture.java"
    subprocess.run(["javac", "-cp", f"{folder}/lib/*", "-d", folder / "classes", source], check=True)
    return f"{folder}/classes:{folder}/lib/*"


# --- what runs -------------------------------------------------------------------------------------------------------


@contextmanager
def mariadb(work: Path) -> Iterator[int]:
    """Run a MariaDB of our own on a free port, with nothing in it."""
    data = work / "data"
    shutil.rmtree(data, ignore_errors=True)
    user = ["--user=root"] if os.geteuid() == 0 else []
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal"]
    subprocess.run([*install, *user], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "skip-name-resolve": 1,
        "datadir": data,
        "port": port,
        "bind-address": "127.0.0.1",
        "socket": data / "s",
        "tmpdir": data,
        "server-id": 11,
    }
    options |= {"log-bin": "binlog", "binlog-format": "ROW", "binlog-row-image": "FULL", "default-time-zone": "+00:00"}
    options |= {"character-set-server": "utf8mb4", "innodb-buffer-pool-size": "128M"}
    command = ["mariadbd", "--no-defaults", *user, *(f"--{name}={value}" for name, value in options.items())]
    with (work / "mariadb.log").open("wb") as errors, stopping(subprocess.Popen(command, stderr=errors)):
        yield port


@contextmanager
def canal(port: int, root: "pymysql.Connection[Any]", classpath: str, work: Path) -> Iterator[Path]:
    """Run Canal from where the binlog ends now; gives the file that its messages go to."""
    ((file, position, *_),) = execute(root, "SHOW MASTER STATUS")
    out = work / "canal.out"
    command = ["java", "-Xmx512m", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", "-cp", classpath, "CanalCapture"]
    command += [str(port), file, str(position), str(out)]
    with (work / "canal.log").open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=errors, stderr=errors)
        with stopping(process):
            yield out


@contextmanager
def stopping(process: "subprocess.Popen[Any]") -> Iterator[None]:
    """End a process that we started when the block ends."""
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def connect(port: int) -> "pymysql.Connection[Any]":
    """Connect as root as soon as the server answers."""
    until = time.monotonic() + MOST_WAIT_S
    while True:
        try:
            return pymysql.connect(
                host="127.0.0.1",
                port=port,
                user="root",
                charset="utf8mb4",
                autocommit=True,
                init_command="SET time_zone='+00:00'",
            )
        except pymysql.MySQLError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def execute(connection: "pymysql.Connection[Any]", sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Run a statement and give its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, values or None)
        return list(cursor.fetchall())


def prepare(root: "pymysql.Connection[Any]") -> None:
    """Make the account that the applications and Canal use, before the stream begins."""
    execute(root, "CREATE USER 'capture'@'%' IDENTIFIED BY 'capture'")
    execute(root, "GRANT ALL PRIVILEGES ON *.* TO 'capture'@'%'")


# --- the steps -------------------------------------------------------------------------------------------------------


class Migrations:
    """The migrations, which `migrate.js` runs one by one."""

    def __init__(self, port: int, work: Path) -> None:
        folder = work / APPLICATION
        self._errors = (work / f"{APPLICATION}.log").open("wb")
        self.process = subprocess.Popen(
            ["node", HERE / "migrate.js", folder, str(port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | {"NODE_ENV": "test", "TZ": "UTC"},
            text=True,
        )
        self.names: list[str] = self._read()["names"]

    def run_next(self) -> None:
        """Run the next one."""
        _pipe(self.process.stdin).write("\n")
        _pipe(self.process.stdin).flush()
        name = self.names.pop(0)
        answer = self._read()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        if answer["name"] != name:
            raise RuntimeError(f"{answer['name']} ran, not {name}")

    def _read(self) -> dict[str, Any]:
        for line in _pipe(self.process.stdout):
            if line.startswith(">"):
                answer: dict[str, Any] = json.loads(line[1:])
                return answer
        raise RuntimeError("the migrations ended")


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise RuntimeError("no pipe")
    return pipe


def run_steps(root: "pymysql.Connection[Any]", port: int, work: Path) -> None:
    """Run the migrations, with rows and a marker after each."""
    execute(root, f"CREATE DATABASE {APPLICATION} CHARACTER SET utf8mb4")
    execute(root, f"CREATE TABLE {MARKER} (id INT PRIMARY KEY, label VARCHAR(40))")
    writer = RowWriter(root, SEED, HINTS)
    migrations, number = Migrations(port, work), 0
    with stopping(migrations.process):
        while migrations.names:
            number += 1
            log.info("step %d: %s", number, migrations.names[0])
            migrations.run_next()
            writer.write(APPLICATION, CLOSED, OTHERS)
            execute(root, f"INSERT INTO {MARKER} VALUES (%s, %s)", (number, f"step_{number}"))
        writer.write(APPLICATION, CLOSED, EVERY)
    execute(root, f"INSERT INTO {MARKER} VALUES (%s, 'final')", (number + 1,))


def _draw_name(draw: random.Random) -> str:
    return f"{draw.getrandbits(64):016x}"


HINTS = {
    "chatflowid": _draw_name,
    "pageContent": _draw_name,
    "status": lambda draw: draw.choice(("new", "success", "error")),
    "type": lambda draw: draw.choice(("CHATFLOW", "MULTIAGENT", "ASSISTANT")),
    "role": lambda draw: draw.choice(("apiMessage", "userMessage")),
}
"""What some columns of text hold, by their name."""


# --- what is kept ----------------------------------------------------------------------------------------------------


def write_stream(lines: Path, target: Path) -> None:
    """Wait for the last marker, then write what Canal wrote as records."""
    until = time.monotonic() + MOST_WAIT_S
    while b'"label":"END"' not in lines.read_bytes():
        if time.monotonic() > until:
            raise RuntimeError("Canal has not come to the end")
        time.sleep(0.2)
    records = []
    for offset, line in enumerate(lines.read_text(encoding="utf-8").split("\n")[:-1]):
        clock, _, value = line.partition("\t")
        record = {"topic": TOPIC, "partition": 0, "offset": offset, "timestamp": int(clock)}
        records.append(record | {"key": None, "value": value, "headers": []})
    write_compressed(target, "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))


def main() -> None:
    """Read the arguments."""
    logging.basicConfig(level=logging.INFO, format="%(relativeCreated)d ms %(message)s")
    out = Path(sys.argv[1]).resolve()
    if len(sys.argv) > 2:
        make(out, Path(sys.argv[2]).resolve())
        return
    with tempfile.TemporaryDirectory() as work:
        make(out, Path(work))


if __name__ == "__main__":
    main()
