"""Rows that one task leaves for another come as they were, each part by itself."""

import pickle
from pathlib import Path

import pyarrow as pa
from pyiceberg.io.pyarrow import PyArrowFileIO

from retable.gold.iceberg.exchange import FileExchange


def test_each_part_is_read_by_itself(tmp_path: Path) -> None:
    exchange = FileExchange(PyArrowFileIO(), str(tmp_path))
    rows = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], [None, "z"]])})
    parts = [rows, rows.slice(0, 0), rows.slice(1)]
    name = exchange.put(iter(parts))
    exchange = pickle.loads(pickle.dumps(exchange))
    assert [exchange.get(name, at) for at in range(3)] == parts
    assert [exchange.get(name, at, [1, 0]) for at in range(3)] == [part.select(["b", "a"]) for part in parts]
    assert exchange.get(name, columns=[1]) == rows.select(["b"])
    assert exchange.get(name).schema.metadata is None
    exchange.remove([name])
    assert list(tmp_path.iterdir()) == []
