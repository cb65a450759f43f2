"""What settings must say of the shop's tables where neither a statement nor a message tells it."""

from retable.simulate.columns import INTEGER_BITS, ColumnType
from retable.simulate.database import Table, copied
from retable.simulate.designs import told_by_settings_only
from retable.simulate.history import History, StatementRun
from retable.simulate.statements import RenameTables

Types = dict[str, ColumnType]


def type_settings(history: History) -> dict[str, dict[str, str]]:
    """The gold types of columns of loaded tables that streamx_json leaves open: column to type, by `database.table`.

    A table stands there under every name that it had; a column that is widened has the widest type from the
    beginning.
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


def _open_types(table: Table) -> Types:
    return {column.name: column.type for column in table.columns if told_by_settings_only(column.type)}


def _widen(known: Types, seen: Types) -> None:
    for name, kind in known.items():
        if name in seen and _room(seen[name]) > _room(kind):
            known[name] = seen[name]


def _room(kind: ColumnType) -> tuple[int, tuple[int, ...]]:
    return INTEGER_BITS.get(kind.base, 0), kind.arguments


def gold_type(kind: ColumnType) -> str:
    """The gold type of a type that only settings tell, as settings spell it."""
    match kind.base:
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
