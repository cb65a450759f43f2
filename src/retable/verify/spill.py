"""Keep rows on disk and divide them into parts, so that only one part of a table is in memory at a time."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

NOWHERE = 0xFFFF
"""The part number of rows that belong to no part."""

MOST_PARTS = NOWHERE
"""The largest number of parts."""


class Spill:
    """A temporary file of rows. First `write` all rows, then read them, at once or part by part.

    `deal` assigns each row to a part, and `part` reads the rows of one part. All written batches must have the same
    schema.
    """

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._path = path
        self._writing: pa.ipc.RecordBatchFileWriter | None = None
        self._parts: array[int] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writing is None:
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writing = pa.ipc.new_file(str(self._path), batch.schema, options=options)
        self._writing.write_batch(batch)
        self.rows += batch.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all rows in the order of writing."""
        with ExitStack() as stack:
            if self._writing is not None:
                self._writing.close()
                self._writing = None
            if self.rows:
                file = stack.enter_context(pa.memory_map(str(self._path)))
                reader = stack.enter_context(pa.ipc.open_file(file))
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)

    def deal(self, parts: Iterable[int]) -> None:
        """Assign each row to a part. `parts` has the part number of each row, in the order of writing.

        For a row that belongs to no part, it has the constant NOWHERE.
        """
        self._parts = array("H", parts)

    def part(self, number: int) -> Iterator[pa.RecordBatch]:
        """Return the rows of part `number`, in the order of writing. If `deal` was not called, return all rows."""
        at = 0
        for batch in self.batches():
            if self._parts is not None:
                mine = pa.array(self._parts[at : at + batch.num_rows], pa.uint16())
                at += batch.num_rows
                batch = batch.filter(pc.equal(mine, number))
            if batch.num_rows:
                yield batch
