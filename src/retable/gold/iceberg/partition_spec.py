"""Divide rows of gold by the Iceberg partition that they belong to, and plan changes of a partition spec."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import DateType

from retable.errors import PartitionUnfit, TableError
from retable.gold.evolve import Evolution
from retable.gold.rows import to_values
from retable.model.partitioning import PartitionField
from retable.schema_history.history import TableHistory

_UNITS = {"year": "year", "month": "month", "day": "day", "hour": "hour"}
_UNSUPPORTED = frozenset({"timestamp", "timestamptz", "time", "float", "double", "binary", "uuid"})


PartitionValue = str | int | bool | None
"""The value of a partition field, as in Iceberg's JSON: dates and decimals are texts, and null is None."""

PartitionValues = tuple[PartitionValue, ...]
"""The values of the partition fields of one Iceberg partition, in the order of the spec."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows that belong to one Iceberg partition, and the values of its partition fields."""

    values: PartitionValues
    rows: pa.Table


def resolve(fields: Iterable[PartitionField], history: TableHistory) -> list[tuple[int, PartitionField]]:
    """Return each partition field of the settings, with the index of its column in `history.final.columns`.

    `history` is the table's schema history. Its final columns are those after the last schema change.
    Raise PartitionUnfit if the table has no such column, or if the field's transform does not accept the column's type.
    """
    found = []
    for field in fields:
        column = history.final.column(field.column)
        if column is None:
            raise PartitionUnfit(
                f"`partition` of the settings names {field.column}, which is not a column of the table"
            )
        if not field.takes(column.type.kind):
            raise PartitionUnfit(
                f"`partition` of the settings: {field.spelled} cannot be used, because the column {column.name} has "
                f"the type {column.type}"
            )
        found.append((history.final.columns.index(column), field))
    return found


def wanted_fields(
    fields: Iterable[PartitionField], history: TableHistory, evolution: Evolution, is_new: bool
) -> list[tuple[str, PartitionField]] | None:
    """Return the partition fields of the settings, each with the present name of its column in the Iceberg table.

    `evolution` is the plan by which this run changes the columns. Return None if an existing table gets one of the
    partition columns only by this run; a later run then changes the partition spec. The reason: if this run dies, the
    next run must drop the added column, but Iceberg cannot drop a column that the spec uses. A new table (`is_new`) can
    be partitioned at once.
    """
    found = resolve(fields, history)
    added = {column.id for _, column in evolution.adds}
    if not is_new and any(history.final.columns[at].id in added for at, _ in found):
        return None
    return [(evolution.physical[at], field) for at, field in found]


def part(rows: pa.Table, metadata: TableMetadata) -> Iterator[PartitionRows]:
    """Divide rows by the partition spec of the table that `metadata` describes. The rows have all columns of the table.

    Raise TableError if the table is partitioned by a column of a type that only Spark can write.
    """
    spec, schema = metadata.spec(), metadata.schema()
    if not spec.fields or not rows.num_rows:
        yield PartitionRows((), rows)
        return
    places: list[list[PartitionValue]] = []
    code = np.zeros(rows.num_rows, np.int64)
    for field in spec.fields:
        source = schema.find_field(field.source_id)
        if str(source.field_type) in _UNSUPPORTED and str(field.transform) == "identity":
            raise TableError(
                f"the table is partitioned by the column {source.name} of type {source.field_type}; only Spark can "
                f"write a table that is partitioned by a column of this type"
            )
        values, codes = _distinct(_reduced(rows[source.name], str(field.transform)))
        transform = field.transform.transform(source.field_type)
        is_date = field.transform.result_type(source.field_type) == DateType()
        listed = [_json(transform(value), is_date) for value in values]
        known = {each: number for number, each in enumerate(dict.fromkeys(listed))}
        places.append([*known])
        code = code * len(known) + np.array([known[each] for each in listed])[codes]
    order = np.argsort(code, kind="stable")
    firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
    sorted_rows = rows.take(pa.array(order))
    for start, end in zip(firsts, [*firsts[1:], len(order)], strict=True):
        yield PartitionRows(_values(int(code[order[start]]), places), sorted_rows.slice(int(start), int(end - start)))


@dataclass(frozen=True, slots=True)
class Reparting:
    """A change of a table's partition spec.

    `gone` are names of partition fields to remove. `fresh` are partition fields to add, each with the name of its
    column in the Iceberg table.
    """

    gone: list[str]
    fresh: list[tuple[str, PartitionField]]

    @classmethod
    def of(cls, metadata: TableMetadata, wanted: Iterable[tuple[str, PartitionField]]) -> Self:
        """Return the change from a table's present spec to the fields `wanted`, each with its column's name."""
        schema = metadata.schema()
        there = {(schema.find_column_name(f.source_id), str(f.transform)): f.name for f in metadata.spec().fields}
        listed = {(column, field.spelled): (column, field) for column, field in wanted}
        gone = [name for place, name in there.items() if place not in listed]
        return cls(gone, [each for place, each in listed.items() if place not in there])


def _reduced(column: pa.ChunkedArray, transform: str) -> pa.ChunkedArray:
    """Round timestamps down to their year, month, day or hour. Their partitions stay the same."""
    return pc.floor_temporal(column, unit=_UNITS[transform]) if transform in _UNITS else column


def _distinct(column: pa.ChunkedArray) -> tuple[list[object], np.ndarray]:
    """Return the distinct values, comparable as in `to_values`, and the index of each row's value in that list."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = to_values(pa.table({"value": encoded.dictionary}))
    return [value for (value,) in found], encoded.indices.to_numpy(zero_copy_only=False)


def _json(value: object, is_date: bool) -> PartitionValue:
    match value:
        case int() if is_date:
            return str(np.datetime64(value, "D"))
        case None | bool() | int():
            return value
        case _:
            return str(value)


def _values(code: int, places: list[list[PartitionValue]]) -> PartitionValues:
    found = []
    for each in reversed(places):
        code, at = divmod(code, len(each))
        found.append(each[at])
    return tuple(reversed(found))
