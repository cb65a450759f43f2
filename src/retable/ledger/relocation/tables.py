"""Rewrite all addresses of files in the metadata of a table that was moved, in place.

This includes metadata files, manifest lists, manifests and delete files. Iceberg's own action reads the files at their
old location, which no longer exists after a move. This module needs only the files at their present location, and no
JVM.
"""

import gzip
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, TypeVar

from pyiceberg.io import FileIO

from retable.errors import NotFound
from retable.ledger.relocation.addresses import Move, plain, read_whole, understood, write_whole
from retable.ledger.relocation.avro_blocks import AvroRecord, change_records, read_records
from retable.ledger.relocation.delete_files import move_bounds, move_positions, move_vectors

_WRITERS, _WAITING = 8, 16
_GZIP = b"\x1f\x8b"
_LOG, _LISTS = ("metadata-log", "metadata-file"), ("snapshots", "manifest-list")
_STATISTICS = (("statistics", "statistics-path"), ("partition-statistics", "statistics-path"))
_DELETED, _POSITION_DELETES, _DELETES = 2, 1, 1
_CHANGES = {"PARQUET": move_positions, "PUFFIN": move_vectors}

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Relocated:
    """The result of rewriting the addresses of a table.

    `written` is the number of replaced files. `missing` are files that the metadata names but that do not exist.
    `outside` are folders of files that are neither under the old nor under the new folder; their addresses stay.
    """

    written: int
    missing: tuple[str, ...]
    outside: tuple[str, ...]


def relocate_table(io: FileIO, metadata_path: str, old: str, new: str) -> Relocated:
    """Rewrite every address in the metadata of a table: `old/x` becomes `new/x`.

    `metadata_path` is the address of the table's metadata file under `new`. Only files under `new` are written, and
    data files are neither read nor written. If the function is killed, call it again: each file is replaced as a whole,
    after all files that it names. No other process may change the table meanwhile.
    """
    work = _Relocation(io, Move.of(old, new, metadata_path))
    work.relocate(plain(metadata_path))
    return Relocated(len(work.written), tuple(sorted(work.missing)), tuple(sorted(work.outside)))


