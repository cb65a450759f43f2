"""The row events of a window in the files of silver, read without Spark: by the driver, or by a task."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce

import pyarrow as pa
from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    BooleanExpression,
    EqualTo,
    GreaterThanOrEqual,
    IsNull,
    LessThanOrEqual,
    Not,
    Or,
    Reference,
)
from pyiceberg.expressions.literals import literal
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import FileScanTask
from pyiceberg.table.metadata import TableMetadata

from retable.gold.store import WindowRows
from retable.ledger.lake.tables import SILVER
from retable.model.event import TableName
from retable.replay.batch.silver_rows import ROW_COLUMNS

_NAME = ("database", "schema", "table")
_FILES_AT_ONCE = 4
"""Decode writes files of 64 MB in memory, and upkeep some of 256."""


@dataclass(frozen=True, slots=True)
class SilverFiles:
    """The files that have the row events of one window (`WindowRows`)."""

    io: FileIO
    metadata: TableMetadata
    files: tuple[FileScanTask, ...]

    def counts(self) -> Mapping[TableName, int]:
        found: Counter[TableName] = Counter()
        for task in self.files:
            names = replace(self, files=(task,))._scan(_NAME, AlwaysTrue())
            for record in names.group_by([*_NAME]).aggregate([([], "count_all")]).to_pylist():
                if record["database"] is not None and record["table"]:
                    name = TableName(*(record[part] for part in _NAME))
                    found[name] += record["count_all"]
        return found

    def pieces(self, count: int) -> list[WindowRows]:
        count = max(count, -(-len(self.files) // _FILES_AT_ONCE))
        return [replace(self, files=self.files[at::count]) for at in range(min(count, len(self.files)))]

    def read(self, table: TableName, hashes: tuple[int, int] | None = None, without: Collection[str] = ()) -> pa.Table:
        condition = _is_table(table)
        if hashes is not None:
            condition = And(condition, Or(_between("key_hash", *hashes), _between("old_key_hash", *hashes)))
        return self._scan([name for name in ROW_COLUMNS if name not in without], condition)

    def read_others(self, tables: Collection[TableName]) -> pa.Table:
        condition: BooleanExpression = AlwaysTrue()
        for table in tables:
            condition = And(condition, Not(_is_table(table)))
        return self._scan(ROW_COLUMNS, condition)

    def _scan(self, columns: Collection[str], condition: BooleanExpression) -> pa.Table:
        schema = self.metadata.schema().select(*columns)
        found = ArrowScan(self.metadata, self.io, schema, condition).to_table(self.files)
        # No rows come with other types than some do.
        return found.select(columns) if found.num_rows else pa.schema(map(SILVER.columns.field, columns)).empty_table()


def _is_table(name: TableName) -> BooleanExpression:
    same: list[BooleanExpression] = [
        IsNull(term=Reference(part)) if value is None else EqualTo(term=Reference(part), value=literal(value))
        for part, value in zip(_NAME, (name.database, name.schema, name.table), strict=True)
    ]
    return reduce(And, same)


def _between(column: str, lowest: int, highest: int) -> BooleanExpression:
    above = GreaterThanOrEqual(term=Reference(column), value=literal(lowest))
    return And(above, LessThanOrEqual(term=Reference(column), value=literal(highest)))
