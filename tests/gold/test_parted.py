"""Rows by partition: each in the one that its values give, none lost, none twice."""

from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pyiceberg.partitioning import PartitionField as Field
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.transforms import parse_transform
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, StringType, TimestampType

from laws.drawing import EXAMPLES, PHASES, SAME
from retable.gold.iceberg.partition_spec import PartitionRows, part
from retable.model.partitioning import PartitionField, parse_partition
from retable.settings.tables import TableRules

LAW = settings(max_examples=EXAMPLES, phases=PHASES, derandomize=SAME, database=None, deadline=None)
COLUMNS = pa.schema(
    {"id": pa.int64(), "at": pa.timestamp("us"), "day": pa.date32(), "name": pa.string(), "price": pa.decimal128(9, 2)}
)
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "at", TimestampType(), required=False),
    NestedField(3, "day", DateType(), required=False),
    NestedField(4, "name", StringType(), required=False),
    NestedField(5, "price", DecimalType(9, 2), required=False),
)
TRANSFORMS = {
    1: ("identity", "bucket[7]", "truncate[10]"),
    2: ("year", "month", "day", "hour", "bucket[4]"),
    3: ("identity", "year", "month", "day", "bucket[4]"),
    4: ("identity", "bucket[5]", "truncate[2]"),
    5: ("identity", "bucket[5]", "truncate[100]"),
}


def metadata(*fields: tuple[int, str]) -> TableMetadata:
    spec = PartitionSpec(
        *(Field(source, 1000 + at, parse_transform(t), f"p{at}") for at, (source, t) in enumerate(fields))
    )
    return new_table_metadata(SCHEMA, spec, UNSORTED_SORT_ORDER, "/nowhere", {"format-version": "2"})


def parted(rows: pa.Table, *fields: tuple[int, str]) -> list[PartitionRows]:
    return list(part(rows, metadata(*fields)))


pairs = st.sampled_from([(source, name) for source, names in TRANSFORMS.items() for name in names])
rows = st.fixed_dictionaries(
    {
        "id": st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30),
        "at": st.none() | st.datetimes(),
        "day": st.none() | st.dates(),
        "name": st.none() | st.text(max_size=4),
        "price": st.none() | st.decimals(-9999999, 9999999, places=2, allow_nan=False),
    }
)


@LAW
@given(st.lists(rows, max_size=20), st.lists(pairs, min_size=1, max_size=3, unique=True))
def test_every_row_is_once_in_the_partition_of_its_values(
    told: list[dict[str, object]], fields: list[tuple[int, str]]
) -> None:
    table = pa.Table.from_pylist(told, COLUMNS)
    found = parted(table, *fields)
    back = [row for each in found for row in each.rows.to_pylist()]
    assert sorted(map(repr, back)) == sorted(map(repr, table.to_pylist()))
    if told:
        assert len({each.values for each in found}) == len(found)
    for each in found:
        for row in each.rows.to_pylist():
            for value, (source, name) in zip(each.values, fields, strict=True):
                own = row[SCHEMA.find_field(source).name]
                assert (value is None) == (own is None)
                assert own is None or name != "identity" or str(value) == str(own)


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ((2, "year"), datetime.fromisoformat("1969-12-31 23:00:00"), -1),
        ((2, "month"), datetime.fromisoformat("1970-02-01 00:00:00"), 1),
        ((2, "day"), datetime.fromisoformat("1969-12-31 23:59:59"), "1969-12-31"),
        ((2, "hour"), datetime.fromisoformat("1970-01-01 05:30:00"), 5),
        ((3, "day"), date(1, 1, 1), "0001-01-01"),
        ((5, "truncate[100]"), Decimal("-0.01"), "-1.00"),
        ((4, "truncate[2]"), "\U0001f40d\U0001f40d\U0001f40d", "\U0001f40d\U0001f40d"),
        ((4, "bucket[5]"), None, None),
    ],
)
def test_the_value_of_a_partition_is_what_iceberg_reads(
    field: tuple[int, str], value: object, told: str | int | None
) -> None:
    name = SCHEMA.find_field(field[0]).name
    row: dict[str, object] = dict.fromkeys(COLUMNS.names) | {name: value}
    (found,) = parted(pa.Table.from_pylist([row], COLUMNS), field)
    assert found.values == (told,)


def test_what_is_not_parted_stays_together() -> None:
    table = pa.Table.from_pylist([{"id": 1}, {"id": 2}], COLUMNS)
    assert parted(table) == [PartitionRows((), table)]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("id", PartitionField("identity", "id")),
        ("days(created_at)", PartitionField("day", "created_at")),
        ("hours( at )", PartitionField("hour", "at")),
        ("bucket(16, id)", PartitionField("bucket", "id", 16)),
        ("truncate(4,the name)", PartitionField("truncate", "the name", 4)),
    ],
)
def test_a_field_of_the_settings_is_read(text: str, field: PartitionField) -> None:
    assert parse_partition(text) == field
    assert parse_partition(str(field)) == field


@pytest.mark.parametrize("text", ["day(at)", "bucket(id)", "bucket(0, id)", "days(4, at)", "lower(name)"])
def test_what_is_no_field_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(ValidationError, match=r"years\(column\)"):
        TableRules.model_validate({"partition": [text]})


def test_fields_that_part_by_the_same_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"days\(at\) and hours\(AT\) partition by the same value"):
        TableRules.model_validate({"partition": ["days(at)", "hours(AT)"]})
