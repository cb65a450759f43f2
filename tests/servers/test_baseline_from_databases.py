"""Full copies out of running databases: exact values, by ranges of the key, and gone on with where they broke off."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.cli.run import baseline
from retable.errors import InvalidSetting, NotFound
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_baselines
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.onboard.baseline import database_copies
from retable.onboard.baseline.copies import Copy
from retable.onboard.baseline.database_copies import open_table
from retable.onboard.baseline.pieces import Target, land_baseline
from retable.session import build_session
from retable.settings.load import Settings, load_settings
from servers.processes import Process
from servers.stores import PASSWORD, USER, Postgres
from servers.test_schemas_of_databases import certificates, mariadb  # noqa: F401  # fixtures are found by name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SETTINGS = """
[lake]
catalog = "sqlite:///lake.db"
warehouse = "lake"

[sources.copied]
kind = "files"
format = "streamx_json"
path = "landing"
layout = "kafka_dump"
source_system = "{system}"
"""
EVERY_TYPE_OF_MYSQL = """
CREATE TABLE every.type (
  a VARCHAR(9) COLLATE utf8mb4_bin NOT NULL, b BIGINT UNSIGNED NOT NULL, c DECIMAL(12,2) NOT NULL,
  tiny TINYINT, whole INT UNSIGNED, exact DECIMAL(38,10), wide DECIMAL(50,5), single FLOAT, twice DOUBLE, flag BIT(1),
  bits BIT(20), day DATE, at DATETIME(6), zoned TIMESTAMP(3) NULL, length TIME(2), year YEAR, raw VARBINARY(9),
  doc JSON,  mood ENUM('x', 'y'), place POINT, PRIMARY KEY (a, b, c)) CHARSET utf8mb4"""
ROWS_OF_MYSQL = [
    "('b', 18446744073709551615, 1.10, -7, 4294967295, 1234567890123456789012345678.0123456789, -1.5, 16777217, 0.1,"
    " b'1', b'101', '0000-00-00', '2026-03-01 05:06:07.000008', '2026-03-01 05:06:07.123', '-838:59:59.5', 2026,"
    " x'00ff', '{\"k\": 1}', 'y', POINT(1, 2))",
    "('b', 9007199254740993, 1.10, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,"
    " NULL, NULL, NULL)",
    "('b', 9007199254740992, 1.10, 1, 1, 1, 1, 1e-3, 1e300, b'0', b'0', '1000-01-01', '9999-12-31 23:59:59.999999',"
    " '1970-01-01 00:00:01', '00:00:00', 1901, '', '[]', 'x', NULL)",
    "('b', 9007199254740993, 1.09, 1, 1, 1, 1, 1, 1, b'0', b'0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "('B', 5, 0, 1, 1, 1, 1, 1, 1, b'0', b'0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    "('a%', 5, 0, 1, 1, 1, 1, 1, 1, b'0', b'0', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
]
EVERY_TYPE_OF_POSTGRESQL = """
CREATE TABLE public."Every" (
  at timestamp NOT NULL, id uuid NOT NULL, n numeric(12,3), free numeric, r real, d double precision, b boolean,
  day date, zoned timestamptz, t time, note text, raw bytea, doc jsonb, tags text[], gone interval,
  PRIMARY KEY (at, id));
