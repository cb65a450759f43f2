"""A data file that changed on the disk is an error that names it, whoever wrote it and whoever reads it."""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask
from pyroaring import BitMap64

from retable.errors import DamagedFile
from retable.gold.iceberg.data_file_writer import write_parts
from retable.gold.iceberg.deletion_vectors import write_vectors
from retable.gold.iceberg.locate_rows import find_rows
from retable.gold.iceberg.partition_spec import PartitionRows
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.checksums import deleted_rows
from retable.ledger.lake.data_files import FileReader, PartitionWriter
from retable.ledger.lake.small_files import read_rows

ROWS, PLACES = 400, 150
COLUMNS = pa.schema(
    {
        "id": pa.int64(),
        "name": pa.string(),
        "price": pa.decimal128(12, 2),
        "is_paid": pa.bool_(),
        "at": pa.timestamp("us", tz="UTC"),
        "day": pa.date32(),
        "weight": pa.float64(),
        "raw": pa.binary(),
        "sequence": pa.struct({"epoch": pa.int32(), "hi": pa.decimal128(38, 0)}),
        "marks": pa.map_(pa.string(), pa.int64()),
    }
)


def sample(chance):
    return pa.Table.from_pylist(
        [
            {
                "id": number,
                "name": chance.choice(("a", None, f"a longer name {number}")),
                "price": Decimal(chance.randrange(10**6)) / 100,
                "is_paid": chance.random() < 0.5,
                "at": datetime(2026, 3, 1, number % 24, tzinfo=UTC),
                "day": date(2026, 3, 1 + number % 28),
                "weight": chance.random(),
                "raw": chance.randbytes(5),
                "sequence": {"epoch": 0, "hi": Decimal(number)},
                "marks": [("k", number)],
            }
            for number in range(ROWS)
        ],
        COLUMNS,
    )


@pytest.fixture
def table(lake_settings):
    catalog = open_lake(lake_settings).catalog
    catalog.create_namespace("ops")
    return catalog.create_table("ops.sample", COLUMNS)


def appended(table, rows):
    table.append(rows)
    (task,) = table.scan().plan_files()
    return task


def of_a_partition(table, rows):
    return as_planned(PartitionWriter(table.io, table.metadata).write(rows, {}))


def of_gold(table, rows):
    ((_, file),) = write_parts(table.io, table.metadata, [PartitionRows((), rows)])
    return as_planned(file)


def as_planned(file):
    file.spec_id = 0
    return FileScanTask(file)


def scanned(table, task):
    return ArrowScan(table.metadata, table.io, table.schema(), AlwaysTrue()).to_table([task])


def batches(table, task):
    return pa.Table.from_batches(FileReader(table.io, table.metadata, tuple(COLUMNS.names)).read(task))


def key_places(table, task):
    keys = pa.table({"name": ["a"], "id": [7]})
    return find_rows(table.io, task.file.file_path, [2, 1], keys)


def footer(content):
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")


def path_of(task, suffix=""):
    return Path(task.file.file_path.removeprefix("file://") + suffix)


@pytest.mark.parametrize("write", [appended, of_a_partition, of_gold])
@pytest.mark.parametrize("read", [scanned, batches, key_places])
def test_a_byte_that_changed_is_an_error_that_names_the_file_and_never_another_row(table, write, read):
    chance = Random(f"{write.__name__} {read.__name__}")
    task = write(table, sample(chance))
    path, whole = path_of(task), read(table, task)
    content, met, named = path.read_bytes(), Counter(), set()
    for at in sorted(chance.sample(range(footer(content)), PLACES)):
        path.write_bytes(content[:at] + bytes([content[at] ^ chance.randrange(1, 256)]) + content[at + 1 :])
        try:
            met["equal" if read(table, task).equals(whole) else f"other rows of {at}"] += 1
        except DamagedFile as error:
            met["damaged"] += 1
            named.add(error.facts["path"])
    assert set(met) <= {"equal", "damaged"}
    assert named == {task.file.file_path}
    assert met["damaged"] > (0 if read is key_places else PLACES * 0.9)


def test_a_file_that_gives_fewer_rows_than_were_written_is_an_error_that_names_it(table):
    task, less = (of_gold(table, sample(Random(1)).slice(0, rows)) for rows in (ROWS, ROWS - 1))
    path_of(task).write_bytes(path_of(less).read_bytes())
    with pytest.raises(DamagedFile, match=f"it has {ROWS - 1} rows, but {ROWS} rows were written") as caught:
        batches(table, task)
    assert caught.value.facts == {"path": task.file.file_path}


