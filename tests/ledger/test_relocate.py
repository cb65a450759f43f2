"""A table whose folder was moved or copied says of all its files where they lie now, and else what it said."""

import gzip
import json
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DateType, DecimalType, LongType, NestedField, StringType, TimestamptzType

from moved_lakes import copied, files_below, metadata_below, newest, registered, relocate
from retable.errors import EnvironmentFault, InvalidSetting, NotFound
from retable.ledger.lake.catalog import open_lake
from retable.ledger.relocation.tables import Relocated, addresses, relocate_table

COLUMNS = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "price", DecimalType(12, 2)),
    NestedField(3, "day", DateType()),
    NestedField(4, "at", TimestamptzType()),
    NestedField(5, "note", StringType()),
)
PARTS = PartitionSpec(
    PartitionField(2, 1000, IdentityTransform(), "price"),
    PartitionField(3, 1001, IdentityTransform(), "day"),
    PartitionField(4, 1002, IdentityTransform(), "at"),
)


def rows(first):
    return pa.Table.from_pylist(
        [
            {
                "id": number,
                "price": Decimal(number) / 4,
                "day": date(2026, 3, number % 3 + 1),
                "at": datetime(2026, 3, 1, tzinfo=UTC),
                "note": f"n{number}",
            }
            for number in range(first, first + 3)
        ],
        schema=pa.schema(
            {
                "id": pa.int64(),
                "price": pa.decimal128(12, 2),
                "day": pa.date32(),
                "at": pa.timestamp("us", tz="UTC"),
                "note": pa.string(),
            }
        ),
    )


@pytest.fixture
def table(lake_settings):
    lake = open_lake(lake_settings)
    lake.catalog.create_namespace("gold")
    made = lake.catalog.create_table(
        "gold.orders",
        COLUMNS,
        location=lake.new_location("gold"),
        partition_spec=PARTS,
        properties={"format-version": "2", "write.data.path": f"{lake.new_location('gold')}", "plain": "/a"},
    )
    for first in (0, 3, 6):
        made.append(rows(first))
    made.manage_snapshots().create_tag(made.metadata.current_snapshot_id, "kept").commit()
    made.delete(EqualTo("id", 4))
    with made.update_schema() as change:
        change.add_column("vip", LongType())
    made.append(rows(9).append_column("vip", pa.array([1, 2, 3])))
    return made


@pytest.fixture
def old(tmp_path):
    return tmp_path / "lake"


@pytest.fixture
def new(table, old, tmp_path):
    return copied(old, tmp_path / "lake-of-others" / "lake")


class Failing(PyArrowFileIO):
    """Files of which only some can be written."""

    def __init__(self, most):
        super().__init__()
        self.left = most

    def new_output(self, location):
        self.left -= 1
        if self.left < 0:
            raise InterruptedError(location)
        return super().new_output(location)


def test_every_snapshot_is_read_from_the_new_place_alone(table, old, new, tmp_path):
    before = [table.scan(snapshot_id=shot.snapshot_id).to_arrow().sort_by("id") for shot in table.metadata.snapshots]
    done = relocate(table, old, new)
    assert (done.missing, done.outside) == ((), ())
    old.rename(tmp_path / "gone")
    moved = registered(tmp_path, newest(table, old, new))
    assert [moved.scan(snapshot_id=shot.snapshot_id).to_arrow().sort_by("id") for shot in moved.metadata.snapshots] == (
        before
    )
    assert moved.location().startswith(str(new))
    assert moved.properties["write.data.path"].startswith(str(new))
    assert moved.properties["plain"] == "/a"
    moved.append(rows(20).append_column("vip", pa.array([1, 2, 3])))
    moved.delete(EqualTo("id", 20))
    assert len(moved.scan().to_arrow()) == len(before[-1]) + 2


