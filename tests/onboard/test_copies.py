"""Full copies are read exactly or not at all, some rows at a time."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakes import SettingsWriter
from published import publish
from retable.decode.baseline_form import baseline_type, baseline_wire
from retable.errors import EnvironmentFault, InvalidSetting, NotFound
from retable.ledger.catalog import open_lake
from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.onboard.copies import Copy, CsvForm, open_copy

CSV = CsvForm()


def rows(copy: Copy) -> list[dict[str, object]]:
    return [row for batch in copy.batches() for row in batch.to_pylist()]


def test_columns_of_parquet_have_the_gold_type_that_holds_all_of_their_values(tmp_path: Path) -> None:
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int16()),
            "huge": pa.array([2**64 - 1, 0], pa.uint64()),
            "price": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
            "seen": pa.array([1_767_225_600_000, None], pa.timestamp("ms")),
            "label": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    copy = open_copy(str(tmp_path / "t.parquet"), CSV)
    assert {name: str(kind) for name, kind in copy.types.items()} == {
        "small": "int",
        "huge": "decimal(20,0)",
        "price": "decimal(9,2)",
        "seen": "timestamp",
        "label": "string",
    }
    assert rows(copy)[0]["huge"] == Decimal(2**64 - 1)


def test_a_time_finer_than_gold_holds_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"seen": pa.array([1], pa.timestamp("ns"))}), tmp_path / "t.parquet")
    with pytest.raises(InvalidSetting, match="'seen' does not fit timestamp exactly"):
        rows(open_copy(str(tmp_path), CSV))


def test_a_type_that_no_gold_column_has_is_refused_by_name(tmp_path: Path) -> None:
    pq.write_table(pa.table({"tags": pa.array([["a"]])}), tmp_path / "t.parquet")
    with pytest.raises(InvalidSetting, match="'tags'"):
        open_copy(str(tmp_path), CSV)


def test_values_of_csv_are_text_and_only_the_unquoted_spelling_is_null(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id;note\n1;"\\N"\n2;\\N\n3;"two\nlines"\n', encoding="utf-8")
    copy = open_copy(str(tmp_path), CsvForm(delimiter=";", null="\\N"))
    assert copy.types == {"id": None, "note": None}
    assert [row["note"] for row in rows(copy)] == ["\\N", None, "two\nlines"]


def test_an_iceberg_table_is_read_by_its_metadata(write_settings: SettingsWriter) -> None:
    lake = open_lake(write_settings('[sources.dump]\nkind="files"\nformat="canal_json"\npath="in"\nlayout="lines"\n'))
    name = publish(lake, TableName("shop", None, "t"), {"id": "int", "name": "string"}, [(1, "a"), (2, None)])
    metadata = lake.load(name).metadata_location
    copy = open_copy(metadata.removeprefix("file://"), CSV)
    assert {column: str(kind) for column, kind in copy.types.items()} == {"id": "int", "name": "string"}
    assert rows(copy) == [{"id": 1, "name": "a"}, {"id": 2, "name": None}]


def test_another_copy_has_another_digest(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "t.parquet")
    first = open_copy(str(tmp_path), CSV).digest
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t.parquet")
    assert open_copy(str(tmp_path), CSV).digest != first


@pytest.mark.parametrize("name", ["nothing.parquet", "."])
def test_where_nothing_is_it_says_so(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotFound):
        open_copy(str(tmp_path / name), CSV)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"no parquet")
    with pytest.raises(EnvironmentFault, match=r"t\.parquet|cannot be read"):
        open_copy(str(tmp_path), CSV)


@pytest.mark.parametrize("kind", [GoldType("decimal", 9, 2), GoldType("timestamptz"), None])
def test_wire_types_of_baselines_tell_their_gold_type(kind: GoldType | None) -> None:
    assert baseline_type(baseline_wire(kind)) == kind
