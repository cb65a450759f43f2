"""List the tables that upkeep maintains, and read the size and history of each table from its metadata only."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from pyiceberg.table import FileScanTask, Table

from retable.errors import DamagedFile, NotFound
from retable.formats.options import nearest
from retable.gold.damage import rows_by_name
from retable.gold.read import gold_states
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import OPS
from retable.ledger.read import read_tables
from retable.upkeep.policy import FileFacts, Partition, SnapshotFacts, TableFacts

Layer = Literal["gold", "bronze", "silver", "statements", "quarantine", "ops"]
_OF_SOURCES: tuple[Layer, ...] = ("bronze", "silver", "statements", "quarantine")
_RUN_BRANCH = "retable_"


@dataclass(frozen=True, slots=True)
class TablePlace:
    """A table that upkeep maintains. `source` is None for ops tables.

    If the table's metadata cannot be read, `damage` is the error for it.
    """

    name: str
    layer: Layer
    source: str | None
    damage: DamagedFile | None = None


def places(lake: Lake) -> list[TablePlace]:
    """Return every table of the lake: first gold, whose upkeep helps most, then the tables of sources, then ops."""
    unread: list[DamagedFile] = []
    found = [TablePlace(name, "gold", state.source) for name, state in gold_states(lake, unread.append).items()]
    rows = rows_by_name(read_tables(lake)) if unread else {}
    for error in unread:
        name = str(error.facts["table"])
        if name not in rows:
            raise error
        found.append(TablePlace(name, "gold", rows[name].source, error))
    sources = sorted(lake.settings.sources)
    found += [TablePlace(f"{layer}.{source}", layer, source) for source in sources for layer in _OF_SOURCES]
    found += [TablePlace(name, "ops", None) for name in OPS]
    return [place for place in found if place.layer == "gold" or lake.find(place.name) is not None]


def choose(known: Sequence[TablePlace], asked: Iterable[str]) -> list[TablePlace]:
    """Return the tables of `known` that a person asked for, by the name of a table or of a source, or `ops`.

    If `asked` is empty, return all. Raise NotFound for an unknown name; the message suggests the most similar name.
    """
    wanted = list(dict.fromkeys(asked))
    names = {place.name for place in known} | {place.source for place in known if place.source} | {"ops"}
    for each in wanted:
        if each not in names:
            raise NotFound(f"there is no table or source {each!r} for upkeep{nearest(each, names)}", table=each)
    chosen = set(wanted)
    return [place for place in known if not chosen or chosen & {place.name, place.source or "ops"}]


def facts_of(lake: Lake, place: TablePlace, table: Table) -> TableFacts:
    """Return the facts about a table that upkeep needs, from its metadata.

    Silver is partitioned by window and kind of event, but here all files of a window are one partition. They must be
    compacted together, because gold recognizes the content of a window by one digest of all its files.
    """
    metadata, current = table.metadata, table.current_snapshot()
    with explained(lake.settings.lake):
        files = tuple(_file(task, place.layer) for task in table.scan().plan_files())
        manifests = 0 if current is None else len(current.manifests(table.io))
    return TableFacts(
        name=place.name,
        location=table.location(),
        files=files,
        snapshots=tuple(SnapshotFacts(each.snapshot_id, _moment(each.timestamp_ms)) for each in metadata.snapshots),
        current=metadata.current_snapshot_id,
        referenced=frozenset(ref.snapshot_id for ref in metadata.refs.values()),
        manifests=manifests,
        busy=any(
            name.startswith(_RUN_BRANCH) and ref.snapshot_ref_type == "branch" for name, ref in metadata.refs.items()
        ),
    )


def _file(task: FileScanTask, layer: Layer) -> FileFacts:
    deleted = sum(delete.record_count for delete in task.delete_files)
    return FileFacts(
        task.file.file_path,
        _partition(task, layer),
        task.file.file_size_in_bytes,
        task.file.record_count,
        min(deleted, task.file.record_count),
        len(task.delete_files),
    )


def _partition(task: FileScanTask, layer: Layer) -> Partition:
    values = tuple(task.file.partition[at] for at in range(len(task.file.partition)))
    return values[:1] if layer == "silver" else (task.file.spec_id, *values)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
