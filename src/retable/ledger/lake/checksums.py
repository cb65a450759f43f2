"""Write data files with checksums of their Parquet pages, and verify the checksums when the files are read.

A damaged page then raises DamagedFile instead of giving wrong rows. A deletion vector is read from where the manifest
says that it is, for the data file that the manifest names: the footer of its Puffin file has no checksum.

pyiceberg has no options for this. So this module patches pyiceberg, for all reads and writes through it
(docs/decisions/2026-11-24-checksums-of-pages.md, docs/decisions/2026-11-28-vectors-are-read-by-their-manifest.md).
Footers and page headers of Parquet files have no checksum.
"""

import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from io import BytesIO
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from cachetools import LRUCache
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.io import pyarrow as iceberg
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.io.pyarrow import ParquetFormatModel, ParquetFormatWriter, write_file
from pyiceberg.manifest import DATA_FILE_TYPE, MANIFEST_ENTRY_SCHEMAS, DataFile, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask, delete_file_index, snapshots
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Properties
from pyiceberg.utils.concurrent import ExecutorFactory
from pyroaring import BitMap64

from retable.errors import RetableError
from retable.ledger.lake.damage import damaged_file, missing_file

__all__ = ["deleted_rows", "open_parquet", "read_positions", "write_file"]

_STORE = "AWS Error"
"""The text in Arrow's error if a bucket did not return a file. Such an error does not mean that the file is damaged."""

_AROUND = 4
"""The number of bytes of a deletion vector that its checksum does not cover: at the start its length, and at the end
the checksum itself."""
_TABLES, _SMALL_METADATA = 64, 200_000
_MANIFESTS, _SMALL_MANIFEST = 128, 10_000
"""The numbers of parsed files that are kept, and the largest size of such a file in bytes. A manifest of this size has
some 30 data files."""
_MAGIC = 4
"""The number of bytes with which a vector begins, after its length."""

_Deletes = dict[str, pa.ChunkedArray]
_AllDeletes = dict[str, list[pa.ChunkedArray]]
T = TypeVar("T")

_PLACE = {field.name: at for at, field in enumerate(DATA_FILE_TYPE[3].fields)}
"""Where the record of a data file has each of its fields."""


@contextmanager
def open_parquet(io: FileIO, path: str) -> Iterator[pq.ParquetFile]:
    """Open a Parquet data file. Its pages are checked when they are read. Raise DamagedFile if it cannot be read."""
    with _reading(path), io.new_input(path).open() as stream:
        yield pq.ParquetFile(stream, pre_buffer=True, page_checksum_verification=True)


def read_positions(io: FileIO, path: str, *, offset: int, size: int, count: int) -> BitMap64:
    """Return the positions of the deleted rows from one deletion vector of a Puffin file.

    The vector begins at the byte `offset` of the file and is `size` bytes long. `count` is the number of deleted rows
    that the manifest records for it. Raise DamagedFile if the vector cannot be read, has a wrong checksum, or has
    another number of rows.
    """
    with _reading(path), io.new_input(path).open() as stream:
        stream.seek(offset)
        vector = stream.read(size)
        if len(vector) < size:
            raise ValueError("the file ends inside a deletion vector")
        if zlib.crc32(vector[_AROUND:-_AROUND]) != int.from_bytes(vector[-_AROUND:], "big"):
            raise ValueError("the checksum of a deletion vector does not match")
        found: BitMap64 = BitMap64.deserialize(vector[_AROUND + _MAGIC : -_AROUND])
        if len(found) != count:
            raise ValueError(f"a deletion vector has {len(found)} rows; its manifest says {count}")
        return found


def deleted_rows(io: FileIO, task: FileScanTask) -> npt.NDArray[np.int64]:
    """Return the positions, from 0, of the deleted rows of a data file.

    Raise DamagedFile if a delete file cannot be read.
    """
    found = iceberg._read_all_delete_files(io, [task]).get(task.file.file_path, [])
    return np.concatenate([np.asarray(each.combine_chunks(), np.int64) for each in found] or [np.zeros(0, np.int64)])


@contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turn an error of the `with` block into DamagedFile for this file.

    Errors of the disk, the network or the memory stay as they are.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise missing_file(path) from error
    except (OSError, ValueError, pa.ArrowException) as error:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None or _STORE in str(error):
            raise
        raise damaged_file(path, str(error)) from error


@contextmanager
def _reading_avro(path: str) -> Iterator[None]:
    """Turn an error of the `with` block into DamagedFile for this manifest or manifest list (`_reading`).

    The reader of Avro may raise any error if the bytes are not Avro.
    """
    try:
        with _reading(path):
            yield
    except (RetableError, OSError, MemoryError):
        raise
    except Exception as error:  # the reader of Avro has no error class for bytes that are not Avro: any may come
        raise damaged_file(path, str(error) or type(error).__name__) from error


class _Writer(ParquetFormatWriter):
    def __init__(self, output_file: OutputFile, file_schema: Schema, properties: Properties) -> None:
        super().__init__(output_file, file_schema, properties)
        self._parquet_writer_kwargs["write_page_checksum"] = True


class _Parquet(ParquetFormatModel):
    def create_writer(self, output_file: OutputFile, file_schema: Schema, properties: Properties) -> _Writer:
        return _Writer(output_file, file_schema, properties)


def _checked(make: Callable[..., ds.FileFormat]) -> Callable[..., ds.FileFormat]:
    def make_checked(file_format: FileFormat, **options: Any) -> ds.FileFormat:
        check = {"page_checksum_verification": True} if file_format == FileFormat.PARQUET else {}
        return make(file_format, **options, **check)

    return make_checked


