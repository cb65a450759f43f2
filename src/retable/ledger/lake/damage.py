"""Error messages for data files that cannot be read."""

from retable.errors import DamagedFile

RESTORE = "restore this file from a copy of the lake: docs/operations.md (DAMAGED_FILE)"


def damaged_file(path: str, said: str) -> DamagedFile:
    """Return the error for a file that exists but cannot be read. `said` is the message of the library that read it."""
    return DamagedFile(f"the file {path} is damaged: {' '.join(said.split())}; {RESTORE}", path=path)


def check_rows(path: str, found: int, recorded: int) -> None:
    """Raise DamagedFile if a reader found fewer or more rows in a file (`found`) than were written (`recorded`).

    A damaged page header can make a reader skip the page without an error.
    """
    if found != recorded:
        raise damaged_file(path, f"it has {found} rows, but {recorded} rows were written")


def missing_file(path: str) -> DamagedFile:
    """Return the error for a file that does not exist."""
    return DamagedFile(f"the file {path} is missing; {RESTORE}", path=path)


def damaged_bronze(error: DamagedFile, source: str, window: str) -> DamagedFile:
    """Return the error for a damaged file of bronze, with a remedy: the source may still have the window's messages."""
    return DamagedFile(
        f"{without_remedy(error)} (bronze of {source}, window {window}); if the source still has these messages, "
        f"`retable land {source} --window {window}` lands them again; else {RESTORE}",
        **error.facts,
        window=window,
    )


def damaged_metadata(error: DamagedFile, table: str) -> DamagedFile:
    """Return the error for a damaged metadata file of a table, with a remedy: use the previous metadata file."""
    then = f", then `retable rebuild {table}` replays the lost changes" if table.startswith("gold_") else ""
    return DamagedFile(
        f"{without_remedy(error)} (metadata of {table}); {RESTORE}; or `retable recover` uses the file before it{then}",
        **error.facts,
        table=table,
    )


def without_remedy(error: DamagedFile) -> str:
    """Return the message of an error from `damaged_file` or `missing_file` without its remedy."""
    return error.message.partition(f"; {RESTORE}")[0]
