"""Rows of gold by the partition that they belong to, as Iceberg's transforms of their columns tell."""

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
    """The column of each field as an index of the final columns; PartitionUnfit where there is none that can."""
    found = []
    for field in fields:
        column = history.final.column(field.column)
        if column is None:
            raise PartitionUnfit(f"`partition` of the settings names {field.column}, which is no column of the table")
        if not field.takes(column.type.kind):
            raise PartitionUnfit(
                f"`partition` of the settings: {field.spelled} takes no {column.type}, as {column.name} is"
            )
        found.append((history.final.columns.index(column), field))
    return found


def wanted_fields(
    fields: Iterable[PartitionField], history: TableHistory, evolution: Evolution, is_new: bool
) -> list[tuple[str, PartitionField]] | None:
    """The fields with the names that their columns have in the table now; None: one comes by this very run.

    A run that dies leaves such a column, and the next one makes it anew; but a column by which files were parted must
    not go. A new table's column is found again.
    """
    found = resolve(fields, history)
    added = {column.id for _, column in evolution.adds}
    if not is_new and any(history.final.columns[at].id in added for at, _ in found):
        return None
    return [(evolution.physical[at], field) for at, field in found]


def part(rows: pa.Table, metadata: TableMetadata) -> Iterator[PartitionRows]:
    """Divide rows, with all columns of a table, by its partition spec; TableError where it says what none here can."""
    spec, schema = metadata.spec(), metadata.schema()
    if not spec.fields or not rows.num_rows:
        yield PartitionRows((), rows)
        return
    texts: list[list[str | None]] = []
    code = np.zeros(rows.num_rows, np.int64)
    for field in spec.fields:
        source = schema.find_field(field.source_id)
        if str(source.field_type) in _UNSUPPORTED and str(field.transform) == "identity":
            raise TableError(f"the table is parted by {source.name}, a {source.field_type}, which only Spark can write")
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
    """How the partition spec of a table changes: the names of fields that go, and what comes, by its column's name."""

    gone: list[str]
    fresh: list[tuple[str, PartitionField]]

    @classmethod
    def of(cls, metadata: TableMetadata, wanted: Iterable[tuple[str, PartitionField]]) -> Self:
        """What leads to these fields, by the names of their columns."""
        schema = metadata.schema()
        there = {(schema.find_column_name(f.source_id), str(f.transform)): f.name for f in metadata.spec().fields}
        listed = {(column, field.spelled): (column, field) for column, field in wanted}
        gone = [name for place, name in there.items() if place not in listed]
        return cls(gone, [each for place, each in listed.items() if place not in there])


def _reduced(column: pa.ChunkedArray, transform: str) -> pa.ChunkedArray:
    """The same partitions of fewer values: of moments, the beginnings of their years, months, days or hours."""
    return pc.floor_temporal(column, unit=_UNITS[transform]) if transform in _UNITS else column


def _distinct(column: pa.ChunkedArray) -> tuple[list[object], np.ndarray]:
    """The distinct values, comparable as in `to_values`, and for each row which of them it has."""
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    found = to_values(pa.table({"value": encoded.dictionary}))
    return [value for (value,) in found], encoded.indices.to_numpy(zero_copy_only=False)


def _text(value: object, is_date: bool) -> str | None:
    """The value of a partition as Iceberg reads it out of a text."""
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
