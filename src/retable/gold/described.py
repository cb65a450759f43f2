"""What the metadata of a gold table says of it."""

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import StructType

from retable.gold.evolve import Field
from retable.gold.state import PREFIX, SEQUENCE_COLUMN
from retable.model.schema import parse_gold_type

_HAS_DEFAULTS = 3
"""From this version of its format on Iceberg shows the default of a column in rows that are older than it."""


class Described:
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

    def properties(self) -> dict[str, str]:
        return dict(self._metadata.properties)

    def _own_properties(self) -> dict[str, str]:
        return {key: value for key, value in self.properties().items() if key.startswith(PREFIX)}

    def fields(self) -> list[Field]:
        """The columns in order: id, name, type (None for a type that no gold column has)."""
        fields = self._metadata.schema().fields
        return [(field.field_id, field.name, parse_gold_type(str(field.field_type))) for field in fields]

    def has_part(self) -> bool:
        sequence = next((f.field_type for f in self._metadata.schema().fields if f.name == SEQUENCE_COLUMN), None)
        return isinstance(sequence, StructType) and any(member.name == "part" for member in sequence.fields)

    def has_defaults(self) -> bool:
        return self._metadata.format_version >= _HAS_DEFAULTS
