"""Error messages for data files that cannot be read."""

from retable.errors import DamagedFile

RESTORE = "put it back from a copy of the lake: docs/operations.md (DAMAGED_FILE)"


def damaged_file(path: str, said: str) -> DamagedFile:
    """The error for a file that exists but cannot be read, with the message of its reader."""
    return DamagedFile(f"the file {path} is damaged: {' '.join(said.split())}; {RESTORE}", path=path)


def check_rows(path: str, found: int, recorded: int) -> None:
    """Check that a file gave all of its rows; a reader may skip a page whose header changed."""
    if found != recorded:
        raise damaged_file(path, f"it has {found} of its {recorded} rows")


def missing_file(path: str) -> DamagedFile:
    """The error for a file that does not exist."""
    return DamagedFile(f"the file {path} is missing; {RESTORE}", path=path)


def damaged_bronze(error: DamagedFile, source: str, window: str) -> DamagedFile:
    """The error for a file of a window's bronze; the source may still have its messages."""
    return DamagedFile(
        f"{without_remedy(error)} (bronze of {source}, window {window}); if the source still has it, "
        f"`retable land {source} --window {window}` lands it again; else {RESTORE}",
        **error.facts,
        window=window,
    )


def damaged_metadata(error: DamagedFile, table: str) -> DamagedFile:
    """The error for the metadata file that the catalog names for a table; the previous one may be used instead."""
    then = f", then `retable rebuild {table}` replays what it lacks" if table.startswith("gold_") else ""
    return DamagedFile(
        f"{without_remedy(error)} (metadata of {table}); {RESTORE}; or `retable recover` takes the one before it{then}",
        **error.facts,
        table=table,
    )


def without_remedy(error: DamagedFile) -> str:
    """The message of such an error without its remedy."""
    return error.message.partition(f"; {RESTORE}")[0]
