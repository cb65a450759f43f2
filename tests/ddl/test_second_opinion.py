"""Drawn statements of Oracle and SQL Server as Retable reads them and as sqlglot's parser does: the same, or held.

A statement that sqlglot only wraps says nothing, and is not counted.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest
import sqlglot
from sqlglot import exp

from retable.ddl.registry import gold_type, parse_statement
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
    CreateTable,
    DropColumn,
    SetKey,
    Unsupported,
)

STATEMENTS = 1000
SEED = int(os.environ.get("RETABLE_DDL_SEED", "1"))
"""Another one draws a thousand others."""

MOST_HELD = 0
TYPES = {
    "oracle": (
        *("NUMBER", "NUMBER(9)", "NUMBER(10,2)", "NUMBER(*,0)", "VARCHAR2(20)", "VARCHAR2(20 CHAR)", "CHAR(3)"),
        *("NVARCHAR2(9)", "DATE", "TIMESTAMP", "TIMESTAMP(3)", "TIMESTAMP WITH TIME ZONE", "CLOB", "BLOB", "RAW(16)"),
        *("BINARY_DOUBLE", "INTEGER", "NCHAR(2)"),
    ),
    "sqlserver": (
        *("int", "bigint", "smallint", "tinyint", "bit", "decimal(10,2)", "numeric(8,0)", "money", "float"),
        *("varchar(20)", "nvarchar(max)", "char(3)", "nchar(5)", "text", "date", "datetime", "datetime2(3)", "time(0)"),
        *("datetimeoffset(7)", "varbinary(8)", "varbinary(max)", "binary(4)", "uniqueidentifier"),
    ),
}
NUMBERS, TEXTS = ("0", "5", "-1", "NULL"), ("'a'", "'it''s'", "NULL")
NAMES = ("a", "b", "C", "dD", "e_1", '"f g"', '"select"', '"k"')
SETTLED = {"DOUBLE PRECISION": "BINARY_DOUBLE"}
"""Types that sqlglot writes in another word than it read, with that one."""

DIALECTS = {"oracle": "oracle", "sqlserver": "tsql"}


@dataclass(frozen=True, slots=True)
class Told:
    """What a statement does, as far as both tell it."""

    columns: tuple[tuple[str, str, str | None], ...] = ()
    key: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: tuple[str, str] | None = None


def column(rng: Random, system: str, name: str, *, may_key: bool = True) -> str:
    """A column; a default is one that its type holds as it is, so that both have it as it is written."""
    kind = rng.choice(TYPES[system])
    family = str(gold_type(system, kind)).partition("(")[0]
    fitting = NUMBERS if family in ("int", "long", "decimal") else TEXTS if "varchar" in kind.lower() else ()
    options = []
    if fitting and rng.random() < 0.5:
        # SQL Server shows a default in older rows where the column has no nulls.
        value = rng.choice(fitting if may_key or system != "sqlserver" else fitting[:-1])
        options += [f"DEFAULT {value}", *(["NOT NULL"] if system == "sqlserver" and not may_key else [])]
    elif rng.random() < 0.4:
        options.append(rng.choice(("NOT NULL", "NULL")))
    if may_key and rng.random() < 0.1:
        options.append("UNIQUE")
    return " ".join([name, kind, *options])


def create(rng: Random, system: str) -> str:
    names = rng.sample(NAMES, rng.randint(1, 5))
    keyed = rng.choice((None, None, None, *names))
    parts = [column(rng, system, name) + " PRIMARY KEY" * (name == keyed) for name in names]
    if keyed is None and rng.random() < 0.7:
        key = rng.sample(names, min(len(names), rng.randint(1, 2)))
        parts.append(f"{rng.choice(('', 'CONSTRAINT pk '))}PRIMARY KEY ({', '.join(key)})")
    if rng.random() < 0.3:
        parts.append(rng.choice((f"CONSTRAINT u UNIQUE ({names[0]})", f"CHECK ({names[0]} IS NOT NULL)")))
    return f"CREATE TABLE {rng.choice(('t', 's.t'))} ({', '.join(parts)})"


def alter(rng: Random, system: str) -> str:
    one, other = rng.sample(NAMES, 2)
    added = column(rng, system, one, may_key=False)
    words = {
        "oracle": (
            f"ADD {added}",
            f"ADD ({added}, {column(rng, system, other, may_key=False)})",
            f"DROP COLUMN {one}",
            f"RENAME COLUMN {one} TO {other}",
            f"ADD CONSTRAINT pk PRIMARY KEY ({one}, {other})",
        ),
        "sqlserver": (
            f"ADD {added}",
            f"ADD {added}, {column(rng, system, other, may_key=False)}",
            f"DROP COLUMN {one}",
            f"ADD CONSTRAINT pk PRIMARY KEY ({one}, {other})",
        ),
    }
    return f"ALTER TABLE {rng.choice(('t', 's.t'))} {rng.choice(words[system])}"


# --- what Retable reads ------------------------------------------------------------------------------------------
def read(system: str, text: str) -> Told | None:
    """None: the statement holds."""
    changes = parse_statement(system, text, "d", "s", "t")
    if any(isinstance(change, Unsupported) for change in changes):
        return None
    created = [change for change in changes if isinstance(change, CreateTable)]
    specs = [spec for change in created for spec in change.columns]
    specs += [change.column for change in changes if isinstance(change, AddColumn)]
    keys = [key for change in created for key in change.keys]
    keys += [key for change in changes if isinstance(change, SetKey) for key in change.keys]
    return Told(
        tuple((spec.name, str(gold_type(system, spec.source_type)), spec.default) for spec in specs),
        tuple(keys),
        tuple(change.name for change in changes if isinstance(change, DropColumn)),
        next(map(_renamed, (each for each in changes if isinstance(each, ChangeColumn))), None),
    )


def _renamed(change: ChangeColumn) -> tuple[str, str]:
    return change.name, change.column.name


# --- what sqlglot reads ------------------------------------------------------------------------------------------
def opinion(system: str, text: str) -> Told | None:
    """None: sqlglot does not read the statement, or only wraps it."""
    try:
        tree = sqlglot.parse_one(text, dialect=DIALECTS[system])
    except sqlglot.errors.ParseError:
        return None
    if not isinstance(tree, exp.Create | exp.Alter):
        return None
    columns = list(tree.find_all(exp.ColumnDef))
    inline = [each for each in columns if any(each.find_all(exp.PrimaryKeyColumnConstraint))]
    key = [name for each in tree.find_all(exp.PrimaryKey) for name in each.find_all(exp.Identifier)]
    key += [each.this for each in inline]
    dropped = [name for each in tree.find_all(exp.Drop) for name in each.find_all(exp.Identifier)]
    renamed = next((tuple(each.find_all(exp.Identifier)) for each in tree.find_all(exp.RenameColumn)), None)
    return Told(
        tuple((_name(system, each.this), _kind(system, each), _default(each)) for each in columns),
        tuple(_name(system, name) for name in key),
        tuple(_name(system, name) for name in dropped),
        None if renamed is None else (_name(system, renamed[0]), _name(system, renamed[1])),
    )


def _name(system: str, identifier: exp.Identifier) -> str:
    return identifier.name.upper() if system == "oracle" and not identifier.quoted else identifier.name


def _kind(system: str, column: exp.ColumnDef) -> str:
    written = column.kind.sql(dialect=DIALECTS[system]) if column.kind else ""
    return str(gold_type(system, SETTLED.get(written, written)))


def _default(column: exp.ColumnDef) -> str | None:
    told = next(iter(column.find_all(exp.DefaultColumnConstraint)), None)
    if told is None or isinstance(told.this, exp.Null):
        return None
    return f"-{told.this.this.name}" if isinstance(told.this, exp.Neg) else str(told.this.name)


# --- both --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("system", sorted(TYPES))
def test_a_thousand_statements_are_read_alike_or_held(system: str) -> None:
    rng, counted, held, wrong = Random(f"{SEED} {system}"), 0, 0, []
    draw: tuple[Callable[[Random, str], str], ...] = (create, alter)
    while counted < STATEMENTS:
        text = rng.choice(draw)(rng, system)
        theirs, mine = opinion(system, text), read(system, text)
        if theirs is None:
            continue
        counted += 1
        held += mine is None
        if mine is not None and mine != theirs:
            wrong.append(f"{text}\n  {mine}\n  {theirs}")
    assert not wrong, f"seed {SEED}, {len(wrong)} of {counted}:\n" + "\n".join(wrong[:10])
    assert held <= MOST_HELD