@pytest.mark.parametrize("read", [scanned, batches, key_places])
def test_a_file_that_is_short_empty_or_missing_is_an_error_that_names_it(table, read):
    task = of_gold(table, sample(Random(1)))
    path = path_of(task)
    content = path.read_bytes()
    for left in (content[:-20], content[: len(content) // 2], b""):
        path.write_bytes(left)
        with pytest.raises(DamagedFile, match=f"the file {path} is damaged: "):
            read(table, task)
    path.unlink()
    with pytest.raises(DamagedFile, match=f"the file {path} is missing; "):
        read(table, task)


@pytest.mark.parametrize(
    "read",
    [
        lambda table: read_rows(table, AlwaysTrue()),
        lambda table: table.scan().to_arrow(),
        lambda table: list(table.scan(limit=5).to_arrow_batch_reader()),
    ],
)
def test_whatever_reads_a_whole_table_says_which_file_is_damaged(table, read):
    path = path_of(appended(table, sample(Random(1))))
    content = path.read_bytes()
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(DamagedFile, match="CRC checksum verification failed") as caught:
        read(table)
    assert caught.value.facts == {"path": str(path)}


def test_what_the_store_says_is_no_damage(table, monkeypatch):
    task = of_gold(table, sample(Random(1)))
    for said in (
        PermissionError(13, "Permission denied"),
        OSError("AWS Error NETWORK_CONNECTION"),
        pa.ArrowMemoryError(),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(pq, "ParquetFile", lambda *_, said=said, **__: (_ for _ in ()).throw(said))
            with pytest.raises(type(said)) as caught:
                batches(table, task)
        assert caught.value is said


def test_a_vector_of_deleted_rows_that_changed_is_an_error_that_names_it_or_gives_the_same_rows(table):
    task = of_gold(table, sample(Random(1)))
    path = task.file.file_path + ".puffin"
    positions = {task.file.file_path: BitMap64([3, 5]), "another file": BitMap64([4])}
    size, (mine, other) = write_vectors(table.io, path, positions)
    without = FileScanTask(task.file, {deletes_of(mine)})
    vectors = path_of(without, ".puffin")
    content, living = vectors.read_bytes(), [at for at in range(ROWS) if at not in (3, 5)]
    assert len(content) == size
    for at in range(size):
        vectors.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        if mine.offset + 4 <= at < other.offset:
            with pytest.raises(DamagedFile) as caught:
                scanned(table, without)
            assert caught.value.facts == {"path": path}
        else:
            assert scanned(table, without)["id"].to_pylist() == living
            assert deleted_rows(table.io, without).tolist() == [3, 5]


def deletes_of(vector):
    """A deletion vector as a manifest describes it."""
    return DataFile.from_args(
        _table_format_version=3,
        content=DataFileContent.POSITION_DELETES,
        file_path=vector.path,
        file_format=FileFormat.PUFFIN,
        record_count=vector.count,
        referenced_data_file=vector.data_file,
        content_offset=vector.offset,
        content_size_in_bytes=vector.size,
    )


def test_what_was_parsed_before_is_parsed_again_where_the_bytes_or_the_inherited_numbers_differ(table):
    table.append(sample(Random(1)))
    snapshot = table.current_snapshot()
    (manifest,) = snapshot.manifests(table.io)
    (entry,) = manifest.fetch_manifest_entry(table.io)
    (again,) = manifest.fetch_manifest_entry(table.io)
    assert again is entry
    manifest.sequence_number += 1
    assert [each.sequence_number for each in manifest.fetch_manifest_entry(table.io)] == [entry.sequence_number + 1]
    metadata = partial(FromInputFile.table_metadata, table.io.new_input(table.metadata_location))
    assert metadata() is metadata()
    for path, read in (
        (table.metadata_location, metadata),
        (manifest.manifest_path, lambda: manifest.fetch_manifest_entry(table.io)),
        (snapshot.manifest_list, lambda: snapshot.manifests(table.io)),
    ):
        Path(path.removeprefix("file://")).write_bytes(b"Obj\x01")
        with pytest.raises(DamagedFile, match="is damaged") as caught:
            read()
        assert caught.value.facts == {"path": path}