def addresses(io: FileIO, *metadata_paths: str) -> Iterator[str]:
    """Yield the address of every file that the given metadata files of one table name, each once.

    The given metadata files come last. Local paths have no `file:`. A file may be missing; this is common for older
    metadata files.
    """

    def read_manifests(path: str) -> list[str]:
        return [plain(row["manifest_path"]) for row in _records(path, read_whole(io, path))]

    def read_files(path: str) -> list[str]:
        entries = _records(path, read_whole(io, path))
        return [plain(entry["data_file"]["file_path"]) for entry in entries if entry["status"] != _DELETED]

    documents = [_read_document(io, path) for path in metadata_paths]
    lists = {path for document in documents for path in _named(document, _LISTS)}
    others = {path for document in documents for path in _named(document, _LOG, *_STATISTICS)}
    yield from (others | lists) - set(map(plain, metadata_paths))
    manifests = {path for found in _at_once(read_manifests, lists) for path in found}
    yield from manifests
    seen: set[bytes] = set()
    for path in (path for found in _at_once(read_files, manifests) for path in found):
        digest = blake2b(path.encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield path
    yield from map(plain, metadata_paths)


@dataclass(frozen=True, slots=True)
class _Relocation:
    io: FileIO
    move: Move
    written: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)

    def relocate(self, metadata_path: str) -> None:
        """Rewrite delete files, manifests, manifest lists and metadata files, in this order, the given one last."""
        document = _read_document(self.io, metadata_path)
        lists = set(map(self.move, _named(document, _LISTS)))
        manifests: dict[str, int] = {}
        for contents in _at_once(self._read_manifests, lists):
            manifests |= contents
        deletes: dict[str, str] = {}
        delete_manifests = [path for path, content in manifests.items() if content == _DELETES]
        for formats in _at_once(self._read_deletes, delete_manifests):
            deletes |= formats
        sizes = self._rewrite(deletes, lambda path, data: _CHANGES[deletes[path]](data, self.move))
        lengths = self._rewrite(
            manifests, lambda _, data: change_records(data, lambda entry: self._move_entry(entry, sizes))
        )
        self._rewrite(lists, lambda _, data: change_records(data, lambda row: self._move_manifest(row, lengths)))
        self._rewrite(set(map(self.move, _named(document, _LOG))) - {plain(metadata_path)}, self._move_document)
        for path in map(self.move, _named(document, *_STATISTICS)):
            self._is_inside(path)
        self._rewrite([metadata_path], self._move_document)

    def _rewrite(self, paths: Iterable[str], change: Callable[[str, bytes], bytes]) -> dict[str, int]:
        """Change files, and return the new size of each by path. Missing files are not included.

        `change` gets the path and the content of a file, and returns the new content.
        """

        def rewrite(path: str) -> tuple[str, int] | None:
            data = self._read(path)
            if data is None:
                return None
            with understood(path):
                new = change(path, data)
            if new != data:
                write_whole(self.io, path, new)
                self.written.add(path)
            return path, len(new)

        return dict(filter(None, _at_once(rewrite, paths)))

    def _read_manifests(self, path: str) -> dict[str, int]:
        return {
            plain(self.move(row["manifest_path"])): row.get("content", 0) for row in _records(path, self._read(path))
        }

    def _read_deletes(self, path: str) -> dict[str, str]:
        """Return the position delete files and deletion vectors that a manifest names, with their formats, by path."""
        return {
            plain(self.move(entry["data_file"]["file_path"])): entry["data_file"]["file_format"].upper()
            for entry in _records(path, self._read(path))
            if entry["status"] != _DELETED and entry["data_file"]["content"] == _POSITION_DELETES
        }

    def _read(self, path: str) -> bytes | None:
        if not self._is_inside(path):
            return None
        data = read_whole(self.io, path)
        if data is None:
            self.missing.add(path)
        return data

    def _is_inside(self, path: str) -> bool:
        if self.move.has_arrived(path):
            return True
        self.outside.add(plain(path).rpartition("/")[0])
        return False

    def _move_entry(self, entry: AvroRecord, sizes: Mapping[str, int]) -> None:
        file = entry["data_file"]
        file["file_path"] = self.move(file["file_path"])
        self._is_inside(file["file_path"])
        if file["content"] == _POSITION_DELETES:
            file["file_size_in_bytes"] = sizes.get(plain(file["file_path"]), file["file_size_in_bytes"])
            if file.get("referenced_data_file") is not None:
                file["referenced_data_file"] = self.move(file["referenced_data_file"])
            move_bounds(file, self.move)

    def _move_manifest(self, row: AvroRecord, sizes: Mapping[str, int]) -> None:
        row["manifest_path"] = self.move(row["manifest_path"])
        row["manifest_length"] = sizes.get(plain(row["manifest_path"]), row["manifest_length"])

    def _move_document(self, _path: str, data: bytes) -> bytes:
        document = _parse(data)
        before = json.dumps(document)
        document["location"] = self.move(document["location"])
        for collection, name in (_LOG, _LISTS, *_STATISTICS):
            for part in document.get(collection, ()):
                if name in part:
                    part[name] = self.move(part[name])
        properties = document.get("properties", {})
        properties |= {name: self.move(value) for name, value in properties.items()}
        if json.dumps(document) == before:
            return data
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        return gzip.compress(text, mtime=0) if data.startswith(_GZIP) else text


def _read_document(io: FileIO, path: str) -> dict[str, Any]:
    data = read_whole(io, path)
    if data is None:
        raise NotFound(f"the metadata file {path} does not exist", path=path)
    with understood(path):
        return _parse(data)


def _parse(data: bytes) -> dict[str, Any]:
    document = json.loads(gzip.decompress(data) if data.startswith(_GZIP) else data)
    if not isinstance(document, dict) or not isinstance(document.get("location"), str):
        raise ValueError("its content is not the metadata of an Iceberg table")
    return document


def _named(document: Mapping[str, Any], *places: tuple[str, str]) -> set[str]:
    return {plain(part[name]) for collection, name in places for part in document.get(collection, ()) if name in part}


def _records(path: str, data: bytes | None) -> Iterator[AvroRecord]:
    if data is not None:
        with understood(path):
            yield from read_records(data)


def _at_once(work: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """Call `work` for each item in several threads, and yield the results in the order of the items.

    Only a few items are in work at one time. Further items start when results are taken.
    """
    with ThreadPoolExecutor(_WRITERS) as threads:
        waiting: deque[Future[_Result]] = deque()
        for item in items:
            waiting.append(threads.submit(work, item))
            if len(waiting) == _WAITING:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
