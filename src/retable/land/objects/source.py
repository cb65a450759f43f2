"""The objects of a source in a folder or in a bucket, with the same operations for both."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from retable.land.objects.buckets import bucket_objects
from retable.land.objects.files import begins_with, check_object, list_files, open_object
from retable.ledger.windows.objects import FoundObject
from retable.model.window import SourceObject
from retable.settings.sources import FilesSource
from retable.settings.storage import Bucket


class Objects(Protocol):
    """Access to the objects (files) of a source. It is pickled and sent to Spark's workers."""

    def list(self) -> list[FoundObject]:
        """Return all objects of the source, sorted by name."""
        ...

    def check(self, items: Iterable[SourceObject]) -> None:
        """Raise PositionsLost if one of these objects is gone or has changed since it was recorded."""
        ...

    def open(self, item: SourceObject) -> AbstractContextManager[BinaryIO]:
        """Open a recorded object at its first byte. Raise PositionsLost if the object is gone or has changed."""
        ...

    def has_grown(self, item: SourceObject, earlier: SourceObject) -> bool:
        """Return whether `item`, a newer version of the object `earlier`, has its bytes and more bytes after them."""
        ...


@dataclass(frozen=True, slots=True)
class FolderObjects:
    """The files of a folder and its subfolders."""

    source: FilesSource
    folder: Path

    def list(self) -> list[FoundObject]:
        return list_files(self.source, self.folder)

    def check(self, items: Iterable[SourceObject]) -> None:
        for item in items:
            check_object(self.folder, item)

    @contextmanager
    def open(self, item: SourceObject) -> Iterator[BinaryIO]:
        with open_object(self.folder, item) as file:
            yield file
        if item.etag:
            check_object(self.folder, item)

    def has_grown(self, item: SourceObject, earlier: SourceObject) -> bool:
        return begins_with(self.folder, item, earlier)


def objects_of(source: FilesSource) -> Objects:
    """Open the folder or bucket of a `files` source. Access keys are read from this process's environment."""
    if isinstance(source.path, Bucket):
        return bucket_objects(source, source.path)
    return FolderObjects(source, source.path)