def _rows_named(read: Callable[..., Iterator[pa.RecordBatch]]) -> Callable[..., Iterator[pa.RecordBatch]]:
    @wraps(read)
    def read_named(io: FileIO, task: FileScanTask, *args: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        with _reading(task.file.file_path):
            yield from read(io, task, *args, **options)

    return read_named


def _deletes_named(read: Callable[..., _Deletes]) -> Callable[..., _Deletes]:
    @wraps(read)
    def read_named(io: FileIO, data_file: DataFile) -> _Deletes:
        with _reading(data_file.file_path):
            return read(io, data_file)

    return read_named


def _vectors_by_manifest(read: Callable[..., _AllDeletes]) -> Callable[..., _AllDeletes]:
    @wraps(read)
    def read_all(io: FileIO, tasks: Iterable[FileScanTask]) -> _AllDeletes:
        files = [(task.file, deletes) for task in tasks for deletes in task.delete_files]
        vectors = [(data.file_path, deletes) for data, deletes in files if _is_vector(deletes)]
        found = read(io, [FileScanTask(data, {deletes}) for data, deletes in files if not _is_vector(deletes)])
        rows = ExecutorFactory.get_or_create().map(lambda vector: _vector(io, vector[1]), vectors)
        for (path, _), positions in zip(vectors, rows, strict=True):
            found.setdefault(path, []).append(positions)
        return found

    return read_all


def _vector(io: FileIO, deletes: DataFile) -> pa.ChunkedArray:
    offset, size = deletes[_PLACE["content_offset"]], deletes[_PLACE["content_size_in_bytes"]]
    if offset is None or size is None:
        raise damaged_file(deletes.file_path, "its manifest does not say where its deletion vector is")
    found = read_positions(io, deletes.file_path, offset=offset, size=size, count=deletes.record_count)
    return pa.chunked_array([pa.array(np.asarray(found.to_array(), np.int64))])


def _is_vector(deletes: DataFile) -> bool:
    return deletes.file_format == FileFormat.PUFFIN


def _data_file_named(find: Callable[..., str | None]) -> Callable[..., str | None]:
    @wraps(find)
    def find_named(delete_file: DataFile) -> str | None:
        named: str | None = delete_file[_PLACE["referenced_data_file"]]
        return named or find(delete_file)

    return find_named


class _Content(InputFile):
    """A file whose content has been read. It stands for a FileIO, too, that has only this file."""

    def __init__(self, file: InputFile) -> None:
        super().__init__(file.location)
        with file.open() as stream:
            self.content = stream.read()

    def __len__(self) -> int:
        return len(self.content)

    def exists(self) -> bool:
        return True

    def open(self, *_: object, **__: object) -> BytesIO:
        return BytesIO(self.content)

    def new_input(self, location: str) -> InputFile:
        return self


class _Parsed(Generic[T]):
    """What was found in files of at most `size` bytes, by their content, for the last `count` of them.

    One command reads the metadata and the manifests of a table many times. A file that changed is parsed again.
    """

    def __init__(self, count: int, size: int) -> None:
        self._found: LRUCache[Hashable, list[T]] = LRUCache(count)
        self._size = size
        self._lock = Lock()

    def get(self, file: _Content, place: Hashable, parse: Callable[[], Iterable[T]]) -> list[T]:
        """Return what `parse` finds in a file, from the cache if the same content was parsed with the same `place`.

        The result depends on the content of the file and on `place`, such as the arguments of `parse`. The cache does
        not keep the result for a file larger than the limit (`size` of the constructor).
        """
        if len(file) > self._size:
            return list(parse())
        with self._lock:
            found = self._found.get(key := (file.content, place))
        if found is None:
            found = list(parse())
            with self._lock:
                self._found[key] = found
        return list(found)


def _metadata_named(read: Callable[..., TableMetadata]) -> Callable[..., TableMetadata]:
    parsed = _Parsed[TableMetadata](_TABLES, _SMALL_METADATA)

    @wraps(read)
    def read_named(input_file: InputFile, *args: Any, **options: Any) -> TableMetadata:
        with _reading(path := input_file.location):
            file = _Content(input_file)
            try:
                return parsed.get(file, args, lambda: [read(file, *args, **options)])[0]
            except (ValueError, ValidationError) as error:
                raise damaged_file(path, "its content is not the metadata of an Iceberg table") from error

    return read_named


def _manifest_named(read: Callable[..., list[ManifestEntry]]) -> Callable[..., list[ManifestEntry]]:
    parsed = _Parsed[ManifestEntry](_MANIFESTS, _SMALL_MANIFEST)

    @wraps(read)
    def read_named(manifest: ManifestFile, io: FileIO, discard_deleted: bool = True) -> list[ManifestEntry]:
        inherited = (manifest.added_snapshot_id, manifest.sequence_number, manifest.partition_spec_id)
        with _reading_avro(manifest.manifest_path):
            file = _Content(io.new_input(manifest.manifest_path))
            return parsed.get(file, (inherited, discard_deleted), lambda: read(manifest, file, discard_deleted))

    return read_named


def _list_named(read: Callable[..., tuple[ManifestFile, ...]]) -> Callable[..., tuple[ManifestFile, ...]]:
    parsed = _Parsed[ManifestFile](_MANIFESTS, _SMALL_MANIFEST)

    @wraps(read)
    def read_named(io: FileIO, manifest_list: str) -> tuple[ManifestFile, ...]:
        with _reading_avro(manifest_list):
            file = _Content(io.new_input(manifest_list))
            return tuple(parsed.get(file, None, lambda: read(file, manifest_list)))

    return read_named


FileFormatFactory._registry[FileFormat.PARQUET] = _Parquet()
iceberg._get_file_format = lru_cache(_checked(iceberg._get_file_format))
iceberg._task_to_record_batches = _rows_named(iceberg._task_to_record_batches)
iceberg._read_deletes = _deletes_named(iceberg._read_deletes)
iceberg._read_all_delete_files = _vectors_by_manifest(iceberg._read_all_delete_files)
# pyiceberg reads manifests without the fields that say which data file a delete file belongs to, and where it is.
MANIFEST_ENTRY_SCHEMAS[2] = MANIFEST_ENTRY_SCHEMAS[3]
delete_file_index._referenced_data_file_path = _data_file_named(delete_file_index._referenced_data_file_path)
# pyiceberg has no hook for reading metadata and manifests.
FromInputFile.table_metadata = _metadata_named(FromInputFile.table_metadata)  # type: ignore[method-assign]  # no hook
ManifestFile.fetch_manifest_entry = _manifest_named(  # type: ignore[method-assign]  # pyiceberg has no hook there
    ManifestFile.fetch_manifest_entry
)
snapshots._manifests = _list_named(snapshots._manifests)  # type: ignore[attr-defined]  # a name imported there