INSERT INTO public."Every" VALUES
  ('2026-03-01 05:06:07.000008', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 1.5, 1e30, 0.1, 0.1, true, '2026-03-01',
   '2026-03-01 05:06:07.1+08', '10:00:00.5', E'line\\n''%s', '\\x00ff', '{"k": 1}', '{a,b}', '1 day 02:00:00'),
  ('2026-03-01 05:06:07.000008', 'b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'NaN', 'NaN', 'NaN', '-infinity', false,
   'infinity', 'infinity', NULL, '', '', 'null', '{}', NULL),
  ('2026-02-01', 'c0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL, NULL);
GRANT SELECT ON public."Every" TO lake;
"""


def execute(port: int, *statements: str) -> None:
    engine = sa.create_engine(f"mysql+pymysql://root@127.0.0.1:{port}/", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("%", "%%"))
    engine.dispose()


def rows_of(copy: Copy) -> list[dict[str, Any]]:
    return [json.loads(text) for batch in copy.batches() for text in json_rows(batch)]


def check_behind(copy: Copy, rows: list[dict[str, Any]]) -> None:
    """Behind every row come just those that come behind it."""
    assert copy.behind is not None
    for at, row in enumerate(rows):
        assert [json.loads(text) for batch in copy.behind(row) for text in json_rows(batch)] == rows[at + 1 :]


@pytest.mark.parametrize("at_once", [1, 2, 5_000])
def test_values_of_a_mariadb_come_exactly_and_by_every_range(
    mariadb: Process,  # noqa: F811  # pytest finds a fixture by its name
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
) -> None:
    monkeypatch.setattr(database_copies, "_ROWS", at_once)
    reset = ("DROP DATABASE IF EXISTS every", "CREATE DATABASE every", "SET time_zone = '+00:00'")
    execute(mariadb.port, *reset, EVERY_TYPE_OF_MYSQL, f"INSERT INTO every.type VALUES {', '.join(ROWS_OF_MYSQL)}")
    address = f"jdbc:mysql://127.0.0.1:{mariadb.port}/every?user=root"
    copy, schema, keys = open_table(address, None, TableName("every", None, "type"))
    assert (keys, schema.place is None) == (("a", "b", "c"), False)
    rows = rows_of(copy)
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [
        ("B", "5", "0.00"),
        ("a%", "5", "0.00"),
        ("b", "9007199254740992", "1.10"),
        ("b", "9007199254740993", "1.09"),
        ("b", "9007199254740993", "1.10"),
        ("b", "18446744073709551615", "1.10"),
    ]
    del rows[-1]["place"]
    assert rows[-1] == {
        "a": "b",
        "b": "18446744073709551615",
        "c": "1.10",
        "tiny": -7,
        "whole": 4294967295,
        "exact": "1234567890123456789012345678.0123456789",
        "wide": "-1.50000",
        "single": 16777216.0,
        "twice": 0.1,
        "flag": True,
        "bits": 5,
        "day": "0000-00-00",
        "at": "2026-03-01T05:06:07.000008",
        "zoned": "2026-03-01T05:06:07.123Z",
        "length": "-838:59:59.50",
        "year": 2026,
        "raw": "AP8=",
        "doc": '{"k": 1}',
        "mood": "y",
    }
    assert set(rows[-2].values()) == {"b", "9007199254740993", "1.10", None}
    assert rows[2]["at"] == "9999-12-31T23:59:59.999999"
    check_behind(copy, rows_of(copy))


@pytest.mark.parametrize("at_once", [1, 5_000])
def test_values_of_a_postgresql_come_exactly_and_by_every_range(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(database_copies, "_ROWS", at_once)
    database, port = f"every_{at_once}", str(postgres.port)
    postgres.make_database(database)
    told = ("-h", "127.0.0.1", "-p", port, "-d", database, "-v", "ON_ERROR_STOP=1", "-c", EVERY_TYPE_OF_POSTGRESQL)
    postgres.run("psql", *told)
    address = f"jdbc:postgresql://127.0.0.1:{port}/{database}?user={USER}"
    copy, _, keys = open_table(address, PASSWORD, TableName(database, "public", "Every"))
    assert keys == ("at", "id")
    early, whole, odd = rows_of(copy)
    assert early["at"] == "2026-02-01T00:00:00"
    assert whole == {
        "at": "2026-03-01T05:06:07.000008",
        "id": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        "n": "1.500",
        "free": "1000000000000000000000000000000",
        "r": 0.1,
        "d": 0.1,
        "b": True,
        "day": "2026-03-01",
        "zoned": "2026-02-28T21:06:07.1Z",
        "t": "10:00:00.5",
        "note": "line\n'%s",
        "raw": "AP8=",
        "doc": '{"k": 1}',
        "tags": "{a,b}",
        "gone": "P1DT2H",
    }
    assert (odd["n"], odd["free"], odd["r"], odd["d"], odd["day"]) == ("NaN", "NaN", "NaN", "-Infinity", "infinity")
    check_behind(copy, rows_of(copy))


def test_tables_that_have_no_ranges_or_are_not_there_are_named(mariadb: Process) -> None:  # noqa: F811  # pytest finds a fixture by its name
    reset = ("DROP DATABASE IF EXISTS odd", "CREATE DATABASE odd")
    tables = ("CREATE TABLE odd.bag (a INT)", "CREATE TABLE odd.real_key (a DOUBLE PRIMARY KEY)")
    kinds = (
        "CREATE TABLE odd.kind (a INT, b ENUM('y', 'x'), PRIMARY KEY (a, b))",
        "CREATE TABLE odd.kinds (b SET('y', 'x') PRIMARY KEY)",
    )
    execute(mariadb.port, *reset, *tables, *kinds)
    address = f"jdbc:mysql://127.0.0.1:{mariadb.port}/odd?user=root"
    for table, error, words in (
        ("bag", InvalidSetting, "has no primary key"),
        ("real_key", InvalidSetting, "is a float; dump the table"),
        ("kind", InvalidSetting, r"MySQL orders the key column b \(enum\('y','x'\)\) by number"),
        ("kinds", InvalidSetting, r"\(set\('y','x'\)\) by number"),
        ("bags", NotFound, "did you mean 'odd.bag'"),
    ):
        with pytest.raises(error, match=words):
            open_table(address, None, TableName("odd", None, table))


class BrokenOff(Exception):
    """The database went away."""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    (tmp_path / "retable.toml").write_text(SETTINGS.format(system="mysql"), encoding="utf-8")
    return open_lake(load_settings(tmp_path / "retable.toml"))


def test_a_copy_that_broke_off_goes_on_behind_its_last_row_whatever_was_written_meanwhile(
    mariadb: Process,  # noqa: F811  # pytest finds a fixture by its name
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database_copies, "_ROWS", 10)
    reset = ("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)")
    execute(mariadb.port, *reset, f"INSERT INTO shop.orders VALUES {', '.join(f'({at})' for at in range(100))}")
    address = f"jdbc:mysql://127.0.0.1:{mariadb.port}/shop?user=root"
    name = TableName("shop", None, "orders")
    copy, _, keys = open_table(address, None, name)
    target = Target(
        source="copied", source_format="streamx_json", table=name, position=Sequence(0, 7, 0), part=None, keys=keys
    )

    def broken() -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(copy.batches()):
            if number == 4:
                raise BrokenOff
            yield batch

    with pytest.raises(BrokenOff):
        land_baseline(lake, target, replace(copy, batches=broken), NOW, lambda _: None, most=15)
    landed = [row.window for row in read_baselines(lake, "copied")]
    assert landed
    execute(mariadb.port, "DELETE FROM shop.orders WHERE id < 5 OR id > 95", "INSERT INTO shop.orders VALUES (-3)")
    asked: list[dict[str, object]] = []
    again, _, _ = open_table(address, None, name)
    assert again.behind is not None
    behind: Callable[[Any], Iterator[pa.RecordBatch]] = again.behind

    def noted(row: Any) -> Iterator[pa.RecordBatch]:
        asked.append(dict(row))
        return behind(row)

    pieces = land_baseline(lake, target, replace(again, behind=noted), NOW, lambda _: None, most=15)
    assert asked == [{"id": 15 * len(landed) - 1}]
    assert [piece.window for piece in pieces][: len(landed)] == landed
    assert [piece.last for piece in pieces] == [*[False] * (len(pieces) - 1), True]
    stored = lake.load("silver.copied").scan(selected_fields=("after", "sequence")).to_arrow().to_pylist()
    assert sorted(json.loads(row["after"])["id"] for row in stored) == list(range(96))
    assert len({row["sequence"]["lo"] for row in stored}) == 96
    assert land_baseline(lake, target, again, NOW, lambda _: None, most=15) == pieces


@pytest.mark.slow
def test_a_table_starts_from_its_database_by_the_command_line(
    mariadb: Process,  # noqa: F811  # pytest finds a fixture by its name
    lake: Lake,
    tmp_path: Path,
    spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)

    @contextmanager
    def running(settings: Settings) -> Iterator["SparkSession"]:
        yield build_session(settings, "retable tests")

    monkeypatch.setattr(baseline, "running_spark", running)
    reset = ("DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop")
    table = "CREATE TABLE shop.orders (id INT PRIMARY KEY, price DECIMAL(9,2), at DATETIME, note VARCHAR(9))"
    rows = ", ".join(f"({at}, {at}.25, '2026-03-01 05:06:07', 'n{at}')" for at in range(30))
    execute(mariadb.port, *reset, table, f"INSERT INTO shop.orders VALUES {rows}")
    address = f"jdbc:mysql://127.0.0.1:{mariadb.port}/shop?user=root"

    def retable(*words: str) -> Result:
        return CliRunner().invoke(app, words, prog_name="retable")

    assert retable("schema", "import", "copied", "--from", address, "--at", "start").exit_code == 0
    unsaid = retable("baseline", "gold_shop.orders", "--from", address)
    assert unsaid.exit_code == 1
    assert "the position of the schema is not known" in unsaid.stderr
    done = retable("baseline", "gold_shop.orders", "--from", address, "--at", "0:100")
    assert done.exit_code == 0, done.output
    shown = retable("rows", "gold_shop.orders").stdout.splitlines()
    assert sorted(map(json.loads, shown), key=lambda row: row["id"]) == [
        {"id": at, "price": f"{at}.25", "at": "2026-03-01T05:06:07.000000", "note": f"n{at}"} for at in range(30)
    ]
