"""Which addresses a move changes, and what the files of deleted rows say after it."""

import io
import json

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table.deletion_vector import deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile
from pyroaring import BitMap

from retable.errors import InvalidSetting
from retable.ledger.relocation.addresses import Move
from retable.ledger.relocation.avro_blocks import change_records, read_records
from retable.ledger.relocation.delete_files import move_bounds, move_positions, move_vectors

MOVE = Move("/a/lake", "/b/new")
PATH = 2147483546


@pytest.mark.parametrize(
    ("old", "new", "address", "moved"),
    [
        ("/a/lake", "/b/new", "/a/lake/x", "/b/new/x"),
        ("/a/lake/", "/b/new/", "/a/lake/x", "/b/new/x"),
        ("/a/lake", "/b/new", "/a/lake", "/b/new"),
        ("/a/lake", "/b/new", "/a/lake2/x", "/a/lake2/x"),
        ("/a/lake", "/b/new", "/c/a/lake/x", "/c/a/lake/x"),
        ("/a/lake", "/b/new", "/b/new/x", "/b/new/x"),
        ("/a/lake", "/b/new", "file:///a/lake/x", "file:///b/new/x"),
        ("/a/lake", "/b/new", "file:/a/lake/x", "file:/b/new/x"),
        ("file:///a/lake", "/b/new", "/a/lake/x", "/b/new/x"),
        ("/a/lake", "file:///b/new", "/a/lake/x", "file:///b/new/x"),
        ("s3://one/lake", "s3://two/p/q", "s3://one/lake/x", "s3://two/p/q/x"),
        ("s3://one", "s3://one-more", "s3://one/x", "s3://one-more/x"),
        ("s3://one", "s3://one-more", "s3://one-more/x", "s3://one-more/x"),
        ("/a/lake", "s3://two", "/a/lake/x", "s3://two/x"),
        ("/a/lake", "s3://two", "file:///a/lake/x", "s3://two/x"),
        ("/a", "/a/in", "/a/x", "/a/in/x"),
        ("/a", "/a/in", "/a/in/x", "/a/in/x"),
        ("/a", "/a/in", "/a/inner/x", "/a/in/inner/x"),
        ("/a/in", "/a", "/a/in/x", "/a/x"),
        ("/a/in", "/a", "/a/x", "/a/x"),
        ("/a", "/a", "/a/x", "/a/x"),
    ],
)
def test_an_address_moves_at_whole_names_and_once(old, new, address, moved):
    move = Move.of(old, new, f"{new.rstrip('/')}/gold/1/metadata/0.metadata.json")
    assert move(address) == moved
    assert move(moved) == moved


@pytest.mark.parametrize(("old", "new"), [("/a", "/a/gold"), ("/a/gold", "/a")])
def test_a_move_whose_addresses_could_be_of_both_places_is_refused(old, new):
    with pytest.raises(InvalidSetting, match="to another folder"):
        Move.of(old, new, f"{new}/gold/1/metadata/0.metadata.json")


def _bounds(least, greatest):
    return {
        "lower_bounds": [{"key": 7, "value": b"/a/lake/1"}, {"key": PATH, "value": least}],
        "upper_bounds": [{"key": PATH, "value": greatest}, {"key": 7, "value": b"/a/lake/2"}],
    }


def test_bounds_of_addresses_move_and_others_stay():
    entry = _bounds(b"/a/lake/x", b"/a/lake/y")
    for _ in range(2):
        move_bounds(entry, MOVE)
        assert entry == _bounds(b"/b/new/x", b"/b/new/y") | {
            "lower_bounds": [{"key": 7, "value": b"/a/lake/1"}, {"key": PATH, "value": b"/b/new/x"}],
            "upper_bounds": [{"key": PATH, "value": b"/b/new/y"}, {"key": 7, "value": b"/a/lake/2"}],
        }


@pytest.mark.parametrize(
    ("least", "greatest"), [(b"/a/la", b"/a/lb"), (b"/a/lake/x", b"/a/lakf"), (b"/a\xc3", b"/a/lake/y")]
)
def test_bounds_that_are_cut_short_go_on_both_sides(least, greatest):
    entry = _bounds(least, greatest)
    move_bounds(entry, MOVE)
    assert entry == {
        "lower_bounds": [{"key": 7, "value": b"/a/lake/1"}],
        "upper_bounds": [{"key": 7, "value": b"/a/lake/2"}],
    }


def test_an_entry_without_bounds_stays():
    for entry in ({"lower_bounds": None, "upper_bounds": None}, {}):
        standing = dict(entry)
        move_bounds(entry, MOVE)
        assert entry == standing


def _field(name, kind, number, may_be_null=False):
    return pa.field(name, kind, may_be_null, {"PARQUET:field_id": str(number)})


@pytest.mark.parametrize("codec", ["NONE", "ZSTD", "GZIP", "SNAPPY"])
def test_position_deletes_keep_all_but_the_folder(codec):
    old = pa.struct([_field("id", pa.int64(), 1, True)])
    schema = pa.schema(
        [
            _field("file_path", pa.string(), PATH),
            _field("pos", pa.int64(), 2147483545),
            _field("row", old, 2147483544, True),
        ],
        metadata={"delete-type": "position"},
    )
    rows = [{"file_path": f"/a/lake/{at // 5}", "pos": at, "row": {"id": at}} for at in range(10)]
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema), sink, row_group_size=4, compression=codec, store_schema=False)
    data = move_positions(sink.getvalue(), MOVE)
    moved, before = pq.ParquetFile(io.BytesIO(data)), pq.ParquetFile(sink)
    assert moved.read().to_pylist() == [row | {"file_path": f"/b/new/{row['pos'] // 5}"} for row in rows]
    assert moved.schema_arrow.equals(before.schema_arrow, check_metadata=True)
    assert moved.schema.equals(before.schema)
    assert moved.metadata.metadata == before.metadata.metadata
    assert moved.metadata.num_row_groups == before.metadata.num_row_groups == 3
    assert {moved.metadata.row_group(0).column(at).compression for at in range(3)} == {
        before.metadata.row_group(0).column(0).compression
    }
    assert move_positions(data, MOVE) == data


