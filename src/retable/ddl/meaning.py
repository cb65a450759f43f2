"""Convert schema changes to JSON and back. Runs store the JSON, so that later runs need not parse the statements."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from retable.ddl.registry import KINDS, describe
from retable.model.schema_change import SchemaChange

_CLASSES = {kind: change for change, kind in KINDS.items()}


@cache
def reader_version() -> str:
    """Return a digest of the code that reads statements.

    A stored meaning is used only if its digest is this one, because other code may read another meaning.
    """
    digest = hashlib.sha256(version("sqlglot").encode())
    package = files("retable")
    # Read the files as resources, because a cluster has the package in an archive.
    for text in [*_sources(package / "ddl"), package / "model" / "schema.py", package / "model" / "schema_change.py"]:
        digest.update(text.read_bytes())
    return digest.hexdigest()[:16]


def _sources(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry)
        elif entry.name.endswith(".py"):
            yield entry


def to_meaning(changes: Sequence[SchemaChange]) -> str:
    """Return schema changes as JSON text."""
    return msgspec.json.encode([describe(change) for change in changes]).decode()


def from_meaning(text: str) -> tuple[SchemaChange, ...]:
    """Return the schema changes in a JSON text that `to_meaning` returned."""
    return tuple(map(_change, msgspec.json.decode(text)))


def _change(record: dict[str, Any]) -> SchemaChange:
    kind = _CLASSES[record.pop("kind")]
    change: SchemaChange = msgspec.convert(record, kind)
    return change
