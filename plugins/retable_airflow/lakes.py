"""The lake of a DAG: where its settings are, and how a task opens it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import Variable

from retable.settings.address import SettingsAddress, to_address

if TYPE_CHECKING:
    from retable.ledger.lake.catalog import Lake
    from retable.settings.load import Settings

Reference = Path | str
"""Settings as a DAG names them: a path, `s3://bucket/key`, or `var:NAME`, an Airflow variable with the TOML."""

_VARIABLE = "var:"


def reference_of(settings: Reference | None) -> Reference:
    """Give the argument, else $RETABLE_SETTINGS, else `retable.toml` of the working folder, as an absolute path."""
    named = settings or os.environ.get("RETABLE_SETTINGS") or "retable.toml"
    return str(named) if _is_remote(named) else Path(named).absolute()


def address_of(reference: Reference | None) -> SettingsAddress:
    """Give an address of these settings that any process can read; a variable's text becomes its own address."""
    found = reference_of(reference)
    if str(found).startswith(_VARIABLE):
        return to_address(str(Variable.get(str(found).removeprefix(_VARIABLE))))
    return found


def settings_of(reference: Reference | None) -> "Settings":
    """Load the settings that a DAG names; unchanged settings are not read again."""
    from retable.settings.load import load_settings

    address = address_of(reference)
    if str(address).startswith("s3://"):
        return load_settings(address)
    return _load(address, _state(address))


@contextmanager
def lake_of(reference: Reference | None) -> Iterator["Lake"]:
    """Open the lake of these settings for as long as it is needed."""
    # Importing the lake's readers takes longer than a DAG file may, so it is done only when needed.
    from retable.ledger.lake.catalog import open_lake

    # It logs for every table that it reads files in its usual way; a task's log is for the task's own messages.
    logging.getLogger("pyiceberg.io").setLevel(logging.WARNING)
    lake = open_lake(settings_of(reference))
    try:
        yield lake
    finally:
        lake.catalog.close()


@lru_cache(maxsize=8)
def _load(address: SettingsAddress, state: tuple[tuple[str, int, int], ...]) -> "Settings":
    """Load settings once for each state of their files, because a DAG file requests them again and again."""
    from retable.settings.load import load_settings

    return load_settings(address)


def _state(address: SettingsAddress) -> tuple[tuple[str, int, int], ...]:
    """The identity of a file's version: name, time, size. A missing file has none, and loading reports it."""
    if not isinstance(address, Path):
        return ()
    files = sorted(address.glob("*.toml")) if address.is_dir() else [address]
    found = [(str(file), file.stat()) for file in files if file.exists()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


def _is_remote(reference: Reference) -> bool:
    return isinstance(reference, str) and reference.startswith((_VARIABLE, "s3://", "data:"))
