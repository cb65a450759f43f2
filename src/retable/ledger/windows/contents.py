"""The content of each window in silver: whether it changed since a replay."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from pyiceberg.expressions import AlwaysTrue, BooleanExpression, In, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import ManifestGroupPlanner

from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import digest_files
from retable.ledger.retained import is_dropped, kept_from

NO_FILES = "empty"
"""The content of a window that has no file in silver."""


def silver_files(lake: Lake, source: str, windows: Collection[str] | None = None) -> dict[str, str]:
    """Digest, for each window, its data files in silver: another digest means other content.

    `windows`: only these windows.
    """
    table = lake.find(f"silver.{source}")
    snapshot = None if table is None else table.current_snapshot()
    if table is None or snapshot is None:
        return {}
    wanted: BooleanExpression = (
        AlwaysTrue() if windows is None else In(term=Reference("window"), literals={literal(name) for name in windows})
    )
    files: dict[str, list[str]] = defaultdict(list)
    # A scan would also compute the residual condition of each file, which costs more than listing the files.
    manifests = ManifestGroupPlanner(table.metadata, table.io, wanted).plan_manifest_entries(
        snapshot.manifests(table.io)
    )
    for file in (entry.data_file for entries in manifests for entry in entries):
        if file.content is DataFileContent.DATA:
            files[str(file.partition[0])].append(file.file_path)
    return {name: digest_files(table, paths) for name, paths in files.items()}


def window_contents(
    lake: Lake, source: str, replayed: Mapping[str, str | None], windows: Collection[str] | None = None
) -> dict[str, str]:
    """The same; a window before the horizon has the content with which it was `replayed`."""
    horizon = kept_from(lake, "silver", source)
    gone = {name: content for name, content in replayed.items() if content and is_dropped(name, horizon)}
    return {**silver_files(lake, source, windows), **gone}
