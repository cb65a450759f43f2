"""Read a gold table's state, columns and snapshot from its Iceberg metadata."""

from dataclasses import replace

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import StructType

from retable.gold.evolve import Field
from retable.gold.state import HEAD_PROPERTY, PREFIX, SEQUENCE_COLUMN, GoldState, from_properties
from retable.model.schema import parse_gold_type

_HAS_DEFAULTS = 3
"""From this format version on, Iceberg shows the default of a new column in older rows."""


def state_of(metadata: TableMetadata) -> GoldState | None:
    """Return the state of a gold table from its Iceberg metadata. Return None if Retable did not create the table."""
    state = from_properties(metadata.properties)
    return None if state is None else replace(state, is_set_back=_is_set_back(metadata))


def _is_set_back(metadata: TableMetadata) -> bool:
    """Return whether main was rolled back or replaced after Retable's last write of rows.

    This is so if the snapshot in HEAD_PROPERTY is not an ancestor of main. If the ancestors of main have expired, the
    answer is unknown, and the result is False.
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
    """The Iceberg metadata of a gold table at the time when the table was loaded."""

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
        """What Retable recorded of the table in its properties; None if Retable did not create the table."""
        return state_of(self._metadata)

    def _own_properties(self) -> dict[str, str]:
        return {key: value for key, value in self._metadata.properties.items() if key.startswith(PREFIX)}

    def fields(self) -> list[Field]:
        """Return the columns in order, each as (field id, name, type). A type that gold never has is None."""
        fields = self._metadata.schema().fields
        return [(field.field_id, field.name, parse_gold_type(str(field.field_type))) for field in fields]

    def parting(self) -> set[str]:
        """Return the names of the columns that the present or a former partition spec uses.

        If one of these columns is dropped, Spark can no longer write the table.
        """
        schema = self._metadata.schema()
        ids = {field.source_id for spec in self._metadata.partition_specs for field in spec.fields}
        return {field.name for field in schema.fields if field.field_id in ids}

    def has_part(self) -> bool:
        sequence = next((f.field_type for f in self._metadata.schema().fields if f.name == SEQUENCE_COLUMN), None)
        return isinstance(sequence, StructType) and any(member.name == "part" for member in sequence.fields)

    def has_defaults(self) -> bool:
        return self._metadata.format_version >= _HAS_DEFAULTS
