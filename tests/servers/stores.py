"""The catalogs and the store that tests start: PostgreSQL, Iceberg's REST catalog, and a store that speaks S3."""

import getpass
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from get_servers import rest_classpath
from servers_store import install_store

from servers.processes import QUICK, Process, free_port, listens

KEY, SECRET, REGION = "retable-tests", "S3CR3T-xyz", "us-east-1"
PASSWORD = "S3CR3T-pgpass"
USER = "lake"
VARIABLES = {"LAKE_KEY": KEY, "LAKE_SECRET": SECRET, "LAKE_PASSWORD": PASSWORD}
"""What the settings of these tests name; what is in them is secret, and nothing may show it."""

AWS = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
"""The same by AWS's own names."""

_STORE = """\
s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={key}
s3proxy.credential={secret}
s3proxy.ignore-unknown-headers=true
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={objects}
jclouds.identity=of-files
jclouds.credential=of-files
"""


@lru_cache
def client(port: int, service: str = "s3") -> Any:
    """A client of the store at a port, for what tests put there and look at."""
    return boto3.client(
        service,
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name=REGION,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        config=Config(s3={"addressing_style": "path"}),
    )


def drop_databases(glue: Any) -> None:
    """Empty the one catalog that Glue has for an account: the lakes of earlier tests stand in it too."""
    for page in glue.get_paginator("get_databases").paginate():
        for database in page["DatabaseList"]:
            name = database["Name"]
            for tables in glue.get_paginator("get_tables").paginate(DatabaseName=name):
                for table in tables["TableList"]:
                    glue.delete_table(DatabaseName=name, Name=table["Name"])
            glue.delete_database(Name=name)


@contextmanager
def moto_server(folder: Path) -> Iterator[Process]:
    """S3 and Glue in the memory of a process."""
    port = free_port()
    command = [Path(sys.executable).with_name("moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with Process(command, port, folder / "moto.log").running() as server:
        yield server


PLAIN_CHECKSUMS = {"AWS_REQUEST_CHECKSUM_CALCULATION": "when_required"}
"""What clients of the store on a disk are told: it does not know the newest kind of checksums."""


@contextmanager
def store_on_disk(folder: Path) -> Iterator[Process]:
    """S3 alone, whose objects are files of a folder: killed and started again, it has them still."""
    objects, told, port = folder / "objects", folder / "store.properties", free_port()
    objects.mkdir()
    told.write_text(_STORE.format(port=port, objects=objects, key=KEY, secret=SECRET), encoding="utf-8")
    command = ["java", "-Xmx256m", *QUICK, "-jar", install_store(), "--properties", told]
    with Process(command, port, folder / "store.log").running() as server:
        yield server


@dataclass(frozen=True, slots=True)
class Postgres:
    """A PostgreSQL with a database `lake` and its user, who has a password."""

    server: Process
    folder: Path

    @property
    def port(self) -> int:
        return self.server.port

    def make_database(self, name: str) -> None:
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-O", USER, name)

    def run(self, program: str, *arguments: str) -> str:
        """Run one of its programs as its own user, who needs no password."""
        command = [*_as_owner(), str(_programs() / program), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder).stdout


@contextmanager
def postgres_server(folder: Path) -> Iterator[Postgres]:
    """A PostgreSQL of the tests' own, with its files under a folder that its user may enter."""
    data, port = folder / "data", free_port()
    folder.chmod(0o755)
    data.mkdir()
    if _as_owner():
        shutil.chown(data, "postgres")
    as_owner = [*_as_owner(), str(_programs() / "initdb")]
    subprocess.run([*as_owner, "-D", str(data), "-A", "trust", "-N"], check=True, capture_output=True, cwd=folder)
    (data / "pg_hba.conf").write_text(
        f"host all {USER} 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n", encoding="utf-8"
    )
    command = [
        *_as_owner(),
        *(str(_programs() / "postgres"), "-D", str(data), "-p", str(port), "-c", "listen_addresses=127.0.0.1"),
        *("-c", "unix_socket_directories=", "-c", "fsync=off"),
    ]
    with Process(command, port, folder / "postgres.log", {}, _takes_queries).running() as server:
        postgres = Postgres(server, folder)
        sql = f"CREATE USER {USER} PASSWORD '{PASSWORD}'"
        postgres.run("psql", "-h", "127.0.0.1", "-p", str(port), "-d", "postgres", "-c", sql)
        yield postgres


@contextmanager
def rest_server(folder: Path, warehouse: str, store: int) -> Iterator[Process]:
    """Iceberg's REST catalog: its own tables are in a file of SQLite, the lake's metadata in the warehouse."""
    port = free_port()
    in_store = warehouse.startswith("s3://")
    told = [f"uri=jdbc:sqlite:{folder / 'rest.db'}?busy_timeout=30000", f"warehouse={warehouse}"]
    if in_store:
        told += ["io-impl=org.apache.iceberg.aws.s3.S3FileIO", "s3.path-style-access=true"]
        told += [f"s3.endpoint=http://127.0.0.1:{store}"]
    command = ["java", "-Xmx256m", *QUICK, "-cp", rest_classpath(), "RestCatalogOnLoopback", str(port), *told]
    with Process(command, port, folder / "rest.log", AWS).running() as server:
        yield server


def _programs() -> Path:
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=Path("/usr/bin"))


def _as_owner() -> list[str]:
    """PostgreSQL refuses to run as root."""
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if getpass.getuser() == "root" else []


def _takes_queries(port: int) -> bool:
    ready = [str(_programs() / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]
    return listens(port) and subprocess.run(ready, check=False, env=dict(os.environ)).returncode == 0
