"""The catalog and the system tables, through pyiceberg alone."""

import errno
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from operator import is_
from pathlib import Path

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyiceberg.catalog.sql import SqlCatalogBaseTable
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.schema import CreateTable

from retable.errors import ConflictError, DamagedFile, EnvironmentFault, NotFound, SparkDied, Unavailable
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.error_translation import explained, spark_explained
from retable.ledger.lake.tables import OPS
from retable.ledger.read import read_actions
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows, append_to_loaded
from retable.settings.catalogs import PostgresCatalog
from retable.settings.storage import Bucket

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)


@pytest.fixture
def lake(lake_settings) -> Lake:
    return open_lake(lake_settings)


@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        ("bronze.erp", ["window"]),
        ("silver.erp", ["window", "kind"]),
        ("quarantine.erp", ["stage", "window"]),
        *((name, ["source"]) for name in OPS),
    ],
)
def test_a_system_table_is_made_where_it_is_missing(lake, name, partitions):
    table = lake.ensure(name)
    assert [field.name for field in table.spec().fields] == partitions
    assert table.metadata.format_version == 2
    assert lake.ensure(name).metadata.table_uuid == table.metadata.table_uuid


def test_what_a_commit_stages_shares_the_history_and_leaves_it_alone(lake):
    table = lake.ensure("ops.ledger")
    for _ in range(3):
        table.append(OPS["ops.ledger"].columns.empty_table())
    before = table.metadata.model_dump_json()
    with table.transaction() as transaction:
        transaction.append(OPS["ops.ledger"].columns.empty_table())
        transaction.set_properties(wanted="here")
        staged = transaction.table_metadata
        assert len(staged.snapshots) == 4
        assert all(map(is_, staged.snapshots, table.metadata.snapshots))
        assert table.metadata.model_dump_json() == before
    assert [each.snapshot_id for each in lake.load("ops.ledger").metadata.snapshots] == [
        each.snapshot_id for each in staged.snapshots
    ]


def test_no_name_is_part_of_a_path(lake, lake_settings):
    table = lake.ensure("bronze.erp")
    folder = Path(table.location())
    assert folder.parent == lake_settings.lake.warehouse / "bronze"
    assert "erp" not in folder.name


def test_the_catalog_writes_ahead_and_has_the_columns_that_spark_asks_for(lake, lake_settings):
    lake.ensure("ops.ledger")
    with closing(sqlite3.connect(lake_settings.lake.catalog_file)) as catalog:
        assert catalog.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        rows = catalog.execute("SELECT catalog_name, table_namespace, table_name, iceberg_type FROM iceberg_tables")
        assert rows.fetchall() == [("lake", "ops", "ledger", "TABLE")]


def test_a_lost_commit_is_repeated_but_not_one_that_was_decided_on_what_stood_there(lake):
    assert {lake.ensure(name).properties["commit.retry.num-retries"] for name in OPS} == {"20"}
    first, second = lake.load("ops.actions"), lake.load("ops.actions")
    action = {
        "source": "erp",
        "action": "note",
        "target": "t",
        "reason": "r",
        "who": "w",
        "recorded_at": datetime.now(UTC),
    }
    assert append_to_loaded(lake, first, [action])
    assert not append_to_loaded(lake, second, [action])
    assert lake.load("ops.actions").properties["commit.retry.num-retries"] == "20"
    append_rows(lake, [ActionRow(**action)])
    assert len(read_actions(lake, "erp")) == 2


def test_another_name_is_no_system_table(lake):
    with pytest.raises(NotFound, match="not a system table"):
        lake.ensure("ops.nothing")


def test_a_table_that_is_not_there_is_not_found(lake):
    assert lake.find("gold_shop.orders") is None
    with pytest.raises(NotFound, match="gold_shop.orders"):
        lake.load("gold_shop.orders")


