"""Pairs of a statement and what it means, in tests/golden_ddl/<dialect>.sql.

A pair is two lines: the statement (⏎ for a line break), and `-- => ` with its schema changes, parted by ` | `.
`--- in shop.t` sets what the fields of the message say from there on, `--- in ORCL.HR.T` where it tells a schema; any
other line that begins with `---` is a title. A name is shown with its schema where it has one.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, assert_never

import pytest

from retable.ddl.registry import PARSERS, parse_statement
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    AddForeignKey,
    ChangeColumn,
    ColumnPosition,
    CreateTable,
    CreateTableLike,
    DropColumn,
    DropDatabase,
    DropForeignKey,
    DropTable,
    ForeignKey,
    MovePartitions,
    NoChange,
    RenameTable,
    SchemaChange,
    SetKey,
    TruncateTable,
    Unsupported,
)

GOLDEN = Path(__file__).parent.parent / "golden_ddl"
FEWEST_PAIRS = {"mysql": 400, "oracle": 280, "sqlserver": 120}
ALIASES = {"mariadb": "mysql"}


class Pair(NamedTuple):
    line: int
    database: str | None
    schema: str | None
    table: str | None
    statement: str
    meaning: str


def read_pairs(path: Path) -> Iterator[Pair]:
    database: str | None = None
    schema: str | None = None
    table: str | None = None
    statement: str | None = None
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith("--- in "):
            database, *schemas, table = line.removeprefix("--- in ").split(".")
            schema = schemas[0] if schemas else None
        elif line.startswith("-- => "):
            assert statement is not None, f"{path.name}:{number}: a meaning without its statement"
            meaning = line.removeprefix("-- => ")
            yield Pair(number - 1, database or None, schema, table or None, statement, meaning)
            statement = None
        elif line and not line.startswith("---"):
            assert statement is None, f"{path.name}:{number}: a statement behind one that has no meaning"
            statement = line.replace("⏎", "\n")
    assert statement is None, f"{path.name}: the last statement has no meaning"


def name(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_$#]*", text) else "`" + text.replace("`", "``") + "`"


def table_name(table: TableName | None) -> str:
    if table is None:
        return "no table"
    return ".".join(name(part) for part in (table.database, table.schema, table.table) if part is not None)


def column(spec: ColumnSpec) -> str:
    words = [name(spec.name), spec.source_type or "as it is"]
    if spec.not_null:
        words.append("not null")
    if spec.has_default:
        words.append(f"default {'null' if spec.default is None else repr(spec.default)}")
    if spec.computed:
        words.append("default computed")
    if spec.comment is not None:
        words.append(f"comment {spec.comment!r}")
    return " ".join(words)


def place(where: ColumnPosition | None) -> str:
    if where is None or where == ColumnPosition():
        return ""
    return " first" if where.first else f" after {name(where.after or '')}"


def reference(key: ForeignKey) -> str:
    told = f"{f'{name(key.name)} ' if key.name else ''}({', '.join(map(name, key.columns))})"
    parent = table_name(key.parent) + (f" ({', '.join(map(name, key.parent_columns))})" if key.parent_columns else "")
    return f"{told} to {parent}, on delete {key.on_delete}, on update {key.on_update}"


def foreign_key(change: AddForeignKey | DropForeignKey) -> str:
    if isinstance(change, AddForeignKey):
        return f"foreign key of {table_name(change.table)}: {reference(change.key)}"
    return f"drop foreign key from {table_name(change.table)}: {name(change.name)}"


def render(change: SchemaChange) -> str:
    match change:
        case CreateTable(table, columns, keys, complete, if_not_exists, references):
            parts = [column(spec) for spec in columns]
            parts += [] if complete else ["…"]
            key = f"; key {', '.join(map(name, keys))}" if keys else "; no key"
            key += "".join(f"; foreign key {reference(each)}" for each in references)
            return f"create {table_name(table)}{' if not exists' * if_not_exists} ({', '.join(parts)}{key})"
        case CreateTableLike(table, like, if_not_exists):
            return f"create {table_name(table)}{' if not exists' * if_not_exists} like {table_name(like)}"
        case AddColumn(table, spec, where, if_not_exists):
            return f"add to {table_name(table)}{' if not exists' * if_not_exists}: {column(spec)}{place(where)}"
        case DropColumn(table, old, if_exists):
            return f"drop from {table_name(table)}{' if exists' * if_exists}: {name(old)}"
        case ChangeColumn(table, old, spec, where, if_exists):
            return (
                f"change in {table_name(table)}{' if exists' * if_exists}: {name(old)} to {column(spec)}{place(where)}"
            )
        case SetKey(table, keys):
            return f"key of {table_name(table)}: {', '.join(map(name, keys)) or 'none'}"
        case TruncateTable(table):
            return f"truncate {table_name(table)}"
        case DropTable(table, if_exists):
            return f"drop {table_name(table)}{' if exists' * if_exists}"
        case RenameTable(table, to):
            return f"rename {table_name(table)} to {table_name(to)}"
        case DropDatabase(database):
            return f"drop database {name(database)}"
        case AddForeignKey() | DropForeignKey():
            return foreign_key(change)
        case NoChange(what):
            return f"nothing: {what}"
        case MovePartitions(table, reason):
            return f"partitions of {table_name(table)}: {reason}"
        case Unsupported(table, reason):
            return f"unsupported for {table_name(table)}: {reason}"
        case _:
            assert_never(change)


def test_every_dialect_has_enough_golden_pairs() -> None:
    for dialect in PARSERS:
        file = ALIASES.get(dialect, dialect)
        pairs = list(read_pairs(GOLDEN / f"{file}.sql"))
        assert len(pairs) >= FEWEST_PAIRS[file], f"{dialect} has {len(pairs)} pairs"


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.sql")), ids=lambda path: path.stem)
def test_every_statement_means_what_its_golden_pair_says(path: Path) -> None:
    wrong = []
    for pair in read_pairs(path):
        changes = parse_statement(path.stem, pair.statement, pair.database, pair.schema, pair.table)
        found = " | ".join(render(change) for change in changes)
        if found != pair.meaning:
            wrong.append(f"{path.name}:{pair.line}: {pair.statement}\n  golden {pair.meaning}\n  found  {found}")
    assert not wrong, "\n".join(wrong)
