"""List the objects (files) of a folder, and check later that they have not changed."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from retable.errors import ConflictError, EnvironmentFault, InvalidSetting, NotFound, PositionsLost
from retable.land.objects.buckets import bucket_objects
from retable.land.objects.unfinished import is_unfinished
from retable.ledger.windows.objects import FoundObject
from retable.model.window import SourceObject
from retable.settings.sources import FilesSource
from retable.settings.storage import Bucket

_BLOCK = 1 << 20


def list_objects(source: FilesSource) -> list[FoundObject]:
    """Return the objects of a source in a folder or in a bucket, sorted by name."""
    if isinstance(source.path, Bucket):
        return bucket_objects(source, source.path).list()
    return list_files(source, source.path)


def list_files(source: FilesSource, folder: Path) -> list[FoundObject]:
    """Return the files of a source's folder and its subfolders, sorted by name.

    Hidden files and auxiliary files of writers are skipped: `_temporary`, `_SUCCESS`, `*.tmp`, `*.crc`. A link to a
    location inside the folder is skipped, too. Raise InvalidSetting if a link points outside the folder. Raise NotFound
    if the folder does not exist.
    """
    if not folder.is_dir():
        text = f"sources.{source.name}.path: there is no folder {folder}; create it, or correct the setting"
        raise NotFound(text, path=str(folder))
    with _readable():
        found = [_found(folder, entry) for entry in _walk(folder.resolve(), folder)]
    return sorted(found, key=lambda item: item.key)


def check_object(folder: Path, item: SourceObject) -> None:
    """Raise PositionsLost if an object is gone, or does not begin with the recorded bytes any more.

    An object that has only grown still begins with the recorded bytes.
    """
    path = folder / item.key
    if not path.is_file():
        raise _lost(path, "is gone")
    size = path.stat().st_size
    inside = path.resolve().is_relative_to(folder.resolve())
    if size < item.size or not inside or _digest(path, item.size) != item.etag:
        raise _lost(path, f"was changed ({item.size} bytes were recorded, but now there are {size})")


def open_object(folder: Path, item: SourceObject) -> BinaryIO:
    """Open an object at its first byte. Raise PositionsLost if it is gone."""
    path = folder / item.key
    if not path.is_file():
        raise _lost(path, "is gone")
    with _readable():
        return path.open("rb")


def begins_with(folder: Path, item: SourceObject, earlier: SourceObject) -> bool:
    """Return whether the file `item` is longer than the object `earlier` of the same name, and begins with it."""
    return _has_grown(folder / item.key, item.size, earlier)


def _has_grown(path: Path, size: int, earlier: SourceObject) -> bool:
    return size > earlier.size and _digest(path, earlier.size) == earlier.etag


def _walk(root: Path, folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_unfinished(entry.name):
                continue
            if entry.is_symlink():
                _refuse_outside(root, Path(entry.path))
            elif entry.is_dir():
                yield from _walk(root, Path(entry.path))
            elif entry.is_file():
                yield entry


def _refuse_outside(root: Path, link: Path) -> None:
    if not link.resolve().is_relative_to(root):
        raise InvalidSetting(
            f"{link} is a link to {link.resolve()}, outside the source's folder; put the file itself there, or remove "
            f"the link",
            path=str(link),
        )


def _found(folder: Path, entry: os.DirEntry[str]) -> FoundObject:
    path = Path(entry.path)
    key = path.relative_to(folder).as_posix()
    try:
        key.encode()
    except UnicodeEncodeError:
        raise InvalidSetting(f"the file name {os.fsencode(entry.path)!r} is not UTF-8; rename the file") from None
    stat = entry.stat()
    changed = datetime.fromtimestamp(stat.st_ctime, UTC)
    modified = datetime.fromtimestamp(stat.st_mtime, UTC)
    etag, has_grown = partial(_digest, path, stat.st_size), partial(_has_grown, path, stat.st_size)
    return FoundObject(key, stat.st_size, modified, changed, etag, has_grown)


def _digest(path: Path, size: int) -> str:
    """Return the SHA-256 of the first `size` bytes of a file, as hex."""
    digest, left = hashlib.sha256(), size
    with _readable(), path.open("rb") as file:
        while left and (block := file.read(min(left, _BLOCK))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise ConflictError(f"{error.filename} disappeared while the source was listed or read; try again") from error
    except OSError as error:
        raise EnvironmentFault(
            f"{error.filename} cannot be read: {error.strerror}; check that this user may read it, and run again"
        ) from error


def _lost(path: Path, what: str) -> PositionsLost:
    return PositionsLost(
        f"{path} {what} since its window was recorded, and it was not landed yet; put the object back as it was, under "
        f"the same name (a new version of it goes under a new name, or into a later window)",
        path=str(path),
    )