def _puffin(*blobs):
    parts, facts, at = [b"PFA1"], [], 4
    for number, (file, blob) in enumerate(blobs):
        properties = {"cardinality": "1"} | ({} if file is None else {"referenced-data-file": file})
        facts.append(
            {"type": "deletion-vector-v1", "fields": [number], "snapshot-id": -1, "sequence-number": -1, "offset": at}
            | {"length": len(blob), "properties": properties}
        )
        parts.append(blob)
        at += len(blob)
    footer = json.dumps({"blobs": facts, "properties": {"created-by": "Ä"}}).encode()
    return b"".join((*parts, b"PFA1", footer, len(footer).to_bytes(4, "little"), bytes(4), b"PFA1"))


def test_vectors_stay_where_they_are_in_their_file_and_their_addresses_move():
    data = _puffin(("/a/lake/x", b"one"), ("/a/lake2/y", b"three"), (None, b"12"))
    moved = move_vectors(data, MOVE)
    before, after = PuffinFile(data), PuffinFile(moved)
    assert [after.get_blob_payload(blob) for blob in after.footer.blobs] == [b"one", b"three", b"12"]
    assert [blob.properties.get("referenced-data-file") for blob in after.footer.blobs] == [
        "/b/new/x",
        "/a/lake2/y",
        None,
    ]
    assert after.footer.properties == before.footer.properties
    assert moved[: moved.rindex(b"PFA1", 0, -4)] == data[: data.rindex(b"PFA1", 0, -4)]
    assert move_vectors(moved, MOVE) == moved


def test_a_file_that_is_no_file_of_vectors_is_refused():
    data = _puffin(("/a/lake/x", b"one"))
    packed = bytearray(data)
    packed[-8] = 1
    for bad, words in ((data[1:], "not a Puffin"), (data[:-1], "not a Puffin"), (bytes(packed), "compressed")):
        with pytest.raises(ValueError, match=words):
            move_vectors(bad, MOVE)
    with pytest.raises(ValueError, match="does not have the length"):
        move_vectors(data[:-12] + b"\x09" + data[-11:], MOVE)


SCHEMA = {
    "type": "record",
    "name": "entry",
    "field-id": 1,
    "fields": [
        {"name": "path", "type": "string", "field-id": 100},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}], "default": None, "field-id": 101},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}]},
        {
            "name": "price",
            "type": {"type": "fixed", "name": "d", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2},
        },
        {
            "name": "counts",
            "type": {
                "type": "array",
                "logicalType": "map",
                "items": {
                    "type": "record",
                    "name": "k1_v2",
                    "fields": [{"name": "key", "type": "int", "field-id": 1}, {"name": "value", "type": "bytes"}],
                },
            },
        },
    ],
}


@pytest.mark.parametrize("codec", ["null", "deflate", "bzip2"])
def test_records_change_and_no_other_byte_does(codec):
    """The values are some that Python's dates and times do not hold."""
    records = [
        {"path": f"/a/{at}", "day": 2**31 - 1 - at, "at": 2**62 + at, "price": bytes([at % 7] * 5), "counts": []}
        | {"counts": [{"key": key, "value": b"\xff" * key} for key in range(at % 4)]}
        for at in range(1000)
    ]
    sink = io.BytesIO()
    facts = {"content": "deletes", "schema": '{"type":"struct"}', "format-version": "3"}
    fastavro.writer(sink, SCHEMA, records, codec, metadata=facts, sync_interval=2000, sync_marker=b"m" * 16)
    data = sink.getvalue()

    def change(record):
        if record["path"] == "/a/500":
            record["path"] = "/longer/500"

    changed = change_records(data, change)
    assert list(read_records(changed)) == [
        record | {"path": "/longer/500"} if record["path"] == "/a/500" else record for record in records
    ]
    old, new = fastavro.block_reader(io.BytesIO(data)), fastavro.block_reader(io.BytesIO(changed))
    assert (old.metadata, old._header) == (new.metadata, new._header)
    differing = [one for one, two in zip(old, new, strict=True) if one.bytes_.getvalue() != two.bytes_.getvalue()]
    assert len(differing) == 1
    assert change_records(data, lambda record: None) == data


def test_vectors_of_a_moved_file_are_found_by_the_new_address():
    bitmap = BitMap([3, 5]).serialize()
    vector = b"\xd1\xd3\x39\x64" + (1).to_bytes(8, "little") + bytes(4) + bitmap
    blob = len(vector).to_bytes(4, "big") + vector + bytes(4)
    moved = PuffinFile(move_vectors(_puffin(("/a/lake/x", blob)), MOVE))
    (found,) = deletion_vectors_from_puffin_file(moved)
    assert (found.referenced_data_file, found.to_vector().to_pylist()) == ("/b/new/x", [3, 5])
