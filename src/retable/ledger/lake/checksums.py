"""Write data files with checksums of their Parquet pages, and verify the checksums when the files are read.

A damaged page then raises DamagedFile instead of giving wrong rows.

pyiceberg has no options for this. So this module patches pyiceberg, for all reads and writes through it
(docs/decisions/2026-11-24-checksums-of-pages.md). Footers and page headers have no checksum.
"""

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyiceberg.exceptions import ValidationError
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.io import pyarrow as iceberg
from pyiceberg.io.fileformat import FileFormatFactory
from pyiceberg.io.pyarrow import ParquetFormatModel, ParquetFormatWriter, write_file
from pyiceberg.manifest import DataFile, FileFormat, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import FileScanTask, snapshots
from pyiceberg.table.deletion_vector import DeletionVector, deletion_vectors_from_puffin_file
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.puffin import PuffinFile
from pyiceberg.typedef import Properties

from retable.errors import RetableError
from retable.ledger.lake.damage import damaged_file, missing_file

__all__ = ["deleted_rows", "open_parquet", "read_vector", "write_file"]

_STORE = "AWS Error"
"""The text in Arrow's error if a bucket did not return a file. Such an error does not mean that the file is damaged."""

_AROUND = 4
"""The number of bytes of a deletion vector that its checksum does not cover: at the start its length, and at the end
the checksum itself."""

_Deletes = dict[str, pa.ChunkedArray]


@contextmanager
def open_parquet(io: FileIO, path: str) -> Iterator[pq.ParquetFile]:
    """Open a Parquet data file. Its pages are checked when they are read. Raise DamagedFile if it cannot be read."""
    with _reading(path), io.new_input(path).open() as stream:
        yield pq.ParquetFile(stream, pre_buffer=True, page_checksum_verification=True)


def read_vector(io: FileIO, path: str, offset: int, size: int) -> bytes:
    """Read the deletion vector at this offset of a file, and check it. Raise DamagedFile if it cannot be read."""
    with _reading(path), io.new_input(path).open() as stream:
        stream.seek(offset)
        vector = stream.read(size)
        if len(vector) < size:
            raise ValueError("the file ends inside a deletion vector")
        _check_vector(vector)
        return vector


def deleted_rows(io: FileIO, task: FileScanTask) -> npt.NDArray[np.int64]:
    """Return the positions, from 0, of the deleted rows of a data file.

    Raise DamagedFile if a delete file cannot be read.
    """
    path = task.file.file_path
    found = [deletes[path] for file in task.delete_files if path in (deletes := iceberg._read_deletes(io, file))]
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


def _check_vector(vector: bytes) -> None:
    if zlib.crc32(vector[_AROUND:-_AROUND]) != int.from_bytes(vector[-_AROUND:], "big"):
        raise ValueError("the checksum of a deletion vector does not match")


def _vectors_checked(read: Callable[..., list[DeletionVector]]) -> Callable[..., list[DeletionVector]]:
    @wraps(read)
    def read_checked(puffin_file: PuffinFile) -> list[DeletionVector]:
        for blob in puffin_file.footer.blobs:
            _check_vector(puffin_file.get_blob_payload(blob))
        return read(puffin_file)

    return read_checked


def _metadata_named(read: Callable[..., TableMetadata]) -> Callable[..., TableMetadata]:
    @wraps(read)
    def read_named(input_file: InputFile, *args: Any, **options: Any) -> TableMetadata:
        with _reading(path := input_file.location):
            try:
                return read(input_file, *args, **options)
            except (ValueError, ValidationError) as error:
                raise damaged_file(path, "its content is not the metadata of an Iceberg table") from error

    return read_named


def _manifest_named(read: Callable[..., list[ManifestEntry]]) -> Callable[..., list[ManifestEntry]]:
    @wraps(read)
    def read_named(manifest: ManifestFile, *args: Any, **options: Any) -> list[ManifestEntry]:
        with _reading_avro(manifest.manifest_path):
            return read(manifest, *args, **options)

    return read_named


def _list_named(read: Callable[..., tuple[ManifestFile, ...]]) -> Callable[..., tuple[ManifestFile, ...]]:
    @wraps(read)
    def read_named(io: FileIO, manifest_list: str) -> tuple[ManifestFile, ...]:
        with _reading_avro(manifest_list):
            return read(io, manifest_list)

    return read_named


FileFormatFactory._registry[FileFormat.PARQUET] = _Parquet()
iceberg._get_file_format = lru_cache(_checked(iceberg._get_file_format))
iceberg._task_to_record_batches = _rows_named(iceberg._task_to_record_batches)
iceberg._read_deletes = _deletes_named(iceberg._read_deletes)
iceberg.deletion_vectors_from_puffin_file = _vectors_checked(  # type: ignore[attr-defined]  # a name imported there
    deletion_vectors_from_puffin_file
)
# pyiceberg has no hook for reading metadata and manifests.
FromInputFile.table_metadata = _metadata_named(FromInputFile.table_metadata)  # type: ignore[method-assign]  # no hook
ManifestFile.fetch_manifest_entry = _manifest_named(  # type: ignore[method-assign]  # pyiceberg has no hook there
    ManifestFile.fetch_manifest_entry
)
snapshots._manifests = _list_named(snapshots._manifests)  # type: ignore[attr-defined]  # a name imported there