def test_all_tables_are_loaded_but_those_that_go_meanwhile_and_a_damaged_one_is_told(lake):
    for name in ("silver.erp", "bronze.crm", "bronze.erp", "bronze.hr"):
        lake.ensure(name)
    with closing(sqlite3.connect(lake.settings.lake.catalog.file)) as catalog, catalog:
        named = "catalog_name, table_namespace, table_name"
        catalog.execute(f"INSERT INTO iceberg_tables ({named}) VALUES (?, 'bronze', 'view')", [lake.catalog.name])
    address = Path(lake.load("bronze.hr").metadata_location.removeprefix("file://"))
    address.write_bytes(address.read_bytes()[:100])
    found = lake.outside({"ops", "silver"})
    assert next(found)[0] == "bronze.crm"
    lake.catalog.purge_table("bronze.erp")
    ((name, error),) = found
    assert (name, error.facts["table"]) == ("bronze.hr", "bronze.hr")
    assert isinstance(error, DamagedFile)


def test_a_table_that_another_process_made_in_the_meantime_is_taken(lake, lake_settings, monkeypatch):
    begin, winners = lake.catalog.create_table_transaction, []

    def begin_second(*arguments: object, **named: object) -> object:
        winners.append(open_lake(lake_settings).ensure("bronze.erp"))
        return begin(*arguments, **named)

    monkeypatch.setattr(lake.catalog, "create_table_transaction", begin_second)
    assert lake.ensure("bronze.erp").metadata.table_uuid == winners[0].metadata.table_uuid


def test_each_of_the_catalogs_own_tables_may_be_made_by_another_process_in_the_meantime(lake_settings):
    def make_first(table, _connection, **_):
        with closing(sqlite3.connect(lake_settings.lake.catalog_file)) as other:
            other.execute(str(CreateTable(table)))

    lake_settings.lake.warehouse.mkdir(parents=True, exist_ok=True)
    raced = list(SqlCatalogBaseTable.metadata.tables.values())
    for table in raced:
        event.listen(table, "before_create", make_first)
    try:
        lake = open_lake(lake_settings)
    finally:
        for table in raced:
            event.remove(table, "before_create", make_first)
    assert len(raced) > 1
    assert lake.ensure("ops.windows").name() == ("ops", "windows")


def test_a_locked_catalog_says_to_try_again(lake_settings, monkeypatch):
    monkeypatch.setattr("retable.settings.catalogs.BUSY_SECONDS", 0)
    lake = open_lake(lake_settings)
    with closing(sqlite3.connect(lake_settings.lake.catalog_file)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"busy: another process .* try again"):
            lake.ensure("ops.ledger")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (errno.ENOSPC, "has space"),
        (errno.EROFS, "not read-only"),
        (errno.EIO, "cannot be"),
        (errno.EMFILE, "cannot be"),
    ],
)
def test_a_disk_that_fails_says_what_to_check(lake_settings, code, said):
    with pytest.raises(EnvironmentFault, match=said), explained(lake_settings.lake):
        raise OSError(code, "the disk fails")


def test_a_full_catalog_says_to_free_space(lake_settings):
    lake = open_lake(lake_settings)
    with lake.catalog.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        with pytest.raises(EnvironmentFault, match="free some space"), explained(lake_settings.lake):
            connection.exec_driver_sql("CREATE TABLE more AS SELECT randomblob(100000) AS filler")


