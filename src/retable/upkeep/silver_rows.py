"""Rows of silver, grouped by the table that their messages name: find their greatest sequences, and select rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from retable.model.event import TableName
from retable.model.sequence import Sequence

NAME = ("database", "schema", "table")
READ = (*NAME, "sequence", "part", "partial_after")
"""The columns of silver that `extents` needs."""

_PLACE = ("epoch", "hi", "lo")
_BETWEEN = "\x00"


@dataclass(frozen=True, slots=True)
class Extent:
    """What retention must know about some rows of one table.

    `last` is their greatest sequence (position in the source's log), by Kafka partition. `partial` says if some of the
    rows are partial images (rows with only some of the columns).
    """

    last: Mapping[str, Sequence]
    partial: bool


def extents(rows: pa.Table) -> dict[TableName, Extent]:
    """Return the extent of the rows of each table: their greatest sequences, and whether some are partial images.

    `rows` are row changes of silver. They need only the columns in the constant `READ`. A row without a database or
    table name is skipped.
    """
    columns = {name: rows[name] for name in (*NAME, "part")}
    columns |= {name: pc.struct_field(rows["sequence"], name) for name in _PLACE}
    columns["partial"] = pc.fill_null(rows["partial_after"], False)
    ordered = pa.table(columns).sort_by([(name, "ascending") for name in _PLACE])
    ordered = ordered.append_column("at", pa.array(range(rows.num_rows), pa.int64()))
    groups = ordered.group_by([*NAME, "part"]).aggregate([("at", "max"), ("partial", "any")])
    places = ordered.select(_PLACE).take(groups["at_max"]).to_pylist()
    found: dict[TableName, tuple[dict[str, Sequence], bool]] = {}
    for group, place in zip(groups.to_pylist(), places, strict=True):
        if group["database"] is None or not group["table"]:
            continue
        name = TableName(group["database"], group["schema"], group["table"])
        last, partial = found.get(name, ({}, False))
        last[group["part"] or ""] = Sequence(place["epoch"], int(place["hi"]), place["lo"])
        found[name] = (last, partial or group["partial_any"])
    return {name: Extent(last, partial) for name, (last, partial) in found.items()}


def rows_of(rows: pa.Table, names: Collection[TableName]) -> pa.Table:
    """Return only the rows of the tables with these names, in the same order."""
    spelled = pa.array([_BETWEEN.join((each.database, each.schema or "", each.table)) for each in names], pa.string())
    parts = (pc.fill_null(rows[name], "") for name in NAME)
    return rows.filter(pc.is_in(pc.binary_join_element_wise(*parts, _BETWEEN), value_set=spelled))
