"""Returns the settings that the simulated shop's tables need, because statements and messages do not declare them."""

from dataclasses import dataclass

from retable.simulate.actions.statements import RenameTables
from retable.simulate.columns import INTEGER_BITS, ColumnType
from retable.simulate.database import Table, copied
from retable.simulate.designs import declared_by_settings_only
from retable.simulate.history import History, StatementRun

Types = dict[str, ColumnType]


@dataclass(frozen=True, slots=True)
class TableSetting:
    """The settings `keys` and `types` that one table needs. `keys` is empty if messages or statements name the key."""

    keys: tuple[str, ...]
    types: dict[str, str]


TableSettings = dict[str, TableSetting]
"""The settings of tables, by the table's name with its database."""


def type_settings(history: History) -> dict[str, dict[str, str]]:
    """Return the gold types that messages of streamx_json do not declare, for the tables of the full load.

    The result has, by table, the gold type of each column, as `{"shop.stock": {"seen": "timestamptz"}}`. A table that
    is renamed has an entry for each of its names. A column that is widened later has its widest type from the start.
    """
    tables = copied(history.loaded)
    found: dict[str, Types] = {name: _open_types(table) for name, table in tables.items()}
    origin = {name: name for name in tables}
    for entry in history.entries:
        if isinstance(entry, StatementRun):
            entry.apply(tables)
            if isinstance(entry.statement, RenameTables):
                origin |= {new: origin[old] for old, new in entry.statement.pairs if old in origin}
            for name in origin.keys() & tables.keys():
                _widen(found[origin[name]], _open_types(tables[name]))
    return {
        f"{history.database}.{name}": {column: gold_type(kind) for column, kind in found[first].items()}
        for name, first in origin.items()
        if found[first]
    }


def loaded_settings(history: History, schema: str | None = None) -> TableSettings:
    """Return the key and all gold types of each table of the full load, for a format whose messages have neither.

    The keys of the result are `database.table`, or `database.schema.table` if `schema` is not None.
    """
    prefix = history.database if schema is None else f"{history.database}.{schema}"
    return {
        f"{prefix}.{name}": TableSetting(table.keys, {column.name: gold_type(column.type) for column in table.columns})
        for name, table in history.loaded.items()
    }


def _open_types(table: Table) -> Types:
    return {column.name: column.type for column in table.columns if declared_by_settings_only(column.type)}


def _widen(known: Types, seen: Types) -> None:
    for name, kind in known.items():
        if name in seen and _room(seen[name]) > _room(kind):
            known[name] = seen[name]


def _room(kind: ColumnType) -> tuple[int, tuple[int, ...]]:
    return INTEGER_BITS.get(kind.base, 0), kind.arguments


def gold_type(kind: ColumnType) -> str:
    """Return the gold type for a type of the source, as the setting `types` writes it: `decimal(12,2)`."""
    match kind.base:
        case "double":
            return "double"
        case "varchar" | "enum":
            return "string"
        case "varbinary":
            return "binary"
        case "decimal":
            return f"decimal({kind.arguments[0]},{kind.scale})"
        case "date":
            return "date"
        case "datetime":
            return "timestamp"
        case "timestamp":
            return "timestamptz"
        case "bigint":
            return "decimal(20,0)" if kind.unsigned else "long"
        case "int" if kind.unsigned:
            return "long"
    return "int"
