"""A `Spill` divides its rows into parts: each part has its rows in their order, and no row is lost or comes twice."""

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from retable.verify import spill
from retable.verify.spill import NOWHERE, Spill

SCHEMA = pa.schema([("at", pa.int64()), ("text", pa.string()), ("names", pa.list_(pa.string()))])
NUMBERS = st.integers(0, 4) | st.just(NOWHERE)


def batch_of(first: int, rows: int) -> pa.RecordBatch:
    at = range(first, first + rows)
    return pa.record_batch([list(at), [f"row {n}" for n in at], [[str(n)] * (n % 3) for n in at]], schema=SCHEMA)


@given(batches=st.lists(st.lists(NUMBERS, max_size=12), max_size=6), at_once=st.integers(1, 40))
def test_each_row_is_in_its_part_in_its_order(batches: list[list[int]], at_once: int) -> None:
    numbers = [number for batch in batches for number in batch]
    wanted: dict[int, list[int]] = defaultdict(list)
    for at, number in enumerate(numbers):
        wanted[number].append(at)
    with TemporaryDirectory() as folder, patch.object(spill, "_ROWS_AT_ONCE", at_once):
        rows = Spill(Path(folder) / "rows.arrow")
        first = 0
        for batch in batches:
            rows.write(batch_of(first, len(batch)))
            first += len(batch)
        rows.deal(numbers)
        parts = {number: list(rows.part(number)) for number in range(6)}
        assert rows.rows == len(numbers) - len(wanted[NOWHERE])
        assert len(list(Path(folder).iterdir())) == bool(rows.rows)
    for number, found in parts.items():
        assert [row for batch in found for row in batch.to_pylist()] == [
            row for at in wanted[number] for row in batch_of(at, 1).to_pylist()
        ]


def test_rows_that_were_not_divided_are_one_part(tmp_path: Path) -> None:
    rows = Spill(tmp_path / "rows.arrow")
    rows.write(batch_of(0, 3))
    rows.write(batch_of(3, 2))
    assert [row["at"] for batch in rows.part(7) for row in batch.to_pylist()] == [0, 1, 2, 3, 4]