def test_a_read_only_catalog_says_to_check_who_may_write(lake_settings):
    lake = open_lake(lake_settings)
    with lake.catalog.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 1")
        with pytest.raises(EnvironmentFault, match="cannot be written"), explained(lake_settings.lake):
            connection.exec_driver_sql("CREATE TABLE more (a)")


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        ("org.sqlite.SQLiteException: [SQLITE_BUSY] The database file is locked", Unavailable, "busy"),
        ("org.sqlite.SQLiteException: [SQLITE_FULL] Insertion failed", EnvironmentFault, "free some space"),
        (
            "o.a.i.exceptions.CommitFailedException: Cannot commit: stale\n\tat x",
            ConflictError,
            "Cannot commit: stale; try",
        ),
        ("x\no.a.i.jdbc.UncheckedSQLException: Unknown failure", ConflictError, "not answer: o.a.i.jdbc.UncheckedSQL"),
        (
            "job aborted\njava.io.IOException: No space left on device\n\tat x",
            EnvironmentFault,
            "No space left on device;",
        ),
        (
            "x\nCaused by: o.a.i.exceptions.NotFoundException: Failed to open input stream for file: /a/1.parquet\n"
            "Caused by: java.io.FileNotFoundException: File /a/1.parquet does not exist",
            DamagedFile,
            "the file /a/1.parquet is missing; ",
        ),
        (
            "o.a.i.exceptions.NotFoundException: Location does not exist: s3://b/1.parquet",
            DamagedFile,
            "the file s3://b/1.parquet is missing; ",
        ),
        (
            "x\nCaused by: o.a.i.exceptions.NotFoundException: Failed to open input stream for file: /a/1.parquet\n"
            "Caused by: java.io.FileNotFoundException: /a/1.parquet (Permission denied)",
            EnvironmentFault,
            "Permission denied",
        ),
        (
            "o.a.i.exceptions.RuntimeIOException: Failed to fetch file: /a/1.parquet\n"
            "Caused by: java.io.IOException: Input/output error",
            EnvironmentFault,
            "Input/output error",
        ),
        (
            "o.a.i.exceptions.RuntimeIOException: Failed to fetch file: /a/1.parquet\n"
            "Caused by: java.io.EOFException: Reached the end of stream with 15520 bytes left to read",
            DamagedFile,
            "the file /a/1.parquet is damaged: it is too short; ",
        ),
        (
            "o.a.i.shaded.ParquetDecodingException: could not verify page integrity, CRC checksum verification failed",
            DamagedFile,
            "a file of the lake is damaged: ParquetDecodingException: could not verify page integrity, CRC",
        ),
        (
            "x\n\tat org.apache.iceberg.shaded.org.apache.parquet.hadoop.ParquetFileReader.readFooter(F.java:649)\n"
            "Caused by: o.a.i.shaded.org.apache.parquet.io.InvalidRecordException: ceys not found in message schema {",
            DamagedFile,
            "a file of the lake is damaged: o.a.i.shaded.org.apache.parquet.io.InvalidRecordException: ceys not found",
        ),
        (
            "x\n\tat org.apache.iceberg.spark.source.BaseReader.next(BaseReader.java:1)\n"
            "Caused by: java.io.IOException: No space left on device",
            EnvironmentFault,
            "No space left on device",
        ),
        (
            "x\nCaused by: o.a.i.exceptions.RuntimeIOException: Failed to open file: /a/1-m0.avro\n"
            "\tat org.apache.iceberg.avro.AvroIterable.newFileReader(AvroIterable.java:104)\n"
            "Caused by: java.io.EOFException",
            DamagedFile,
            "the file /a/1-m0.avro is damaged: ",
        ),
        (
            "java.lang.ArrayIndexOutOfBoundsException: 7\n"
            "\tat org.apache.iceberg.shaded.org.apache.avro.io.BinaryDecoder.readInt(BinaryDecoder.java:1)",
            DamagedFile,
            "a manifest or manifest list of the lake is damaged: java.lang.ArrayIndexOutOfBoundsException: 7; ",
        ),
        (
            "o.a.i.exceptions.RuntimeIOException: Failed to open file: /a/1-m0.avro\n"
            "\tat org.apache.iceberg.avro.AvroIterable.newFileReader(AvroIterable.java:104)\n"
            "Caused by: Permission denied",
            EnvironmentFault,
            "Permission denied",
        ),
    ],
)
def test_what_spark_says_of_the_lake_is_explained_too(lake_settings, said, kind, message):
    with pytest.raises(kind) as caught, spark_explained(lake_settings.lake):
        raise RuntimeError(said)
    assert type(caught.value) is kind
    assert message in str(caught.value)
    assert str(caught.value.__cause__) == said


