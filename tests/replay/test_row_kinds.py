"""Rows are of one kind just where they tell the same columns, types and key, in one partition."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from retable.ledger.lake.tables import SILVER
from retable.replay.batch.row_kinds import first_and_last_of_kinds, kinds_of

NAMES = ("part", "keys", "column_types", "before", "after", "sequence")
SCHEMA = pa.schema([SILVER.columns.field(name) for name in NAMES])
WORDS = st.sampled_from(["a", "b", "ab", ""])
PAIRS = st.lists(st.tuples(WORDS, st.sampled_from([None, "int", "text"])), max_size=3, unique_by=lambda pair: pair[0])
IMAGES = st.none() | PAIRS.map(lambda pairs: json.dumps(dict(pairs)))


@st.composite
def rows(draw: st.DrawFn) -> dict[str, object]:
    return {
        "part": draw(st.sampled_from([None, "t/0", "t/1"])),
        "keys": draw(st.none() | st.lists(WORDS, max_size=2)),
        "column_types": draw(st.none() | PAIRS),
        "before": draw(IMAGES),
        "after": draw(IMAGES),
        "sequence": {"epoch": draw(st.integers(0, 1)), "hi": draw(st.integers(0, 3)), "lo": 0},
    }


def kind(row: dict[str, Any]) -> object:
    names = list(json.loads(row["after"] or row["before"] or "{}"))
    keys = row["keys"] if row["keys"] is None else tuple(row["keys"])
    return row["part"], row["sequence"]["epoch"], keys, tuple(row["column_types"] or names)


@given(st.lists(st.lists(rows(), max_size=5), max_size=3), st.integers(0, 3))
def test_rows_of_one_kind_have_one_number_and_others_have_others(chunks: list[list[Any]], skipped: int) -> None:
    tables = [pa.Table.from_pylist(chunk, SCHEMA).slice(skipped) for chunk in chunks]
    table = pa.concat_tables([SCHEMA.empty_table(), *tables])
    told = [kind(row) for row in table.to_pylist()]
    numbers = kinds_of(table).tolist()
    assert len(set(zip(told, numbers, strict=True))) == len(set(told)) == len(set(numbers))


@given(st.lists(rows(), min_size=1, max_size=8), st.randoms())
def test_each_kind_has_its_first_row_and_its_last_one_in_the_sample(found: list[Any], chance: Any) -> None:
    order = list(range(len(found)))
    chance.shuffle(order)
    table = pa.Table.from_pylist(found, SCHEMA)
    told = [kind(row) for row in table.to_pylist()]
    ends = {each: [place for place in order if told[place] == each] for each in set(told)}
    wanted = {place for places in ends.values() for place in (places[0], places[-1])}
    assert first_and_last_of_kinds(table, np.array(order)) == [place for place in order if place in wanted]
