"""Read and convert imported schema dumps. They declare tables, like statements of the source."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_imports
from retable.ledger.rows import ImportRow
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import DeclareTable, ForeignKey
from retable.model.sequence import Sequence, parse_sequence
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class Import:
    """A table from a schema dump, and the position in the source's log at which the dump was taken.

    `dialect` is the database, `statement` the text in the dump, and `origin` says where the dump comes from.
    """

    table: DeclareTable
    position: Sequence
    dialect: str
    statement: str
    origin: str


@dataclass(frozen=True)
class Imports:
    """All tables that were imported from schema dumps of one source."""

    each: tuple[Import, ...] = ()

    @cached_property
    def _of(self) -> dict[str, list[Import]]:
        found: dict[str, list[Import]] = {}
        for each in self.each:
            found.setdefault(str(each.table.table), []).append(each)
        return found

    @property
    def dialect(self) -> str | None:
        """The database whose SQL dialect the dumps have. It is None if there are no dumps."""
        return self.each[0].dialect if self.each else None

    def statements(self, takes: Callable[[TableName], bool]) -> list[Statement]:
        """Return the imported tables as statements at the positions of their dumps.

        `takes` returns whether the settings include a table. Other tables are skipped. At an equal position, these
        statements come after the statements in messages.
        """
        return [
            Statement(
                position=each.position,
                part=None,
                table=each.table.table,
                text=each.statement,
                changes=(each.table,),
                offset=2**62,
            )
            for each in self.each
            if takes(each.table.table)
        ]

    def fingerprint(self, identity: str, name: TableName) -> str:
        """Return a digest of the imports of a table. It changes if a new dump changes the schema of the table.

        Imports count under the present `name`, and under the first name, which `identity` contains. The digest is empty
        if the table has no import.
        """
        names = {str(name), identity.rpartition("@")[0]}
        mine = [each for each_name in names for each in self._of.get(each_name, ())]
        facts = sorted((str(each.position), to_json(each.table)) for each in mine)
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:16] if mine else ""

    def newest(self, name: TableName) -> Import | None:
        """Return the import of a table with the highest position. Return None if the table has no import."""
        return max(self._of.get(str(name), ()), key=lambda each: each.position, default=None)


NO_IMPORTS = Imports()


def read_schema_imports(lake: Lake, source: str) -> Imports:
    """Return the tables from schema dumps of a source, in the order in which they were imported."""
    return Imports(tuple(map(_import, read_imports(lake, source))))


def import_row(source: str, imported: Import, now: datetime) -> ImportRow:
    name = imported.table.table
    return ImportRow(
        source=source,
        database=name.database,
        schema=name.schema,
        table=name.table,
        position=str(imported.position),
        dialect=imported.dialect,
        statement=imported.statement,
        meaning=to_json(imported.table),
        origin=imported.origin,
        recorded_at=now,
    )


def to_json(table: DeclareTable) -> str:
    """Return the columns, the key and the foreign keys of a table as JSON text."""
    facts: dict[str, Any] = {"columns": [asdict(column) for column in table.columns], "keys": table.keys}
    if table.references:
        facts["references"] = [asdict(key) for key in table.references]
    return json.dumps(facts, ensure_ascii=False, sort_keys=True)


def _import(row: ImportRow) -> Import:
    facts: dict[str, Any] = json.loads(row.meaning)
    columns = tuple(ColumnSpec(**column) for column in facts["columns"])
    references = tuple(map(_reference, facts.get("references", ())))
    table = DeclareTable(TableName(row.database, row.schema, row.table), columns, tuple(facts["keys"]), references)
    return Import(table, parse_sequence(row.position), row.dialect, row.statement, row.origin)


def _reference(facts: dict[str, Any]) -> ForeignKey:
    own, theirs = tuple(facts["columns"]), tuple(facts["parent_columns"])
    return ForeignKey(facts["name"], own, TableName(*facts["parent"]), theirs, facts["on_delete"], facts["on_update"])
