"""The words for a data file that cannot be read."""

from retable.errors import DamagedFile

RESTORE = "put it back from a copy of the lake: docs/operations.md (DAMAGED_FILE)"


def damaged_file(path: str, said: str) -> DamagedFile:
    """The error for a file that is there and cannot be read, with what its reader said."""
    return DamagedFile(f"the file {path} is damaged: {' '.join(said.split())}; {RESTORE}", path=path)


def missing_file(path: str) -> DamagedFile:
    """The error for a file that is not there."""
    return DamagedFile(f"the file {path} is missing; {RESTORE}", path=path)
