"""The digest by which a window that is decoded again is known to be the same."""

from collections import Counter
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from retable.decode.files import digest_rows, join_digests

texts = st.none() | st.text(max_size=2)
rows = st.lists(st.fixed_dictionaries({"before": texts, "after": texts}), max_size=6)
SCHEMA = pa.schema({"before": pa.string(), "after": pa.string()})
Row = dict[str, str | None]


def pair(row: Row) -> tuple[str | None, str | None]:
    return row["before"], row["after"]


def digest(rows: list[Row]) -> int:
    return digest_rows(pa.Table.from_pylist(rows, schema=SCHEMA))


@given(rows, st.integers(0, 6), st.randoms(use_true_random=False))
def test_rows_have_one_digest_in_any_order_and_cut_into_any_files(rows: list[Row], cut: int, chance: object) -> None:
    mixed = sorted(rows, key=lambda _: chance.random())  # type: ignore[attr-defined]  # hypothesis gives a Random
    assert digest(rows) == join_digests([digest(mixed[:cut]), digest(mixed[cut:])])


@given(rows, rows)
def test_rows_that_differ_have_another_one(one: list[Row], other: list[Row]) -> None:
    assert (digest(one) == digest(other)) == (Counter(map(pair, one)) == Counter(map(pair, other)))


def test_when_a_row_was_quarantined_is_no_part_of_it() -> None:
    early, late = (
        pa.table({"code": ["MALFORMED"], "quarantined_at": [datetime(2026, 3, day, tzinfo=UTC)]}) for day in (1, 2)
    )
    assert digest_rows(early) == digest_rows(late) != digest_rows(pa.table({"code": ["TOO_LARGE"]}))
