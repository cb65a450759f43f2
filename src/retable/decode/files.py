"""Write what one Spark task decoded of a window to data files of silver and quarantine, and count it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from hashlib import blake2b

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.manifest import DataFile

from retable.decode.outcome import Decoded, DecodeFailure
from retable.decode.silver import events_to_batch
from retable.decode.tally import Count, CountKey, join_tallies
from retable.ledger.lake.data_files import PartitionWriter
from retable.ledger.lake.tables import QUARANTINE

_ORDER = [(name, "ascending") for name in ("database", "schema", "table", "key_hash")]
"""The order of rows in a file. With it, a reader of some keys of one table can skip most of the file. Rows of one key
keep the order of bronze."""

_WHEN = "quarantined_at"
_BYTES = 64 << 20
_FAULTS = 20_000
_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class TaskOutput:
    """Where and how a Spark task writes the decoded rows of a window.

    `silver` and `quarantine` are the writers of the data files of these tables. `decoder` (the version of the decoder)
    and `now` are stored in each quarantine row. If `digests` is True, the task computes a digest of its rows, to
    compare them with rows of an earlier run. `limit` is the maximum number of quarantine rows that the task writes;
    further rows are only counted.
    """

    window: str
    silver: PartitionWriter
    quarantine: PartitionWriter
    decoder: str
    now: datetime
    digests: bool
    limit: int


@dataclass(slots=True)
class LayerFiles:
    """The new files of one layer (silver or quarantine), and the digest of their rows; 0 if none was asked for."""

    files: list[DataFile] = field(default_factory=list)
    digest: int = 0

    @property
    def rows(self) -> int:
        return sum(file.record_count for file in self.files)

    def join(self, other: "LayerFiles") -> None:
        self.files += other.files
        self.digest = join_digests((self.digest, other.digest))


@dataclass(slots=True)
class TaskResult:
    """The result of one Spark task, or of all tasks of a window together."""

    silver: LayerFiles = field(default_factory=LayerFiles)
    quarantine: LayerFiles = field(default_factory=LayerFiles)
    tally: dict[CountKey, Count] = field(default_factory=dict)

    def join(self, other: "TaskResult") -> None:
        self.silver.join(other.silver)
        self.quarantine.join(other.quarantine)
        join_tallies(self.tally, other.tally)


def store(decoded: Iterable[Decoded], output: TaskOutput) -> TaskResult:
    """Write decoded events and failures to data files of limited size. Return these files and the counts.

    The files are not committed: no snapshot of silver or quarantine contains them yet.
    """
    result = TaskResult()
    batches: list[pa.RecordBatch] = []
    faults: list[DecodeFailure] = []
    for each in decoded:
        join_tallies(result.tally, each.tally)
        batches.append(events_to_batch(output.window, each.stored))
        room = output.limit - result.quarantine.rows - len(faults)
        faults += each.faults[: max(room, 0)]
        if sum(batch.nbytes for batch in batches) >= _BYTES or len(faults) >= _FAULTS:
            _write(batches, faults, output, result)
            batches, faults = [], []
    _write(batches, faults, output, result)
    return result


def _write(batches: list[pa.RecordBatch], faults: list[DecodeFailure], output: TaskOutput, result: TaskResult) -> None:
    if any(batch.num_rows for batch in batches):
        events = pa.Table.from_batches(batches)
        for kind in events["kind"].unique().to_pylist():
            rows = events.filter(pc.field("kind") == kind).sort_by(_ORDER)
            _put(rows, {"window": output.window, "kind": kind}, output.silver, result.silver, output.digests)
    if faults:
        place = {"stage": "decode", "window": output.window}
        made = {**place, "decoder_version": output.decoder, _WHEN: output.now}
        rows = pa.Table.from_pylist([_record(fault) | made for fault in faults], schema=QUARANTINE.columns)
        _put(rows, place, output.quarantine, result.quarantine, output.digests)


def _put(rows: pa.Table, values: dict[str, str], writer: PartitionWriter, layer: LayerFiles, digests: bool) -> None:
    layer.files.append(writer.write(rows, values))
    if digests:
        layer.digest = join_digests((layer.digest, digest_rows(rows)))


def _record(fault: DecodeFailure) -> dict[str, object]:
    table = asdict(fault.table) if fault.table else {}
    return {name: value for name, value in asdict(fault).items() if name != "table"} | table


def digest_rows(rows: pa.Table | pa.RecordBatch) -> int:
    """Return a digest of rows. It does not depend on their order or on the column `quarantined_at`."""
    digests = (
        int.from_bytes(blake2b(msgspec.msgpack.encode(row), digest_size=_DIGEST_BYTES).digest())
        for row in rows.drop_columns([name for name in rows.column_names if name == _WHEN]).to_pylist()
    )
    return join_digests(digests)


def join_digests(digests: Iterable[int]) -> int:
    """Return the digest of all rows, from the digests of single rows or of groups of rows (`digest_rows`)."""
    return sum(digests) % (1 << (8 * _DIGEST_BYTES))