def test_a_damaged_file_that_a_worker_of_spark_met_is_named(lake_settings):
    said = "Traceback …\nretable.errors.DamagedFile: the file /a lake/1.parquet is damaged: it is short; copy\n\tat x"
    with pytest.raises(DamagedFile, match="it is short; copy$") as caught, spark_explained(lake_settings.lake):
        raise RuntimeError(said)
    assert caught.value.facts == {"path": "/a lake/1.parquet"}


@pytest.mark.parametrize(
    "said",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o61.sql"),
        ConnectionRefusedError(111, "Connection refused"),
        ConnectionResetError(104, "Connection reset by peer"),
    ],
)
def test_a_jvm_that_does_not_answer_has_died_and_the_run_is_tried_again(lake_settings, said):
    with pytest.raises(SparkDied, match="Spark died.*run the same command again"), spark_explained(lake_settings.lake):
        raise said


def test_a_jvm_without_memory_says_how_to_give_it_more(lake_settings):
    said = "An error occurred while calling o61.sql.\n: java.lang.OutOfMemoryError: Java heap space\n\tat x"
    with (
        pytest.raises(SparkDied, match=r"\(java.lang.OutOfMemoryError: Java heap space\).*--driver-memory"),
        spark_explained(lake_settings.lake),
    ):
        raise RuntimeError(said)


def test_an_error_of_py4j_that_says_more_is_no_death(lake_settings):
    with pytest.raises(Py4JError, match="does not exist"), spark_explained(lake_settings.lake):
        raise Py4JError("An error occurred while calling o61.sql. Trace:\nMethod sql([]) does not exist")


def test_what_spark_says_of_something_else_stays_as_it_is(lake_settings):
    with pytest.raises(RuntimeError, match="a bug of ours"), spark_explained(lake_settings.lake):
        raise RuntimeError("TypeError: a bug of ours")


def test_an_error_that_says_what_to_do_stays_as_it_is_around_spark(lake_settings):
    with pytest.raises(NotFound, match="Permission denied"), spark_explained(lake_settings.lake):
        raise NotFound("Permission denied")


@pytest.mark.parametrize("state", ["starting up", "shutting down", "in recovery mode", "not yet accepting connections"])
def test_a_server_that_comes_back_says_to_try_again(lake_settings, state):
    lake = lake_settings.lake.model_copy(update={"catalog": PostgresCatalog("lake", "127.0.0.1:5432", "lake")})
    with pytest.raises(Unavailable), explained(lake):
        raise OperationalError("", {}, Exception(f"FATAL:  the database system is {state}"))


def test_a_store_that_fails_without_a_word_says_to_try_again(lake_settings):
    lake = lake_settings.lake.model_copy(update={"warehouse": Bucket("lake", "lake")})
    with pytest.raises(Unavailable), explained(lake):
        raise OSError("AWS Error UNKNOWN (HTTP status 500) during HeadObject operation: No response body.")


def test_a_file_that_is_no_catalog_says_so(lake_settings):
    file = lake_settings.lake.catalog_file
    file.parent.mkdir()
    file.write_text("not a database, but long enough to look like one" * 100)
    with pytest.raises(EnvironmentFault, match="not a SQLite file"):
        open_lake(lake_settings)


def test_a_folder_in_the_catalogs_place_cannot_be_opened(lake_settings):
    lake_settings.lake.catalog_file.mkdir(parents=True)
    with pytest.raises(EnvironmentFault, match="cannot be opened"):
        open_lake(lake_settings)


def test_a_warehouse_that_cannot_be_written_says_what_to_check(lake_settings):
    lake = open_lake(lake_settings)
    (lake_settings.lake.warehouse / "ops").write_text("in the way")
    with pytest.raises(EnvironmentFault, match="cannot be read or written"):
        lake.ensure("ops.ledger")