def test_nothing_says_the_old_place_and_all_else_is_as_it_was(table, old, new):
    relocate(table, old, new)
    was, now = dict(metadata_below(old)), dict(metadata_below(new))
    assert len(was) > 12
    assert not [name for name, text in now.items() if f"{old}/".encode() in text]
    for name, text in was.items():
        other = name.replace(str(old), str(new))
        if not name.endswith("avro"):
            assert json.loads(text.replace(str(old).encode(), str(new).encode())) == json.loads(now[other])
            continue
        with Path(name).open("rb") as before, Path(other).open("rb") as after:
            one, two = fastavro.reader(before), fastavro.reader(after)
            assert one.metadata == two.metadata
            assert one._header["sync"] == two._header["sync"]
            expected = [_moved(record, old, new) for record in one]
            for record in expected:
                if "manifest_path" in record:
                    record["manifest_length"] = Path(record["manifest_path"]).stat().st_size
            assert list(two) == expected


def _moved(value, old, new):
    if isinstance(value, dict):
        return {name: _moved(part, old, new) for name, part in value.items()}
    return value.replace(str(old), str(new)) if isinstance(value, str) else value


def test_data_files_are_neither_read_nor_written_and_none_is_removed(table, old, new):
    for path in new.rglob("*.parquet"):
        path.chmod(0)
        path.rename(path.with_suffix(".hidden"))
    names = set(files_below(old))
    relocate(table, old, new)
    assert {name.replace(str(new), str(old)).replace(".hidden", ".parquet") for name in _names(new)} == names


def _names(folder):
    return [str(path) for path in folder.rglob("*") if path.is_file()]


def test_killed_after_any_file_and_run_again_the_files_are_the_same(table, old, new):
    whole = relocate(table, old, new).written
    expected = files_below(new)
    assert whole > 12
    for most in range(whole):
        shutil.rmtree(new)
        copied(old, new)
        with pytest.raises(InterruptedError):
            relocate(table, old, new, Failing(most))
        assert 0 < relocate(table, old, new).written <= whole - most
        assert files_below(new) == expected


def test_a_second_run_writes_nothing(table, old, new):
    relocate(table, old, new)
    before = files_below(new)
    assert relocate(table, old, new) == Relocated(0, (), ())
    assert files_below(new) == before


def test_a_file_is_seen_as_it_was_or_as_it_is(table, old, new, monkeypatch):
    def fail(path, _target):
        raise InterruptedError(str(path))

    before = files_below(new)
    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", fail)
        with pytest.raises(InterruptedError):
            relocate(table, old, new)
    left = files_below(new).keys() - before.keys()
    assert left
    assert {name: data for name, data in files_below(new).items() if name not in left} == before
    relocate(table, old, new)
    assert files_below(new).keys() == before.keys()


def test_a_checksum_that_hadoop_keeps_beside_a_file_goes_with_what_it_was_of(table, old, new):
    for path in list(new.rglob("*")):
        if path.suffix in {".avro", ".json", ".parquet"}:
            path.with_name(f".{path.name}.crc").write_bytes(b"crc")
    data = len(list(new.rglob("*.parquet")))
    relocate(table, old, new)
    assert {path.name.split(".")[-2] for path in new.rglob("*.crc")} == {"parquet"}
    assert len(list(new.rglob("*.crc"))) == data


def test_files_are_written_after_those_that_they_name(table, old, new):
    class Noting(PyArrowFileIO):
        def new_output(self, location):
            order.append(location.removesuffix(".relocating"))
            return super().new_output(location)

    order = []
    relocate(table, old, new, Noting())
    kinds = ["json" if name.endswith("json") else "list" if "/snap-" in name else "manifest" for name in order]
    assert kinds == sorted(kinds, key=["manifest", "list", "json"].index)
    assert set(kinds) == {"manifest", "list", "json"}
    assert order[-1] == newest(table, old, new)
    assert len(set(order)) == len(order)


def test_packed_metadata_stays_packed(table, old, new):
    path = Path(newest(table, old, new))
    packed = path.with_name(path.name.replace(".metadata.json", ".gz.metadata.json"))
    packed.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    relocate_table(PyArrowFileIO(), str(packed), str(old), str(new))
    assert json.loads(gzip.decompress(packed.read_bytes()))["location"].startswith(str(new))


def test_what_is_missing_is_named_and_the_rest_is_moved(table, old, new):
    logged = Path(table.metadata.metadata_log[0].metadata_file.replace(str(old), str(new)))
    snapshots = table.metadata.snapshots
    manifest = Path(snapshots[0].manifests(table.io)[0].manifest_path.replace(str(old), str(new)))
    listed = Path(snapshots[1].manifest_list.replace(str(old), str(new)))
    for path in (logged, manifest, listed):
        path.unlink()
    assert relocate(table, old, new).missing == tuple(sorted(map(str, (logged, manifest, listed))))
    assert not [name for name, text in metadata_below(new) if f"{old}/".encode() in text]


