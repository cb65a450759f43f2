"""Whether all rows of a batch tell the same columns is seen however their lists lie in memory."""

import pyarrow as pa
import pytest

from retable.ledger.lake.tables import SILVER
from retable.replay.batch.row_kinds import _all_equal

TYPES = SILVER.columns.field("column_types").type
ONE, OTHER, NONE = [("id", "int"), ("v", "text")], [("id", "int"), ("v", "clob")], list[tuple[str, str]]()


@pytest.mark.parametrize(
    ("chunks", "same"),
    [
        ([[ONE, ONE]], True),
        ([[ONE], [], [ONE, ONE]], True),
        ([[ONE, OTHER]], False),
        ([[ONE, ONE], [OTHER, OTHER]], False),
        ([[ONE, ONE[:1]]], False),
        ([[ONE], [ONE[:1]]], False),
        ([[ONE], [None]], False),
        ([[NONE], [NONE]], False),
        ([[]], False),
    ],
)
def test_all_rows_tell_the_same_columns(chunks: list[list[object]], same: bool) -> None:
    assert _all_equal(pa.chunked_array(chunks, TYPES)) is same


def test_a_part_of_an_array_is_looked_at_alone() -> None:
    rows = pa.array([OTHER, ONE, ONE, OTHER], TYPES)
    assert _all_equal(pa.chunked_array([rows[1:3]]))
    assert not _all_equal(pa.chunked_array([rows[1:]]))
