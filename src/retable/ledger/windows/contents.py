"""Digests of the content of windows in silver, which show whether a window changed since its replay."""

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
    """Return a digest of the data files in silver by window. If the digest changes, the content may have changed.

    `windows` limits the result to these windows. If it is None, all windows are read.
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
    """Return a digest of the content in silver by window (`silver_files`), also for windows before the horizon.

    The horizon is the oldest window that silver has in full: retention dropped files of earlier windows. These windows
    get the digest with which they were replayed. `replayed` has this digest by window.
    """
    horizon = kept_from(lake, "silver", source)
    gone = {name: content for name, content in replayed.items() if content and is_dropped(name, horizon)}
    return {**silver_files(lake, source, windows), **gone}
