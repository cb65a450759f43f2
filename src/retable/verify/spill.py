"""Keep rows on disk and divide them into parts, so that only one part of a table is in memory at a time."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

NOWHERE = 0xFFFF
"""The part number of rows that belong to no part."""

MOST_PARTS = NOWHERE
"""The largest number of parts."""

_ROWS_AT_ONCE, _BYTES_AT_ONCE = 100_000, 256 << 20
"""`Spill.deal` sorts so many rows, or bytes, in memory."""


class Spill:
    """A temporary file of rows. First `write` all rows, then read them, at once or part by part.

    `deal` divides the rows into parts, and `part` reads the rows of one part. All written batches must have the same
    schema.
    """

    def __init__(self, path: Path) -> None:
        self.rows = 0
        self._path = path
        self._writing: pa.ipc.RecordBatchFileWriter | None = None
        self._parts: dict[int, list[int]] | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writing is None:
            options = pa.ipc.IpcWriteOptions(compression="zstd")
            self._writing = pa.ipc.new_file(str(self._path), batch.schema, options=options)
        self._writing.write_batch(batch)
        self.rows += batch.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all rows in the order of writing."""
        yield from self._read(None)

    def deal(self, parts: Iterable[int]) -> None:
        """Divide the rows into parts, once. `parts` has the part number of each row, in the order of writing.

        For a row that belongs to no part, it has the constant NOWHERE. While this runs, the rows are on disk twice.
        Afterwards a part is read without the others, and `batches` returns the rows part by part in some order.
        """
        dealt, batches, places = Spill(self._path.with_suffix(".dealt")), 0, defaultdict[int, list[int]](list)
        numbers = iter(parts)
        for batch in _pieces(self.batches()):
            mine = np.fromiter(islice(numbers, batch.num_rows), np.uint16, batch.num_rows)
            order = np.argsort(mine, kind="stable")
            found, starts = np.unique(mine[order], return_index=True)
            ends = np.append(starts, batch.num_rows)[1:]
            for number, start, end in zip(found.tolist(), starts.tolist(), ends.tolist(), strict=True):
                if number != NOWHERE:
                    dealt.write(batch.take(pa.array(order[start:end])))
                    places[number].append(batches)
                    batches += 1
        self._path.unlink(missing_ok=True)
        self._path, self._writing, self._parts, self.rows = dealt._path, dealt._writing, dict(places), dealt.rows

    def part(self, number: int) -> Iterator[pa.RecordBatch]:
        """Return the rows of part `number`, in the order of writing. If `deal` was not called, return all rows."""
        yield from self._read(None if self._parts is None else self._parts.get(number, []))

    def _read(self, numbers: Iterable[int] | None) -> Iterator[pa.RecordBatch]:
        """Return the written batches of these numbers, counted from 0. None means all."""
        with ExitStack() as stack:
            if self._writing is not None:
                self._writing.close()
                self._writing = None
            if self.rows:
                file = stack.enter_context(pa.memory_map(str(self._path)))
                reader = stack.enter_context(pa.ipc.open_file(file))
                for number in range(reader.num_record_batches) if numbers is None else numbers:
                    yield reader.get_batch(number)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the same rows in batches as large as `_ROWS_AT_ONCE` and `_BYTES_AT_ONCE` allow."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if waiting and (rows + batch.num_rows > _ROWS_AT_ONCE or size + batch.nbytes > _BYTES_AT_ONCE):
            yield pa.concat_batches(waiting)
            waiting, rows, size = [], 0, 0
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
    if waiting:
        yield pa.concat_batches(waiting)
