"""Keep rows on disk between two passes over them, so that memory holds one part of a table at a time."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

NOWHERE = 0xFFFF
"""The part number of rows that belong to no part."""

MOST_PARTS = NOWHERE


class Spill:
    """Batches of one schema in a separate file, in the order of writing. Each row is in one part."""

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
        """Give all rows, from the first."""
        with ExitStack() as stack:
            if self._writing is not None:
                self._writing.close()
                self._writing = None
            if self.rows:
                file = stack.enter_context(pa.memory_map(str(self._path)))
                reader = stack.enter_context(pa.ipc.open_file(file))
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)

    def deal(self, part_of: Callable[[pa.RecordBatch], Sequence[int]]) -> None:
        """Give each row its part."""
        parts = array("H")
        for batch in self.batches():
            parts.extend(part_of(batch))
        self._parts = parts

    def part(self, number: int) -> Iterator[pa.RecordBatch]:
        """Give the rows of one part in order, or all rows if `deal` was not called."""
        at = 0
        for batch in self.batches():
            if self._parts is not None:
                mine = pa.array(self._parts[at : at + batch.num_rows], pa.uint16())
                at += batch.num_rows
                batch = batch.filter(pc.equal(mine, number))
            if batch.num_rows:
                yield batch
