"""Deletion vectors that Retable writes: Iceberg's other readers find the same rows, and damage is an error."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.deletion_vector import DeletionVector, deletion_vectors_from_puffin_file
from pyiceberg.table.puffin import PuffinFile

from retable.errors import DamagedFile
from retable.gold.iceberg.deletion_vectors import Vector, positions_of, write_vectors
from retable.ledger.lake.checksums import read_positions

IO = PyArrowFileIO()
POSITIONS = st.lists(st.integers(0, 300) | st.integers(0, 2**34), min_size=1, max_size=60, unique=True).map(sorted)


def written(folder, deleted):
    path = str(folder / "a.puffin")
    bitmaps = {name: positions_of(pa.array(rows, pa.int64())) for name, rows in deleted.items()}
    return path, *write_vectors(IO, path, bitmaps)


def read(vector: Vector) -> list[int]:
    return [*read_positions(IO, vector.path, offset=vector.offset, size=vector.size, count=vector.count)]


def positions(vector: DeletionVector) -> list[int]:
    """What pyiceberg reads. Its own `to_vector` fails if all positions are above 2^32."""
    return [(high << 32) + low for high, bitmap in enumerate(vector._bitmaps) for low in bitmap]


@given(deleted=st.dictionaries(st.text(min_size=1, max_size=9), POSITIONS, min_size=1, max_size=4))
def test_each_reader_finds_the_rows_that_were_written(tmp_path_factory, deleted):
    path, size, vectors = written(tmp_path_factory.mktemp("vectors"), deleted)
    content = Path(path).read_bytes()
    assert size == len(content)
    assert {each.data_file: read(each) for each in vectors} == deleted
    assert [each.count for each in vectors] == [*map(len, deleted.values())]
    assert all(each.path == path for each in vectors)
    found = deletion_vectors_from_puffin_file(PuffinFile(content))
    assert {each.referenced_data_file: positions(each) for each in found} == deleted


def test_a_vector_that_is_not_the_one_of_its_manifest_is_an_error_that_names_the_file(tmp_path):
    path, _, (first, second) = written(tmp_path, {"a": [1, 2], "b": [3]})
    with pytest.raises(DamagedFile, match="has 2 rows; its manifest says 1") as caught:
        read(replace(second, offset=first.offset, size=first.size))
    assert caught.value.facts == {"path": path}
    whole = Path(path).read_bytes()
    for end in (first.offset, second.offset - 1):
        Path(path).write_bytes(whole[:end])
        with pytest.raises(DamagedFile, match="ends inside a deletion vector"):
            read(first)
    Path(path).write_bytes(whole)
    for offset in (first.offset + 1, second.offset + 1):
        with pytest.raises(DamagedFile):
            read(replace(first, offset=offset))
