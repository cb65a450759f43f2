"""PostgreSQL as Airflow's database: a cluster of the tests' own, on loopback, in a folder of its own."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg2

_READY_SECONDS = 60
_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@contextmanager
def postgres() -> Iterator[str]:
    """Start it, and give the address of an empty database as SQLAlchemy takes it."""
    port, user = free_port(), _user()
    # Not in pytest's own folder, into which no other user may look.
    folder = Path(tempfile.mkdtemp(prefix="retable-postgres-"))
    data = folder / "data"
    data.mkdir()
    if user is not None:
        shutil.chown(data, user)
        shutil.chown(folder, user)
    made = ["--auth=trust", "--username=airflow", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run([_program("initdb"), "-D", data, *made], user=user, cwd="/", check=True, capture_output=True)
    options = [part for each in _QUICK for part in ("-c", each)]
    server = subprocess.Popen(
        [_program("postgres"), "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", "", *options],
        user=user,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _create(port, server)
        yield f"postgresql+psycopg2://airflow@127.0.0.1:{port}/airflow"
    finally:
        # Components may still be connected: `fast` in the words of its own manual.
        server.send_signal(signal.SIGINT)
        server.wait(_READY_SECONDS)
        shutil.rmtree(folder)


def free_port() -> int:
    """A port of loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _create(port: int, server: subprocess.Popen[bytes]) -> None:
    last = time.monotonic() + _READY_SECONDS
    while True:
        assert server.poll() is None, "PostgreSQL ended at once"
        try:
            connection = psycopg2.connect(host="127.0.0.1", port=port, user="airflow", dbname="postgres")
            break
        except psycopg2.OperationalError:
            assert time.monotonic() < last, "PostgreSQL does not answer"
            time.sleep(0.2)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE airflow")
    connection.close()


def _program(name: str) -> str:
    found = [shutil.which(name), *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), reverse=True)]
    paths = [path for path in found if path]
    assert paths, f"{name} is missing: `apt install postgresql` brings it"
    return paths[-1]


def _user() -> str | None:
    """PostgreSQL does not run as root: then it runs as the user that its package made."""
    return None if os.getuid() else pwd.getpwnam("postgres").pw_name
