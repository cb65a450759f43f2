"""What is read of many small files is what a scan reads, and each file is opened once."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import AlwaysTrue, And, EqualTo, GreaterThanOrEqual, Reference
from pyiceberg.expressions.literals import literal

from retable.errors import DamagedFile
from retable.ledger.lake import small_files
from retable.ledger.lake.catalog import open_lake
from retable.ledger.lake.small_files import read_rows


def equal(column, value):
    return EqualTo(term=Reference(column), value=literal(value))


def at_least(column, value):
    return GreaterThanOrEqual(term=Reference(column), value=literal(value))


def when(hour):
    return datetime(2026, 3, 1, hour, tzinfo=UTC)


CONDITIONS = {
    "all": AlwaysTrue(),
    "a partition": equal("source", "erp"),
    "a column": equal("table", "t1"),
    "a time of a partition": And(equal("source", "erp"), at_least("recorded_at", when(3).isoformat())),
    "a number of the nested": And(equal("source", "crm"), equal("count", 4)),
    "no row": equal("source", "none"),
}
COLUMNS = pa.schema(
    {
        "source": pa.string(),
        "table": pa.string(),
        "count": pa.int64(),
        "marks": pa.map_(pa.string(), pa.string()),
        "recorded_at": pa.timestamp("us", tz="UTC"),
    }
)


@pytest.fixture
def table(lake_settings):
    lake = open_lake(lake_settings)
    lake.catalog.create_namespace("ops")
    made = lake.catalog.create_table("ops.sample", COLUMNS)
    with made.update_spec() as spec:
        spec.add_identity("source")
    for at in range(6):
        rows = [
            {"source": source, "table": f"t{at % 3}", "count": at, "marks": [("p", str(at))], "recorded_at": when(at)}
            for source in ("erp", "crm")[: 1 + at % 2]
        ]
        made.append(pa.Table.from_pylist(rows, schema=COLUMNS))
    return made


def differences(table):
    """What is read otherwise than by a scan, which lists the newest commit first."""
    return {
        name: (found, wanted)
        for name, condition in CONDITIONS.items()
        if (found := by_source(read_rows(table, condition).to_pylist()))
        != (wanted := by_source(table.scan(row_filter=condition).to_arrow().to_pylist()[::-1]))
    }


def by_source(rows):
    return {source: [row for row in rows if row["source"] == source] for source in ("erp", "crm")}


def test_it_reads_what_a_scan_reads_in_the_order_of_the_commits(table):
    assert differences(table) == {}
    assert differences(table) == {}, "and again, of what is kept"
    assert len(read_rows(table, AlwaysTrue())) == 9


def test_files_that_are_too_large_to_keep_are_read_with_the_condition(table, monkeypatch):
    monkeypatch.setattr(small_files, "SMALL", 0)
    assert differences(table) == {}


def test_a_commit_is_seen_by_the_next_reader(table):
    before = read_rows(table, AlwaysTrue()).num_rows
    table.append(pa.Table.from_pylist([{"source": "erp", "table": "new"}], schema=COLUMNS))
    table.delete(equal("table", "t1"))
    assert differences(table) == {}
    assert read_rows(table, equal("table", "t1")).num_rows == 0 < before


def test_a_column_that_came_later_is_null_in_the_rows_before_it(table):
    read_rows(table, AlwaysTrue())
    with table.update_schema() as update:
        update.union_by_name(COLUMNS.append(pa.field("more", pa.int32())))
    assert differences(table) == {}
    assert set(read_rows(table, AlwaysTrue())["more"].to_pylist()) == {None}


def test_a_file_is_opened_once(table):
    rows = read_rows(table, equal("source", "erp"))
    for task in table.scan().plan_files():
        Path(task.file.file_path.removeprefix("file://")).unlink()
    assert read_rows(table, equal("source", "erp")) == rows
    with pytest.raises(DamagedFile, match="is missing"):
        read_rows(table, equal("source", "crm"))
