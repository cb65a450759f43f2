"""Divide rows of gold by partition, with Iceberg's transforms of their columns."""

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


PartitionValues = tuple[str | None, ...]
"""The values of a partition as texts, None for null, in the order of the table's partition spec."""


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """Rows of one partition."""

    values: PartitionValues
    rows: pa.Table


def resolve(fields: Iterable[PartitionField], history: TableHistory) -> list[tuple[int, PartitionField]]:
    """The index of each field's column among the final columns; PartitionUnfit if no column fits."""
    found = []
    for field in fields:
        column = history.final.column(field.column)
        if column is None:
            raise PartitionUnfit(
                f"`partition` of the settings names {field.column}, which is not a column of the table"
            )
        if not field.takes(column.type.kind):
            raise PartitionUnfit(
                f"`partition` of the settings: {field.spelled} does not accept {column.type}, the type of {column.name}"
            )
        found.append((history.final.columns.index(column), field))
    return found


def wanted_fields(
    fields: Iterable[PartitionField], history: TableHistory, evolution: Evolution, is_new: bool
) -> list[tuple[str, PartitionField]] | None:
    """The fields with the present names of their columns in the table; None if this run adds one of the columns.

    If a run dies, the next run drops such a column and adds it again, but a partition column must not be dropped. For a
    new table (`is_new`) this is no reason, as its column is found again.
    """
    found = resolve(fields, history)
    added = {column.id for _, column in evolution.adds}
    if not is_new and any(history.final.columns[at].id in added for at, _ in found):
        return None
    return [(evolution.physical[at], field) for at, field in found]


def part(rows: pa.Table, metadata: TableMetadata) -> Iterator[PartitionRows]:
    """Divide rows, with all columns of a table, by its partition spec; TableError if the spec is not supported here."""
    spec, schema = metadata.spec(), metadata.schema()
    if not spec.fields or not rows.num_rows:
        yield PartitionRows((), rows)
        return
    texts: list[list[str | None]] = []
    code = np.zeros(rows.num_rows, np.int64)
    for field in spec.fields:
        source = schema.find_field(field.source_id)
        if str(source.field_type) in _UNSUPPORTED and str(field.transform) == "identity":
            raise TableError(
                f"the table is partitioned by {source.name}, a {source.field_type}, which only Spark can write"
            )
        values, codes = _distinct(_reduced(rows[source.name], str(field.transform)))
        transform = field.transform.transform(source.field_type)
        is_date = field.transform.result_type(source.field_type) == DateType()
        listed = [_text(transform(value), is_date) for value in values]
        known = {text: number for number, text in enumerate(dict.fromkeys(listed))}
        texts.append([*known])
        code = code * len(known) + np.array([known[text] for text in listed])[codes]
    order = np.argsort(code, kind="stable")
    firsts = np.flatnonzero(np.diff(code[order], prepend=-1))
    sorted_rows = rows.take(pa.array(order))
    for start, end in zip(firsts, [*firsts[1:], len(order)], strict=True):
        yield PartitionRows(_values(int(code[order[start]]), texts), sorted_rows.slice(int(start), int(end - start)))


@dataclass(frozen=True, slots=True)
class Reparting:
    """A change of a table's partition spec: the names of fields to remove, and the fields to add by column name."""

    gone: list[str]
    fresh: list[tuple[str, PartitionField]]

    @classmethod
    def of(cls, metadata: TableMetadata, wanted: Iterable[tuple[str, PartitionField]]) -> Self:
        """The change that leads to the `wanted` fields, which are given with the names of their columns."""
        schema = metadata.schema()
        there = {(schema.find_column_name(f.source_id), str(f.transform)): f.name for f in metadata.spec().fields}
        listed = {(column, field.spelled): (column, field) for column, field in wanted}
        gone = [name for place, name in there.items() if place not in listed]
        return cls(gone, [each for place, each in listed.items() if place not in there])


def _reduced(column: pa.ChunkedArray, transform: str) -> pa.ChunkedArray:
    """Reduce timestamps to the start of their year, month, day or hour; the partitions stay the same."""
    return pc.floor_temporal(column, unit=_UNITS[transform]) if transform in _UNITS else column


def _distinct(column: pa.ChunkedArray) -> tuple[list[object], np.ndarray]:
    """The distinct values, comparable as in `to_values`, and the index of each row's value among them."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = to_values(pa.table({"value": encoded.dictionary}))
    return [value for (value,) in found], encoded.indices.to_numpy(zero_copy_only=False)


def _text(value: object, is_date: bool) -> str | None:
    """The value of a partition as the text that Iceberg parses."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case int() if is_date:
            return str(np.datetime64(value, "D"))
        case _:
            return str(value)


def _values(code: int, texts: list[list[str | None]]) -> PartitionValues:
    found = []
    for each in reversed(texts):
        code, at = divmod(code, len(each))
        found.append(each[at])
    return tuple(reversed(found))
