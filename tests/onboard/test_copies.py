"""Full copies are read exactly or not at all, some rows at a time."""

import gzip
import hashlib
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakes import SettingsWriter
from published import publish
from retable.errors import EnvironmentFault, InvalidSetting, NotFound
from retable.ledger.lake.catalog import open_lake
from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.onboard.baseline.copies import Copy, CsvForm, open_copy
from retable.values.baseline_encoding import baseline_type, baseline_wire

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
    with pytest.raises(
        InvalidSetting, match="'seen' of the copy has a value that gold's type timestamp cannot hold exactly"
    ):
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


def test_another_reading_of_the_same_csv_is_another_copy(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id;note\n1;x\n", encoding="utf-8")
    forms = [CSV, CsvForm(";"), CsvForm(";", null="x"), CsvForm(encoding="latin1")]
    assert len({open_copy(str(tmp_path), form).digest for form in forms}) == len(forms)
    assert open_copy(str(tmp_path), CsvForm(",")).digest == open_copy(str(tmp_path), CSV).digest


def test_the_usual_reading_of_csv_has_the_digest_of_its_files_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,note\n1,x\n", encoding="utf-8")
    file = (tmp_path / "t.csv").stat()
    facts = f"t.csv {file.st_size} {file.st_mtime_ns}"
    assert open_copy(str(tmp_path), CSV).digest == hashlib.sha256(facts.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("name", "delimiter"), [("t.tsv", None), ("t.tsv.gz", None), ("t.csv", "\\t"), ("t.csv", "\t")]
)
def test_a_tab_stands_between_values_of_tsv_and_where_it_is_asked_for(
    tmp_path: Path, name: str, delimiter: str | None
) -> None:
    text = b"id\tnote\n1\ta,b\n"
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    copy = open_copy(str(tmp_path), CsvForm(delimiter))
    assert rows(copy) == [{"id": "1", "note": "a,b"}]


@pytest.mark.parametrize("delimiter", ["", "||", "§", "\n", '"'])
def test_what_cannot_stand_between_values_is_refused(delimiter: str) -> None:
    with pytest.raises(InvalidSetting, match="--delimiter"):
        CsvForm(delimiter)


@pytest.mark.parametrize("encoding", ["cp-1252x", "hex"])
def test_an_encoding_that_there_is_not_is_refused(encoding: str) -> None:
    with pytest.raises(InvalidSetting, match="--encoding"):
        CsvForm(encoding=encoding)


LONG = "id,note\n" + f"1,{'x' * 1_000_000}\n" * 40


@pytest.mark.parametrize(
    ("bad", "encoding"), [(b"9,a,b\n", "utf8"), ("9,é\n".encode("latin1"), "utf8"), ("9,é\n".encode(), "ascii")]
)
def test_a_row_that_cannot_be_read_names_its_file_wherever_it_stands(tmp_path: Path, bad: bytes, encoding: str) -> None:
    (tmp_path / "t.csv").write_bytes(LONG.encode() + bad)
    with pytest.raises(EnvironmentFault, match=r"t\.csv cannot be read.*--encoding"):
        rows(open_copy(str(tmp_path), CsvForm(encoding=encoding)))


def test_a_value_of_csv_may_be_longer_than_a_megabyte(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f'id,note\n1,x\n2,"{"y" * 3_000_000}"\n', encoding="utf-8")
    assert [len(str(row["note"])) for row in rows(open_copy(str(tmp_path), CSV))] == [1, 3_000_000]


def test_metadata_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "v1.metadata.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EnvironmentFault, match=r"v1\.metadata\.json cannot be read: it is not the metadata"):
        open_copy(str(tmp_path / "v1.metadata.json"), CSV)


def test_what_a_writer_left_behind_is_no_part_of_a_copy(tmp_path: Path) -> None:
    for place in ("_temporary/0", ".spark-staging", "more", "."):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"id": [len(place)]}), tmp_path / place / "part-0.parquet")
    (tmp_path / "_SUCCESS").write_text("", encoding="utf-8")
    assert [row["id"] for row in rows(open_copy(str(tmp_path), CSV))] == [4, 1]


def test_a_folder_that_holds_a_column_in_its_name_is_refused_unless_the_files_have_it(tmp_path: Path) -> None:
    (tmp_path / "copy" / "day=2026-03-01").mkdir(parents=True)
    file = tmp_path / "copy" / "day=2026-03-01" / "part-0.parquet"
    pq.write_table(pa.table({"id": [1]}), file)
    with pytest.raises(InvalidSetting, match="'day'"):
        open_copy(str(tmp_path / "copy"), CSV)
    pq.write_table(pa.table({"id": [1], "day": ["2026-03-01"]}), file)
    assert rows(open_copy(str(tmp_path / "copy"), CSV)) == [{"id": 1, "day": "2026-03-01"}]


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
