"""Rows that tasks leave for one another, as files in the folder of the table that they change.

No table points at them: what a task that died has left is removed as an orphan.
"""

import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.io import FileIO


@dataclass(frozen=True, slots=True)
class FileExchange:
    """Files of Arrow's own format in one folder (`Exchange`)."""

    io: FileIO
    folder: str

    def put(self, rows: pa.Table) -> str:
        path = f"{self.folder}/{uuid.uuid4()}.arrow"
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            self.io.new_output(path).create() as stream,
            pa.ipc.new_stream(stream, rows.schema, options=options) as writer,
        ):
            writer.write_table(rows)
        return path

    def get(self, name: str) -> pa.Table:
        with self.io.new_input(name).open() as stream, pa.ipc.open_stream(stream) as reader:
            return reader.read_all()

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                self.io.delete(name)
