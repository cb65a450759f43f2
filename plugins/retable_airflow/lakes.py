"""Loads the settings that a DAG names, and opens the lake of these settings."""

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
"""How a DAG names its settings: a path, `s3://bucket/key`, or `var:NAME` for an Airflow variable with the TOML."""

_VARIABLE = "var:"


def reference_of(settings: Reference | None) -> Reference:
    """Return where the settings are, with an absolute path.

    This is `settings`. If it is None, it is the environment variable RETABLE_SETTINGS. If this is not set, it is
    `retable.toml` in the working directory. `s3://…` and `var:NAME` are returned unchanged.
    """
    named = settings or os.environ.get("RETABLE_SETTINGS") or "retable.toml"
    return str(named) if _is_remote(named) else Path(named).absolute()


def address_of(reference: Reference | None) -> SettingsAddress:
    """Return an address of the settings that a process without Airflow can read, such as a Spark driver.

    If the reference is an Airflow variable, the address contains the TOML text itself.
    """
    found = reference_of(reference)
    if str(found).startswith(_VARIABLE):
        return to_address(str(Variable.get(str(found).removeprefix(_VARIABLE))))
    return found


def settings_of(reference: Reference | None) -> "Settings":
    """Return the settings that a DAG names. Unchanged settings come from a cache, except from S3."""
    from retable.settings.load import load_settings

    address = address_of(reference)
    if str(address).startswith("s3://"):
        return load_settings(address)
    return _load(address, _state(address))


@contextmanager
def lake_of(reference: Reference | None) -> Iterator["Lake"]:
    """Open the lake of these settings for the `with` block."""
    # This import takes longer than the parsing of a DAG file may take, so it is done only in tasks.
    from retable.ledger.lake.catalog import open_lake

    # At level INFO, pyiceberg logs a line for every table that it opens.
    logging.getLogger("pyiceberg.io").setLevel(logging.WARNING)
    lake = open_lake(settings_of(reference))
    try:
        yield lake
    finally:
        lake.catalog.close()


@lru_cache(maxsize=8)
def _load(address: SettingsAddress, state: tuple[tuple[str, int, int], ...]) -> "Settings":
    """Load settings once for each version of their files, because DAG files request them many times."""
    from retable.settings.load import load_settings

    return load_settings(address)


def _state(address: SettingsAddress) -> tuple[tuple[str, int, int], ...]:
    """Return the name, time and size of each settings file. A missing file is left out; loading reports it."""
    if not isinstance(address, Path):
        return ()
    files = sorted(address.glob("*.toml")) if address.is_dir() else [address]
    found = [(str(file), file.stat()) for file in files if file.exists()]
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in found)


def _is_remote(reference: Reference) -> bool:
    return isinstance(reference, str) and reference.startswith((_VARIABLE, "s3://", "data:"))
