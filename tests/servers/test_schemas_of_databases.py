"""Schemas of running databases: as their own catalogues have them, and as their own tools dump them."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from onboard.schemas import genuine
from retable.ddl.registry import gold_type
from retable.errors import ConflictError
from retable.model.event import TableName
from retable.onboard.schema.databases import read_database
from retable.onboard.schema.dumps import read_dump
from retable.onboard.schema.tables import Schema
from servers.processes import Process, free_port
from servers.stores import PASSWORD, USER, Postgres

EVERY_TYPE = """
CREATE SCHEMA hr;
CREATE TYPE hr.mood AS ENUM ('a', 'b');
CREATE TABLE hr."Emp" (
  id bigint NOT NULL, part int NOT NULL, s smallint, n numeric(12,3), free numeric, r real, d double precision,
  b boolean DEFAULT true, day date, at timestamp(3), zoned timestamptz, t time, note varchar(20) DEFAULT 'it''s',
  raw bytea, doc jsonb, key uuid, tags text[], mood hr.mood, bits bit(3), made timestamp DEFAULT now(),
  PRIMARY KEY (part, id) INCLUDE (s, note));
COMMENT ON COLUMN hr."Emp".note IS 'what they say';
"""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of 127.0.0.1 with the authority that signed it, and another authority."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(words: str) -> None:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)

    (folder / "names").write_text("subjectAltName=IP:127.0.0.1")
    for name in ("ca", "other"):
        openssl(f"req -x509 -newkey rsa:2048 -nodes -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}")
    openssl("req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=server")
    openssl("x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile names -out server.pem -days 2")
    return folder


@pytest.fixture(scope="module")
def mariadb(certificates: Path) -> Iterator[Process]:
    """A MariaDB with TLS whose databases have the genuine tables."""
    folder = Path(tempfile.mkdtemp(prefix="retable-mariadb-"))
    data, port = folder / "data", free_port()
    as_user = ["--user=root"]
    install = ["mariadb-install-db", *as_user, f"--datadir={data}", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, capture_output=True)
    command = ["mariadbd", *as_user, f"--datadir={data}", "--bind-address=127.0.0.1", f"--port={port}"]
    command += [f"--socket={folder}/s", "--log-bin=bin", "--server-id=11", "--sql-mode=", f"--pid-file={folder}/pid"]
    authority, own, key = (certificates / name for name in ("ca.pem", "server.pem", "server.key"))
    command += [f"--ssl-ca={authority}", f"--ssl-cert={own}", f"--ssl-key={key}"]
    try:
        with Process(command, port, folder / "mariadb.log").running() as server:
            _load(port)
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _load(port: int) -> None:
    engine = sa.create_engine(f"mysql+pymysql://root@127.0.0.1:{port}/")
    with engine.connect() as connection:
        for name, facts in genuine().items():
            database = name.partition(".")[0]
            connection.exec_driver_sql(f"CREATE DATABASE IF NOT EXISTS `{database}`")
            connection.exec_driver_sql(f"USE `{database}`")
            connection.exec_driver_sql(str(facts["create"]).replace("%", "%%"))
    engine.dispose()


def shape(schema: Schema) -> dict[str, tuple[list[tuple[str, str]], tuple[str, ...]]]:
    return {
        str(name): ([(column.name, column.source_type) for column in told.table.columns], told.table.keys)
        for name, told in schema.tables.items()
    }


def test_a_mariadb_tells_its_tables_as_its_dump_does(mariadb: Process, tmp_path: Path) -> None:
    address = f"jdbc:mysql://127.0.0.1:{mariadb.port}/?user=root"
    told = read_database(address, None)
    assert not told.unread
    assert shape(told).keys() == genuine().keys()
    assert told.place is not None
    dump = ["mariadb-dump", "--no-defaults", "-h", "127.0.0.1", "-P", str(mariadb.port), "-u", "root"]
    options = ["--databases", *sorted({name.partition(".")[0] for name in genuine()}), "--master-data=2"]
    text = subprocess.run([*dump, *options], check=True, capture_output=True).stdout
    (tmp_path / "dump.sql").write_bytes(text)
    dumped = read_dump(tmp_path / "dump.sql")
    assert not dumped.unread
    assert shape(dumped) == shape(told)
    assert dumped.place == told.place


def test_a_postgresql_tells_types_keys_defaults_and_comments(postgres: Postgres) -> None:
    postgres.make_database("people")
    port = str(postgres.port)
    postgres.run("psql", "-h", "127.0.0.1", "-p", port, "-d", "people", "-v", "ON_ERROR_STOP=1", "-c", EVERY_TYPE)
    postgres.run("psql", "-h", "127.0.0.1", "-p", port, "-d", "people", "-c", f"GRANT USAGE ON SCHEMA hr TO {USER}")
    schema = read_database(f"jdbc:postgresql://127.0.0.1:{port}/people?user={USER}", PASSWORD)
    told = schema.tables[TableName("people", "hr", "Emp")].table
    assert told.keys == ("part", "id")
    kinds = {column.name: gold_type("postgresql", column.source_type) for column in told.columns}
    assert {name: str(kind) for name, kind in kinds.items() if kind} == {
        "id": "long",
        "part": "int",
        "s": "int",
        "n": "decimal(12,3)",
        "free": "string",
        "r": "float",
        "d": "double",
        "b": "boolean",
        "day": "date",
        "at": "timestamp",
        "zoned": "timestamptz",
        "t": "string",
        "note": "string",
        "raw": "binary",
        "doc": "string",
        "key": "string",
        "made": "timestamp",
    }
    columns = {column.name: column for column in told.columns}
    assert (columns["note"].default, columns["note"].comment) == ("it's", "what they say")
    assert columns["made"].computed
    assert columns["id"].not_null


def test_a_database_that_refuses_is_an_error_to_try_again(postgres: Postgres) -> None:
    with pytest.raises(ConflictError, match="check address, user and password"):
        read_database(f"jdbc:postgresql://127.0.0.1:{postgres.port}/postgres?user={USER}", "wrong")


def test_a_server_is_verified_as_its_address_asks(mariadb: Process, certificates: Path) -> None:
    def read(host: str, options: str) -> Schema:
        return read_database(f"jdbc:mysql://{host}:{mariadb.port}/?user=root&{options}", None)

    ours, others = certificates / "ca.pem", certificates / "other.pem"
    for mode in ("REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"):
        assert read("127.0.0.1", f"sslMode={mode}&ssl_ca={ours}").tables
    assert read("localhost", f"sslMode=VERIFY_CA&ssl_ca={ours}").tables
    with pytest.raises(ConflictError, match="certificate is not valid for 'localhost'|doesn't match|mismatch"):
        read("localhost", f"sslMode=VERIFY_IDENTITY&ssl_ca={ours}")
    with pytest.raises(ConflictError, match="certificate verify failed"):
        read("127.0.0.1", f"sslMode=VERIFY_CA&ssl_ca={others}")


def test_a_server_without_tls_is_refused_where_the_address_asks_for_it(postgres: Postgres) -> None:
    for option in ("sslmode=require", "ssl=true"):
        with pytest.raises(ConflictError, match="SSL|root certificate|certificate"):
            read_database(f"jdbc:postgresql://{USER}@127.0.0.1:{postgres.port}/postgres?{option}", PASSWORD)
