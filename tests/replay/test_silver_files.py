"""Rows that are chosen of silver's files: the same ones as of all rows in memory, however they lie in row groups."""

import json
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, TableProperties
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.types import NestedField, StringType
from pyiceberg.utils.concurrent import ExecutorFactory

from retable.errors import DamagedFile
from retable.gold.store import Halves, LateKeys
from retable.ledger.lake.tables import SILVER
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.batch.silver_rows import ROW_COLUMNS, table_name
from retable.replay.files.row_choice import NAME, OfKeys
from retable.replay.files.silver_files import SilverFiles

SCHEMA = pa.schema([SILVER.columns.field(name) for name in ROW_COLUMNS])
TABLES = [TableName("a", None, "t"), TableName("a", "s", "t"), TableName("a", None, "u"), TableName("b", None, "t")]
HASHES = st.integers(-4, 4)
NAMES = st.sampled_from([*[(t.database, t.schema, t.table) for t in TABLES], (None, None, "t"), ("a", None, None)])
RECORDS = st.builds(
    lambda name, key, old, keys, hi, lo, image: {
        **dict.fromkeys(ROW_COLUMNS),
        **dict(zip(("database", "schema", "table"), name, strict=True)),
        "key_hash": key,
        "old_key_hash": old,
        "keys": keys,
        "image": image,
        "sequence": {"epoch": hi % 2, "hi": hi, "lo": lo},
        "column_types": [("id", "LONG")],
        "after": f'{{"id":{key}}}',
    },
    NAMES,
    st.none() | HASHES,
    st.none() | HASHES,
    st.sampled_from([None, [], ["id"], ["id", "x"]]),
    st.integers(0, 4),
    st.integers(0, 2),
    st.sampled_from(["full", "before_half", "after_half"]),
)
FILES = st.lists(st.lists(RECORDS, min_size=1, max_size=12), max_size=3)


@pytest.fixture(scope="module")
def silver(tmp_path_factory):
    """Write each list of records as a file of row groups of so many rows."""
    folder = tmp_path_factory.mktemp("silver")

    def write(files, group, in_order=True, missing=(), recorded=0):
        tasks = []
        for at, records in enumerate(files):
            if in_order:
                records.sort(key=lambda each: (str(table_name(each)), each["key_hash"] or 0))
            rows = pa.Table.from_pylist(records, schema=SCHEMA).drop_columns([*missing])
            path = folder / f"{at}.parquet"
            pq.write_table(rows, path, row_group_size=group)
            tasks.append(FileScanTask(described(path, recorded or len(records))))
        return SilverFiles(PyArrowFileIO(), None, tuple(tasks))

    return write


def described(path, rows, content=DataFileContent.DATA):
    file = DataFile.from_args(
        content=content,
        file_path=str(path),
        file_format=FileFormat.PARQUET,
        partition={},
        record_count=rows,
        file_size_in_bytes=path.stat().st_size,
    )
    file.spec_id = 0
    return file


def told(rows):
    return sorted(rows, key=repr)


@given(files=FILES, group=st.integers(1, 5), in_order=st.booleans(), ends=st.none() | st.tuples(HASHES, HASHES))
def test_the_rows_of_a_table_and_of_a_range_are_read(silver, files, group, in_order, ends):
    read = silver(files, group, in_order)
    records = [record for mine in files for record in mine]
    for table in TABLES:
        mine = [record for record in records if table_name(record) == table]
        assert read.counts().get(table, 0) == len(mine)
        if ends is not None:
            between = range(min(ends), max(ends) + 1)
            mine = [record for record in mine if {record["key_hash"], record["old_key_hash"]} & {*between}]
        found = read.read(table, None if ends is None else (min(ends), max(ends)))
        assert found.schema == SCHEMA
        assert told(found.to_pylist()) == told(mine)
        if ends is None:
            narrow = read.read(table, without={"before", "after", "database"}).to_pylist()
            assert told(row["key_hash"] for row in narrow) == told(record["key_hash"] for record in mine)


