"""The rows of keys in a data file, against a comparison row by row."""

import pickle
from datetime import date
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO

from retable.gold.iceberg.locate_rows import edges_of, find_rows
from retable.gold.rows import to_values

FLOATS = st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")])
KINDS = {
    pa.int32(): st.integers(-3, 3),
    pa.int64(): st.integers(-3, 3) | st.sampled_from([-(2**63), 10**12, 2**63 - 1]),
    pa.string(): st.sampled_from(["", "a", "A", "é", "😀"]),
    pa.binary(): st.sampled_from([b"", b"\x00", b"a"]),
    pa.decimal128(9, 2): st.sampled_from([Decimal("0.00"), Decimal("-1.50"), Decimal("3.25")]),
    pa.date32(): st.sampled_from([date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)]),
    pa.bool_(): st.booleans(),
    pa.float32(): FLOATS,
    pa.float64(): FLOATS,
}
WIDER = {pa.int32(): pa.int64(), pa.decimal128(9, 2): pa.decimal128(20, 2), pa.float32(): pa.float64()}


@st.composite
def files_and_keys(draw: st.DrawFn) -> tuple[pa.Table, pa.Table]:
    """A file's key columns, and keys whose types are those of the file or promoted ones."""
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    cells = [KINDS[kind] | st.none() for kind in kinds]
    rows = draw(st.lists(st.tuples(*cells), max_size=20))
    keys = draw(st.lists(st.tuples(*cells), min_size=1, max_size=5))
    wanted = [WIDER.get(kind, kind) if draw(st.booleans()) else kind for kind in kinds]
    names = [f"k{at}" for at in range(len(kinds))]
    return _table(rows, kinds, names), _table(keys, wanted, names)


@given(content=files_and_keys(), group=st.integers(1, 7))
def test_found_are_the_rows_that_equal_a_key_and_no_others(content: tuple[pa.Table, pa.Table], group: int) -> None:
    rows, keys = content
    with TemporaryDirectory() as folder:
        path = _write(Path(folder), rows, list(range(5, 5 + rows.num_columns)), group)
        found = find_rows(PyArrowFileIO(), path, list(range(5, 5 + rows.num_columns)), keys)
    wanted, told = set(to_values(keys)), to_values(rows)
    assert found is not None
    assert sorted(found.to_pylist()) == [at for at, row in enumerate(told) if row in wanted]


def test_a_column_is_found_by_its_id_whatever_it_was_called(tmp_path: Path) -> None:
    rows = pa.table({"old_name": pa.array([1, 2, 3]), "id": pa.array([3, 2, 1])})
    path = _write(tmp_path, rows, [8, 9], 10)
    keys = pa.table({"id": pa.array([3])})
    assert find_rows(PyArrowFileIO(), path, [8], keys).to_pylist() == [2]


def test_a_file_without_a_column_of_the_key_is_no_place_to_look(tmp_path: Path) -> None:
    path = _write(tmp_path, pa.table({"id": pa.array([1])}), [8], 10)
    assert find_rows(PyArrowFileIO(), path, [8, 9], pa.table({"id": pa.array([1]), "b": pa.array([1])})) is None


def _table(rows: list[tuple[object, ...]], kinds: list[pa.DataType], names: list[str]) -> pa.Table:
    arrays = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    return pa.Table.from_arrays(arrays, names=names)


def test_the_edges_of_keys_take_no_other_keys_along() -> None:
    """They are sent to the driver and with every task."""
    keys = pa.table({"a": pa.array(f"{number:050}" for number in range(10_000)), "b": pa.array(range(10_000))})
    edges = edges_of(keys)
    assert edges["b"].to_pylist() == [0, 9_999, 0]
    assert edges["a"].to_pylist() == [f"{0:050}"] * 3
    assert len(pickle.dumps(edges)) < 3_000
    assert edges_of(keys.slice(0, 0)).num_rows == 0


def _write(folder: Path, rows: pa.Table, ids: list[int], group: int) -> str:
    fields = [
        field.with_metadata({"PARQUET:field_id": str(field_id)})
        for field, field_id in zip(rows.schema, ids, strict=True)
    ]
    path = folder / "rows.parquet"
    pq.write_table(pa.Table.from_arrays(rows.columns, schema=pa.schema(fields)), path, row_group_size=group)
    return str(path)
