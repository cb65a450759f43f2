"""Rows of silver by table: the same ones in the same order, however they lie; and a bulk wherever it was cut out."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.ledger.lake.tables import SILVER
from retable.model.event import TableName
from retable.replay.batch import row_batch as bulk
from retable.replay.batch.row_batch import by_table, read_batches
from retable.replay.batch.silver_rows import ROW_COLUMNS

NAMES = st.tuples(
    st.sampled_from([None, "a", "ab"]), st.sampled_from([None, "s"]), st.sampled_from([None, "", "t", "u"])
)
TYPES = pa.schema({"database": pa.string(), "schema": pa.string(), "table": pa.string(), "place": pa.int64()})


def naive(rows):
    found = {}
    for row in rows.to_pylist():
        if row["database"] is not None and row["table"]:
            found.setdefault(TableName(row["database"], row["schema"], row["table"]), []).append(row)
    return found


@pytest.mark.parametrize("few", [0, 10_000])
@given(chunks=st.lists(st.lists(NAMES, max_size=8), max_size=4))
def test_each_table_has_its_rows_in_their_order(few, chunks):
    batches, place = [], 0
    for chunk in chunks:
        rows = [dict(zip(TYPES.names, (*name, place + at), strict=True)) for at, name in enumerate(chunk)]
        batches.append(pa.Table.from_pylist(rows, schema=TYPES))
        place += len(chunk)
    rows = pa.concat_tables([TYPES.empty_table(), *batches])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "_FEW_RUNS", few)
        assert {name: mine.to_pylist() for name, mine in by_table(rows)} == naive(rows)


def row(table, at, types):
    return {
        **dict.fromkeys(ROW_COLUMNS),
        "database": "shop",
        "table": table,
        "window": "20260301T0500Z",
        "topic": "t",
        "partition": 0,
        "offset": at,
        "row_index": 0,
        "op": "INSERT",
        "image": "full",
        "partial_after": False,
        "after": f'{{"id":{at}}}',
        "column_types": list(types.items()),
        "keys": ["id"],
        "sequence": {"epoch": 0, "hi": at, "lo": 1},
        "key_hash": at,
    }


def test_a_table_is_a_bulk_of_its_own_types_wherever_it_lies():
    schema = pa.schema([SILVER.columns.field(name) for name in ROW_COLUMNS])
    shapes = {"a": {"id": "LONG"}, "b": {"id": "STRING", "more": "LONG"}, "c": {"id": "DOUBLE"}}
    rows = [row(table, at, types) for table, types in shapes.items() for at in range(3)]
    found = read_batches(pa.Table.from_pylist(rows, schema=schema), {"20260301T0500Z": 0}, sketched=False)
    assert {name.table: dict(each.types) for name, each in found.items()} == shapes
    assert all(each.is_plain for each in found.values())
    assert {name.table: [event.sequence.hi for event in each.sample] for name, each in found.items()} == {
        table: [0, 2] for table in shapes
    }


def test_a_row_of_another_image_is_read_as_an_event_but_in_a_sketch():
    schema = pa.schema([SILVER.columns.field(name) for name in ROW_COLUMNS])
    rows = [row(table, at, {"id": "LONG"}) for table in "ab" for at in range(3)]
    rows[1]["partial_after"] = True
    silver = pa.Table.from_pylist(rows, schema=schema)
    for sketched, plain in ((False, {"b"}), (True, {"a", "b"})):
        found = read_batches(silver, {"20260301T0500Z": 0}, sketched)
        assert {name.table for name, each in found.items() if each.is_plain} == plain
        assert {name.table: len(each.sample) for name, each in found.items()} == {"a": 2 if sketched else 3, "b": 2}