@given(files=FILES, group=st.integers(1, 5), tables=st.sets(st.sampled_from(TABLES)))
def test_other_tables_are_read_with_rows_of_no_table(silver, files, group, tables):
    records = [record for mine in files for record in mine]
    wanted = [record for record in records if table_name(record) not in tables]
    assert told(silver(files, group).read_others(tables).to_pylist()) == told(wanted)


@given(
    files=FILES,
    group=st.integers(1, 5),
    tables=st.sets(st.sampled_from(TABLES), min_size=1),
    needed=st.none()
    | st.builds(Halves, st.frozensets(st.integers(0, 4)))
    | st.builds(
        LateKeys,
        st.frozensets(HASHES),
        st.sampled_from([(), ("id",)]),
        st.builds(Sequence, st.integers(0, 1), st.integers(0, 4), st.just(1)),
    ),
)
def test_what_late_rows_and_halves_need_is_read(silver, files, group, tables, needed):
    records = [record for mine in files for record in mine if table_name(record) in tables]
    found = silver(files, group).chosen(OfKeys(frozenset(tables), needed), ROW_COLUMNS)
    assert told(found.to_pylist()) == told(record for record in records if is_needed(record, needed))


def is_needed(record, needed):
    sequence = record["sequence"]
    if isinstance(needed, Halves):
        return record["image"] != "full" and sequence["hi"] in needed.his
    if isinstance(needed, LateKeys):
        speaks = not needed.hashes.isdisjoint((record["key_hash"], record["old_key_hash"]))
        is_above = (sequence["epoch"], sequence["hi"]) >= needed.since[:2]
        return is_above and (speaks or record["keys"] != [*needed.keys])
    return True


def test_a_file_that_is_older_than_a_column_shows_null(silver):
    record = {**dict.fromkeys(ROW_COLUMNS), "database": "a", "table": "t", "key_hash": 1}
    found = silver([[record]], 2, missing=["old_key_hash", "partial_after"]).read(TABLES[0], (0, 2))
    assert found.to_pylist() == [record]


def test_a_file_with_fewer_rows_than_were_written_is_damaged(silver):
    record = {**dict.fromkeys(ROW_COLUMNS), "database": "a", "table": "t"}
    read = silver([[record, record]], 2, recorded=3)
    with pytest.raises(DamagedFile, match="it has 2 rows, but 3 rows were written"):
        read.read(TABLES[0])


class OneAtATime(threading.local):
    """pyiceberg's threads, where all of them are taken: what runs on them is run where it is asked for."""

    is_taken = False

    def map(self, do, *over):
        assert not self.is_taken, "what runs on these threads waits for them"
        self.is_taken = True
        found = [*map(do, *over)]
        self.is_taken = False
        return found


def test_files_from_which_rows_were_deleted_do_not_wait_for_one_another(tmp_path, monkeypatch):
    threads = OneAtATime()
    monkeypatch.setattr(ExecutorFactory, "get_or_create", lambda: threads)
    fields = [NestedField(at, name, StringType()) for at, name in enumerate(NAME, 1)]
    named = json.dumps([{"field-id": field.field_id, "names": [field.name]} for field in fields])
    properties = {TableProperties.DEFAULT_NAME_MAPPING: named}
    shape = Schema(*fields), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER
    metadata = new_table_metadata(*shape, str(tmp_path), properties)
    names = pa.table({"database": ["a", "a"], "schema": pa.nulls(2, pa.string()), "table": ["t", "t"]})
    tasks = []
    for at in range(2):
        rows, gone = tmp_path / f"{at}.parquet", tmp_path / f"{at}-deletes.parquet"
        pq.write_table(names, rows)
        pq.write_table(pa.table({"file_path": [str(rows)], "pos": pa.array([0])}), gone)
        tasks.append(FileScanTask(described(rows, 2), {described(gone, 1, DataFileContent.POSITION_DELETES)}))
    read = SilverFiles(PyArrowFileIO(), metadata, tuple(tasks))
    assert read.read(TABLES[0], without={*ROW_COLUMNS} - {*NAME}).num_rows == 2
