"""Catalogs on a server that are lost or put back from an old copy, over a warehouse in a folder or in a bucket."""

from collections.abc import Callable
from pathlib import Path

import psycopg2
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from retable.cli.app import app
from retable.errors import CatalogMismatch
from retable.ledger.lake.catalog import open_lake, runs_behind
from retable.ledger.lake.identity import RECORD, read_record
from retable.ledger.lake.warehouse import Warehouse
from retable.ledger.runs import begin_run
from retable.session import build_session
from retable.settings.load import load_settings
from servers.lake_shop import LakeShop, Place, lake_text, shop_at
from servers.stores import PASSWORD

ROWS = "SELECT table_namespace, table_name, metadata_location FROM iceberg_tables"


def call(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(app, ["--settings", str(folder / "retable.toml"), *words], prog_name="retable")


def sql(shop: LakeShop, statement: str, *values: object) -> list[tuple[str, ...]]:
    """What PostgreSQL answers to a statement about the catalog's own tables."""
    server = str(shop.settings.lake.catalog)
    with psycopg2.connect(server, password=PASSWORD) as connection, connection.cursor() as cursor:
        cursor.execute(statement, values)
        rows: list[tuple[str, ...]] = cursor.fetchall() if cursor.description else []
    connection.close()
    return rows


def run(shop: LakeShop, spark: SparkSession, window: str) -> None:
    begin_run(shop.lake)
    shop.run(spark, window)
    begin_run(shop.lake)


@pytest.fixture(params=["postgresql folder", "postgresql s3"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, place: Callable[[str], Place]) -> LakeShop:
    return shop_at(tmp_path, place(request.param))


def test_a_lake_whose_catalog_on_postgresql_was_emptied_or_is_old_comes_back(
    shop: LakeShop, spark: SparkSession
) -> None:
    session = build_session(shop.settings, "retable tests")
    first, second, *others = shop.windows()
    run(shop, session, first)
    old = sql(shop, ROWS)
    run(shop, session, second)

    for row in old:
        statement = "UPDATE iceberg_tables SET metadata_location = %s WHERE table_namespace = %s AND table_name = %s"
        sql(shop, statement, row[2], row[0], row[1])
    refused = call(shop.folder, "upkeep")
    assert (refused.exit_code, "older than the warehouse" in refused.stderr) == (1, True), refused.output
    assert "older than the warehouse" in call(shop.folder, "status").stderr
    with pytest.raises(CatalogMismatch, match="older than the warehouse"):
        begin_run(shop.lake)
    done = call(shop.folder, "recover", "--yes")
    assert done.exit_code == 0, done.output
    assert "commits older" in done.stdout

    sql(shop, "DELETE FROM iceberg_tables")
    for words in (["status"], ["run", "shop"], ["tables"]):
        refused = call(shop.folder, *words)
        assert (refused.exit_code, "retable recover" in refused.stderr) == (1, True), (words, refused.output)
    assert call(shop.folder, "recover", "--yes").exit_code == 0
    for window in others:
        run(shop, session, window)
    assert shop.differences() == {}
    assert runs_behind(shop.lake) == 0


def test_a_backup_of_a_catalog_on_a_server_names_the_tool(shop: LakeShop, tmp_path: Path) -> None:
    begin_run(shop.lake)
    told = call(shop.folder, "backup", str(tmp_path / "saved"))
    assert told.exit_code == 1
    assert "pg_dump" in told.stderr


@pytest.mark.parametrize("named", ["sqlite s3", "rest folder", "rest s3", "glue s3"])
def test_other_catalogs_tell_an_old_lake_from_a_new_one(
    named: str, tmp_path: Path, place: Callable[[str], Place]
) -> None:
    shop = shop_at(tmp_path, place(named))
    begin_run(shop.lake)
    shop.lake.ensure("ops.actions")
    begin_run(shop.lake)
    record = read_record(Warehouse(shop.settings.lake))
    assert record is not None
    assert (record.place, record.run) == (str(shop.settings.lake.warehouse), 2)
    for name in shop.lake.names():
        shop.lake.catalog.drop_table(name)
    refused = call(tmp_path, "status")
    assert (refused.exit_code, "retable recover" in refused.stderr) == (1, True), refused.output
    done = call(tmp_path, "recover", "--yes")
    assert done.exit_code == 0, done.output
    lake = open_lake(shop.settings)
    assert "ops.actions" in lake.names()
    assert begin_run(lake) > 2


def test_a_lake_in_a_bucket_is_copied_and_gets_a_catalog_of_its_own(
    tmp_path: Path, place: Callable[[str], Place], spark: SparkSession
) -> None:
    there = place("sqlite s3")
    shop = shop_at(tmp_path, there)
    session = build_session(shop.settings, "retable tests")
    first, *others = shop.windows()
    run(shop, session, first)
    to = f"{there.warehouse}-copy"
    made = call(tmp_path, "copy", to)
    assert made.exit_code == 0, made.output
    assert f'warehouse = "{to}"' in made.stdout

    copy = tmp_path / "copy"
    copy.mkdir()
    text = (tmp_path / "retable.toml").read_text(encoding="utf-8")
    mine = Place("sqlite:///catalog.db", to, there.store)
    (copy / "retable.toml").write_text(text.replace(lake_text(there), lake_text(mine)), encoding="utf-8")
    settings = load_settings(copy / "retable.toml")
    assert Warehouse(settings.lake).read(RECORD) is not None
    filled = call(copy, "recover", "--yes")
    assert filled.exit_code == 0, filled.output
    other = LakeShop(copy, settings)
    beside = build_session(settings, "retable tests")
    for window in others:
        run(other, beside, window)
    assert other.differences() == {}
    run(shop, session, others[0])
