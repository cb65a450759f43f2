"""What the metadata of a gold table says of it."""

from dataclasses import replace

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import StructType

from retable.gold.evolve import Field
from retable.gold.state import HEAD_PROPERTY, PREFIX, SEQUENCE_COLUMN, GoldState, from_properties
from retable.model.schema import parse_gold_type

_HAS_DEFAULTS = 3
"""From this version of its format on Iceberg shows the default of a column in rows that are older than it."""


def state_of(metadata: TableMetadata) -> GoldState | None:
    """What a table says of itself, and whether its main branch was set back; None when it is not one of Retable's."""
    state = from_properties(metadata.properties)
    return None if state is None else replace(state, is_set_back=_is_set_back(metadata))


def _is_set_back(metadata: TableMetadata) -> bool:
    """Whether main does not come by the snapshot that rows were written to last: it was rolled back, or replaced.

    Where what main came by has expired, nothing tells that it was.
    """
    if HEAD_PROPERTY not in metadata.properties:
        return False
    head, number = map(int, metadata.properties[HEAD_PROPERTY].split())
    at = metadata.current_snapshot()
    while at is not None and at.snapshot_id != head:
        if (at.sequence_number or 0) < number:
            return True
        at = None if at.parent_snapshot_id is None else metadata.snapshot_by_id(at.parent_snapshot_id)
    return False


class GoldMetadata:
    """A table as its metadata has it; whoever loads it anew says so."""

    def __init__(self, metadata: TableMetadata) -> None:
        self._metadata = metadata

    @property
    def location(self) -> str:
        return self._metadata.location

    @property
    def is_empty(self) -> bool:
        return self._snapshot.summary is not None and self._snapshot.summary.get("total-records") == "0"

    @property
    def snapshot_id(self) -> int:
        return self._snapshot.snapshot_id

    @property
    def _snapshot(self) -> Snapshot:
        return next(each for each in self._metadata.snapshots if each.snapshot_id == self._metadata.current_snapshot_id)

    @property
    def state(self) -> GoldState | None:
        """What it says of itself as one of Retable's; None when it is not."""
        return state_of(self._metadata)

    def _own_properties(self) -> dict[str, str]:
        return {key: value for key, value in self._metadata.properties.items() if key.startswith(PREFIX)}

    def fields(self) -> list[Field]:
        """The columns in order: id, name, type (None for a type that no gold column has)."""
        fields = self._metadata.schema().fields
        return [(field.field_id, field.name, parse_gold_type(str(field.field_type))) for field in fields]

    def parting(self) -> set[str]:
        """The columns by which files are parted, or were once: Spark cannot write a table that lost one."""
        schema = self._metadata.schema()
        ids = {field.source_id for spec in self._metadata.partition_specs for field in spec.fields}
        return {field.name for field in schema.fields if field.field_id in ids}

    def has_part(self) -> bool:
        sequence = next((f.field_type for f in self._metadata.schema().fields if f.name == SEQUENCE_COLUMN), None)
        return isinstance(sequence, StructType) and any(member.name == "part" for member in sequence.fields)

    def has_defaults(self) -> bool:
        return self._metadata.format_version >= _HAS_DEFAULTS
