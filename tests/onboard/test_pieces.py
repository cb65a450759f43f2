"""The pieces of a copy on their way to silver: which copy they are of, and what a copy must have."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from lakes import SettingsWriter
from laws.world import NOW
from retable.errors import InvalidSetting, Leased
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.read import read_baselines
from retable.ledger.rows import BaselineRow
from retable.model.event import TableName
from retable.model.sequence import Sequence, parse_sequence
from retable.onboard.baseline.copies import CsvForm, open_copy
from retable.onboard.baseline.pieces import Target, begun_at, land_baseline

TARGET = Target(
    source="shop",
    source_format="canal_json",
    table=TableName("shop", None, "t"),
    position=Sequence(0, 7, 0),
    part=("topic", 0),
    keys=("id",),
)
SOURCE = """
[sources.shop]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
"""


@pytest.fixture
def lake(write_settings: SettingsWriter) -> Lake:
    return open_lake(write_settings(SOURCE))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text("id,note\n1,NULL\n2,b\n3,c\n", encoding="utf-8")
    return path


def landed(lake: Lake, copy: Path, form: CsvForm) -> list[BaselineRow]:
    return land_baseline(lake, TARGET, open_copy(str(copy), form), NOW, lambda _: None, most=2)


def test_a_copy_without_a_column_of_the_key_lands_nothing(lake: Lake, copy: Path) -> None:
    with pytest.raises(InvalidSetting, match="the key column 'id' of shop.t"):
        landed(lake, copy, CsvForm(";"))
    assert not read_baselines(lake, "shop")


def test_a_key_may_be_spelled_in_other_letters_than_the_column_of_the_copy(lake: Lake, copy: Path) -> None:
    copy.write_text("ID,note\n1,a\n", encoding="utf-8")
    assert len(landed(lake, copy, CsvForm())) == 1


def test_another_copy_at_the_same_position_comes_behind_all_rows_of_the_one_before(lake: Lake, copy: Path) -> None:
    first = landed(lake, copy, CsvForm())
    again = landed(lake, copy, CsvForm(null="NULL"))
    assert {row.window for row in first}.isdisjoint(row.window for row in again)
    rows = lake.load("silver.shop").scan(selected_fields=("window", "sequence")).to_arrow().to_pylist()
    places = {row.window: parse_sequence(row.position) for row in (*first, *again)}
    wrong = [Sequence(**row["sequence"]) for row in rows if row["window"] in {row.window for row in first}]
    right = [Sequence(**row["sequence"]) for row in rows if row["window"] not in {row.window for row in first}]
    assert places[first[0].window] < min(wrong)
    assert max(wrong) < places[again[0].window] < min(right)
    assert {(place.epoch, place.hi) for place in places.values()} == {(0, 7)}


def test_the_last_copy_again_lands_nothing_and_one_before_it_starts_the_table_anew(lake: Lake, copy: Path) -> None:
    first = landed(lake, copy, CsvForm())
    assert landed(lake, copy, CsvForm()) == first
    again = landed(lake, copy, CsvForm(null="NULL"))
    assert landed(lake, copy, CsvForm(null="NULL")) == again
    back = landed(lake, copy, CsvForm())
    assert parse_sequence(back[0].position) > parse_sequence(again[0].position)
    assert len(read_baselines(lake, "shop")) == 6


class BrokenOff(Exception):
    """The copy could not be read to its end."""


def test_a_copy_lands_while_no_other_one_of_the_source_does(lake: Lake, copy: Path) -> None:
    """Both would take the same windows of silver for their pieces, and one would replace the rows of the other."""
    opened = open_copy(str(copy), CsvForm())
    other = replace(TARGET, table=TableName("shop", None, "u"))

    def meanwhile() -> Iterator[pa.RecordBatch]:
        with pytest.raises(Leased, match="silver.shop is in use: the baseline"):
            land_baseline(lake, other, opened, NOW, lambda _: None)
        yield from opened.batches()

    land_baseline(lake, TARGET, replace(opened, batches=meanwhile), NOW, lambda _: None)
    land_baseline(lake, other, opened, NOW, lambda _: None)
    found = [(row.table, row.window) for row in read_baselines(lake, "shop")]
    assert sorted(found) == [("t", "10000101T0001Z"), ("u", "10000101T0002Z")]


def test_a_baseline_that_broke_off_is_gone_on_with_at_its_own_position(lake: Lake, copy: Path) -> None:
    source, opened = lake.settings.source("shop"), open_copy(str(copy), CsvForm())

    def broken() -> Iterator[pa.RecordBatch]:
        yield from opened.batches()
        raise BrokenOff

    assert begun_at(lake, source, TARGET.table, opened, most=1) is None
    with pytest.raises(BrokenOff):
        land_baseline(lake, TARGET, replace(opened, batches=broken), NOW, lambda _: None, most=1)
    assert begun_at(lake, source, TARGET.table, opened, most=1) == TARGET.position
    assert begun_at(lake, source, TARGET.table, open_copy(str(copy), CsvForm(null="NULL")), most=1) is None
    assert begun_at(lake, source, TableName("shop", None, "u"), opened, most=1) is None
    anew = source.model_copy(update={"source_epoch": 1})
    assert begun_at(lake, anew, TARGET.table, opened, most=1) is None