def test_a_damaged_file_is_named(table, old, new):
    manifest = Path(table.metadata.snapshots[0].manifests(table.io)[0].manifest_path.replace(str(old), str(new)))
    whole = manifest.read_bytes()
    for data in (b"", whole[:40], whole[:-1], whole[:-30], b"Obj\x01" + bytes(40)):
        manifest.write_bytes(data)
        with pytest.raises(EnvironmentFault, match=f"{manifest} cannot be understood"):
            relocate(table, old, new)
    Path(newest(table, old, new)).write_text("{}")
    with pytest.raises(EnvironmentFault, match="not the metadata of an Iceberg table"):
        relocate(table, old, new)


def test_files_of_neither_place_stay_and_their_folders_are_named(lake_settings, old, tmp_path):
    lake = open_lake(lake_settings)
    lake.catalog.create_namespace("gold")
    other = {"write.data.path": str(tmp_path / "other")}
    table = lake.catalog.create_table("gold.orders", COLUMNS, lake.new_location("gold"), properties=other)
    table.append(rows(0))
    before = files_below(tmp_path / "other")
    new = copied(old, tmp_path / "new")
    assert relocate(table, old, new).outside == (str(tmp_path / "other"),)
    assert files_below(tmp_path / "other") == before
    old.rename(tmp_path / "gone")
    assert len(registered(tmp_path, newest(table, old, new)).scan().to_arrow()) == 3


def test_nothing_is_written_where_all_lies_elsewhere(table, old, new, tmp_path):
    before = files_below(tmp_path)
    done = relocate_table(PyArrowFileIO(), newest(table, old, new), str(tmp_path / "never"), str(new))
    assert (done.written, done.outside) == (0, (f"{table.location()}/metadata",))
    assert files_below(tmp_path) == before


def test_a_metadata_file_that_is_not_there_or_elsewhere_is_refused(table, old, new):
    with pytest.raises(NotFound, match="does not exist"):
        relocate_table(PyArrowFileIO(), f"{new}/gold/x.metadata.json", str(old), str(new))
    with pytest.raises(InvalidSetting, match="is not under"):
        relocate_table(PyArrowFileIO(), table.metadata_location, str(old), str(new))


@pytest.mark.parametrize(("first", "second"), [("lake", "lake/inner"), ("lake/inner", "lake"), ("lake", "lake2")])
def test_a_lake_moves_into_its_own_folder_out_of_it_and_beside_it(table, old, tmp_path, first, second):
    one, two = tmp_path / "x" / first, tmp_path / "x" / second
    copied(old, one)
    relocate(table, old, one)
    between = newest(table, old, one)
    for path, data in files_below(one).items():
        target = two / Path(path).relative_to(one)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    metadata = str(two / Path(between).relative_to(one))
    assert relocate_table(PyArrowFileIO(), metadata, str(one), str(two)).written > 12
    assert relocate_table(PyArrowFileIO(), metadata, str(one), str(two)).written == 0
    assert len(registered(tmp_path, metadata).scan().to_arrow()) == 11
    assert all(Path(path).is_relative_to(two / "gold") for path in addresses(PyArrowFileIO(), metadata))


def test_the_addresses_of_a_table_are_its_files_each_once(table, old):
    found = list(addresses(table.io, table.metadata_location))
    assert len(found) == len(set(found))
    assert found[-1] == table.metadata_location
    assert set(found) == {name for name in _names(old) if "catalog.db" not in name}


def test_addresses_go_on_where_a_list_or_a_manifest_is_missing(table):
    whole = set(addresses(table.io, table.metadata_location))
    listed = Path(table.metadata.snapshots[-1].manifest_list)
    listed.unlink()
    found = set(addresses(table.io, table.metadata_location))
    assert str(listed) in found
    assert found < whole
    Path(table.metadata_location).unlink()
    with pytest.raises(NotFound, match="does not exist"):
        list(addresses(table.io, table.metadata_location))
