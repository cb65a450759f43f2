"""Files by which a Spark task passes rows to other tasks. They are in the folder of the gold table that is changed.

No snapshot refers to these files. If a task dies, the removal of orphan files removes the files that it left.
"""

import uuid
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, chain

import pyarrow as pa
from pyiceberg.io import FileIO

_ENDS = b"retable_ends"
"""Metadata key of an exchange file, which contains one or more Arrow tables.

Its value is 0, then for each table the number of record batches from the start of the file to the end of that table.
"""


@dataclass(frozen=True, slots=True)
class FileExchange:
    """Passes rows from one Spark task to another in Arrow IPC files in the folder `folder`.

    It implements `retable.gold.store.Exchange`. The name under which rows are stored is the path of their file.
    """

    io: FileIO
    folder: str

    def put(self, parts: Iterable[pa.Table]) -> str:
        path = f"{self.folder}/{uuid.uuid4()}.arrow"
        whole = map(pa.Table.combine_chunks, parts)
        first = next(whole)
        batches = [first.to_batches(), *(part.to_batches() for part in whole)]
        ends = accumulate(map(len, batches), initial=0)
        schema = first.schema.with_metadata({_ENDS: ",".join(map(str, ends))})
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with (
            self.io.new_output(path).create() as stream,
            pa.ipc.new_file(stream, schema, options=options) as writer,
        ):
            for batch in chain.from_iterable(batches):
                writer.write_batch(batch)
        return path

    def get(self, name: str, part: int = 0, columns: Seq[int] | None = None) -> pa.Table:
        options = pa.ipc.IpcReadOptions(included_fields=None if columns is None else sorted(columns))
        with self.io.new_input(name).open() as stream, pa.ipc.open_file(stream, options=options) as reader:
            ends = [int(end) for end in reader.schema.metadata[_ENDS].split(b",")]
            batches = [reader.get_batch(at) for at in range(ends[part], ends[part + 1])]
            found = pa.Table.from_batches(batches, reader.schema).replace_schema_metadata()
        return found if columns is None else found.select([sorted(columns).index(at) for at in columns])

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                self.io.delete(name)
