"""What can go wrong with the catalog and the warehouse, in the words of the error tree."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.exceptions import CommitFailedException, ValidationException
from sqlalchemy.exc import DBAPIError

from retable.errors import ConflictError, EnvironmentFault, RetableError
from retable.lake_settings import BUSY_SECONDS, LakeSettings

_REMEDIES = {
    "SQLITE_FULL": "its disk is full; free some space and run again",
    "SQLITE_READONLY": "it cannot be written; check who owns it and its folder, and that the disk is not read-only",
    "SQLITE_CANTOPEN": "it cannot be opened; check that its folder exists and that this user may read and write there",
    "SQLITE_IOERR": "its disk reports an error; check the disk, then run again",
    "SQLITE_CORRUPT": "it is damaged; restore the file from a backup",
    "SQLITE_NOTADB": "it is no SQLite file; check `[lake] catalog`, or restore the file from a backup",
}
_CONFLICTS = {
    "CommitFailedException|ValidationException": "another run committed first",
    "CommitStateUnknownException|UncheckedSQLException": "the catalog did not answer",
}
_DISK = re.compile(
    r"No space left on device|Read-only file system|Permission denied|Mkdirs failed|Input/output error"
    r"|Too many open files|Disk quota exceeded|[Nn]ot a directory|FileNotFoundException|NotFoundException: File"
)


@contextmanager
def explained(lake: LakeSettings) -> Iterator[None]:
    """Turn a failure of the catalog or of its files into the error that says what to do."""
    try:
        yield
    except RetableError:
        raise
    except (CommitFailedException, ValidationException) as error:
        raise ConflictError(f"another run committed first: {error}; try again") from error
    except DBAPIError as error:
        raise _catalog_fault(lake, getattr(error.orig, "sqlite_errorname", ""), str(error.orig)) from error
    except sqlite3.Error as error:
        raise _catalog_fault(lake, error.sqlite_errorname, str(error)) from error
    except OSError as error:
        raise _disk_fault(lake, str(error)) from error


@contextmanager
def spark_explained(lake: LakeSettings) -> Iterator[None]:
    """Do the same around Spark, whose failures are told by their text; one that says nothing of the lake stays."""
    try:
        yield
    except RetableError:
        raise
    except Exception as failure:  # Py4J, Spark and pyarrow have no class in common; it is raised again
        error = _told_by_text(lake, str(failure))
        if error is None:
            raise
        raise error from failure


def _told_by_text(lake: LakeSettings, text: str) -> RetableError | None:
    if sqlite := re.search(r"SQLITE_[A-Z]+", text):
        return _catalog_fault(lake, sqlite[0], _line_with(sqlite[0], text))
    for pattern, why in _CONFLICTS.items():
        if re.search(pattern, text):
            return ConflictError(f"{why}: {_line_with(pattern, text)}; try again")
    return _disk_fault(lake, _line_with(_DISK.pattern, text)) if _DISK.search(text) else None


def _line_with(pattern: str, text: str) -> str:
    return next(line.strip() for line in text.splitlines() if re.search(pattern, line))


def _disk_fault(lake: LakeSettings, what: str) -> EnvironmentFault:
    return EnvironmentFault(
        f"the lake at {lake.warehouse} cannot be read or written: {what}; check that its disk has space and is not "
        f"read-only, that this user may write there, and that no file was removed; then run again"
    )


def _catalog_fault(lake: LakeSettings, name: str, what: str) -> RetableError:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return ConflictError(
            f"the catalog {lake.catalog_file} is busy: another process kept it locked for {BUSY_SECONDS} s; try again"
        )
    remedy = next((text for code, text in _REMEDIES.items() if name.startswith(code)), f"SQLite says: {what}")
    return EnvironmentFault(f"the catalog {lake.catalog_file}: {remedy}", sqlite=name)
