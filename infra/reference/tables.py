"""Make docs/reference/tables.md and properties.md: columns of system tables, and Iceberg properties of gold tables."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pyarrow as pa

from reference.markdown import code, page, table
from retable.gold.state import HEAD_PROPERTY, RUN_PROPERTY, GoldState, RetentionFloor, ShardState, to_properties
from retable.ledger.lake.tables import BRONZE, OPS, QUARANTINE, SILVER, STATEMENTS, SystemTable
from retable.ledger.lake.warehouse import NAME_PROPERTY
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.history import Hold

_WORDS = Path(__file__).with_name("columns.toml")

TABLES = """
These are Iceberg tables of the lake; any engine that reads Iceberg reads them. Retable alone writes them. Tables of
`ops` are append-only: of several rows about one thing, the row that was committed last counts.
"""

PROPERTIES_WORDS = """
A gold table has its own state in its Iceberg properties. A run writes rows and properties in one commit, so they always
belong together. Values are JSON unless this page says otherwise. Do not change them.
"""


def tables_page() -> str:
    """Return the page of the system tables. Raise LookupError if columns.toml and the columns do not agree."""
    words = _words()["tables"]
    shapes = {
        "bronze.<source>": BRONZE,
        "silver.<source>": SILVER,
        "statements.<source>": STATEMENTS,
        "quarantine.<source>": QUARANTINE,
        **OPS,
    }
    check_same({*shapes, "shared"}, words, "tables")
    parts = []
    for name, shape in shapes.items():
        parts += [f"## {name}", words[name]["about"], _columns(name, shape, words)]
    return page("System tables", TABLES, *parts)


def properties_page() -> str:
    """Return the page of the properties of gold tables."""
    words = _words()["properties"]
    check_same(property_names(), words, "properties")
    return page("Properties of gold", PROPERTIES_WORDS, table(("property", "meaning"), _sorted(words)))


def property_names() -> set[str]:
    """Return the names of all properties that a gold table may have: of a full state, and of a commit."""
    table, at = TableName("shop", None, "orders"), Sequence(0, 1, 1)
    state = GoldState(
        source="shop",
        identity="shop.orders@base",
        table=table,
        truncated_at=at,
        hold=Hold("LATE_CHANGE", "", None, None, None, ""),
        floor=RetentionFloor({}, 0),
        shards={"shop.orders@base": ShardState(table, None)},
        clashes=1,
        debts=0,
        gathered={"shop.orders@base": ""},
    )
    return to_properties(state).keys() | {RUN_PROPERTY, HEAD_PROPERTY, NAME_PROPERTY}


def check_same(there: object, described: object, what: str) -> None:
    """Raise LookupError if the existing names and the names in columns.toml are not the same."""
    there, described = set(cast(set[str], there)), set(cast(set[str], described))
    if there != described:
        raise LookupError(
            f"{_WORDS.name}, {what}: describe {sorted(there - described)}, remove {sorted(described - there)}"
        )


def _words() -> dict[str, dict[str, dict[str, str]]]:
    return tomllib.loads(_WORDS.read_text(encoding="utf-8"))


def _sorted(words: Mapping[str, object]) -> list[list[str]]:
    return [[code(name), str(text)] for name, text in words.items()]


def _columns(name: str, shape: SystemTable, words: Mapping[str, Mapping[str, str]]) -> str:
    own = {column: text for column, text in words[name].items() if column != "about"}
    shared = words["shared"]
    check_same(set(own) - set(shape.columns.names), (), name)
    missing = [column for column in shape.columns.names if column not in own and column not in shared]
    check_same(missing, (), name)
    rows = [
        [code(each.name), type_words(each.type), own.get(each.name, shared.get(each.name, ""))]
        for each in shape.columns
    ]
    return table(("column", "type", "meaning"), rows)


def type_words(kind: pa.DataType) -> str:
    """Return Iceberg's name of a type."""
    if pa.types.is_list(kind):
        return f"list of {type_words(kind.value_type)}"
    if pa.types.is_map(kind):
        return f"map of {type_words(kind.key_type)} to {type_words(kind.item_type)}"
    if pa.types.is_struct(kind):
        return f"struct: {', '.join(f'`{each.name}` {type_words(each.type)}' for each in kind)}"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision}, {kind.scale})"
    names = {"bool": "boolean", "int32": "int", "int64": "long", "timestamp[us, tz=UTC]": "timestamptz"}
    return names.get(str(kind), str(kind))
