"""Writes drawn rows into whatever tables a database has at the moment: some new, some changed, some deleted."""

import json
import random
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pymysql

WORDS = (
    "ledger",
    "Zürich",
    "订单",
    "naïve",
    "🚚 van",
    "quote's",
    'a "b"',
    "back\\slash",
    "tab\there",
    "two\nlines",
    "ß",
    "",
)
MOST_ROWS = 8
MOST_TRIES = 3
MOST_TEXT = 60


@dataclass(frozen=True, slots=True)
class Column:
    """What is needed to draw a value of a column."""

    name: str
    kind: str
    spelled: str
    nullable: bool
    length: int | None
    scale: int
    fraction: int
    extra: str
    check: str


@dataclass(slots=True)
class Table:
    """A table as the server has it now; `parents` is by column, `referenced` is whether a foreign key looks at it."""

    name: str
    columns: list[Column]
    key: tuple[str, ...]
    unique: set[str] = field(default_factory=set)
    parents: dict[str, tuple[str, str]] = field(default_factory=dict)
    referenced: bool = False


class RowWriter:
    """Draws rows from one seed.

    `hints` draws, by column name, text that an application's own migrations can read.
    """

    def __init__(
        self,
        connection: "pymysql.Connection[Any]",
        seed: int,
        hints: Mapping[str, Callable[[random.Random], str]],
    ) -> None:
        self._connection = connection
        self._random = random.Random(seed)
        self._hints = hints
        self._seen: dict[tuple[str, str], list[Column]] = {}
        self._drawn = 0

    def write(self, database: str, closed: frozenset[str], others: int) -> None:
        """Change rows of the tables that are new or have other columns than before, and of some others."""
        tables = {table.name: table for table in self._read_tables(database) if table.name not in closed}
        fresh = [name for name, table in tables.items() if self._seen.get((database, name)) != table.columns]
        self._seen.update({(database, name): table.columns for name, table in tables.items()})
        rest = [name for name in tables if name not in fresh]
        self._connection.select_db(database)
        for name in [*fresh, *self._random.sample(rest, min(others, len(rest)))]:
            self._connection.begin()
            self._change(tables, tables[name])
            self._connection.commit()

    def _change(self, tables: Mapping[str, Table], table: Table) -> None:
        ((count,),) = self._ask(f"SELECT count(*) FROM `{table.name}`")
        room = MOST_ROWS - int(count)
        for _ in range(min(self._random.randint(1, 2), room)):
            _ = any(self._insert(tables, table, ()) for _ in range(MOST_TRIES))
        if count:
            for _ in range(self._random.randint(0, 2)):
                self._update(table)
        if not table.referenced and (room <= 0 or self._random.random() < 0.3):
            self._delete(table)

    # --- one row ---------------------------------------------------------------------------------------------------

    def _insert(self, tables: Mapping[str, Table], table: Table, above: tuple[str, ...]) -> bool:
        row: dict[str, Any] = {}
        for column in table.columns:
            if "GENERATED" in column.extra or ("auto_increment" in column.extra and self._random.random() < 0.9):
                continue
            if column.name in table.parents:
                row[column.name] = self._draw_parent(tables, table, column, (*above, table.name))
            else:
                row[column.name] = self._draw(table, column)
        for name, (parent, parent_column) in table.parents.items():
            if parent == table.name and row[name] is None and not _column(table, name).nullable:
                row[name] = row.get(parent_column)
        names, marks = ", ".join(f"`{name}`" for name in row), ", ".join(["%s"] * len(row))
        return self._try(f"INSERT INTO `{table.name}` ({names}) VALUES ({marks})", list(row.values()))

    def _draw_parent(self, tables: Mapping[str, Table], table: Table, column: Column, above: tuple[str, ...]) -> Any:
        parent, parent_column = table.parents[column.name]
        if column.nullable and self._random.random() < 0.3:
            return None
        sql = f"SELECT `{parent_column}` FROM `{parent}` ORDER BY 1"
        found = self._ask(sql)
        if not found and parent in tables and parent not in above:
            self._insert(tables, tables[parent], above)
            found = self._ask(sql)
        return self._random.choice(found)[0] if found else None

    def _update(self, table: Table) -> None:
        plain = [column for column in table.columns if column.name not in {*table.key, *table.parents}]
        plain = [column for column in plain if "GENERATED" not in column.extra]
        changed = self._random.sample(plain, min(len(plain), self._random.randint(1, 3)))
        movable = [] if table.referenced else [name for name in table.key if name not in table.parents]
        if movable and self._random.random() < 0.15:
            changed.append(_column(table, self._random.choice(movable)))
        where = self._pick(table)
        if not changed or where is None:
            return
        sets = ", ".join(f"`{column.name}` = %s" for column in changed)
        values = [self._draw(table, column) for column in changed]
        self._try(f"UPDATE `{table.name}` SET {sets} {where[0]}", [*values, *where[1]])

    def _delete(self, table: Table) -> None:
        where = self._pick(table)
        if where is not None:
            self._try(f"DELETE FROM `{table.name}` {where[0]}", where[1])

    def _pick(self, table: Table) -> tuple[str, list[Any]] | None:
        if not table.key:
            return "LIMIT 1", []
        keys = ", ".join(f"`{name}`" for name in table.key)
        rows = self._ask(f"SELECT {keys} FROM `{table.name}` ORDER BY {keys}")
        if not rows:
            return None
        return "WHERE " + " AND ".join(f"`{name}` = %s" for name in table.key), list(self._random.choice(rows))

    def _try(self, sql: str, values: Sequence[Any]) -> bool:
        """Run a statement; what the server refuses is left out."""
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(sql, values)
            except pymysql.MySQLError:
                return False
        return True

    def _ask(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    # --- one value -------------------------------------------------------------------------------------------------

    def _draw(self, table: Table, column: Column) -> Any:
        self._drawn += 1
        labels = re.findall(r"'((?:[^']|'')*)'", column.check if " in (" in column.check.lower() else "")
        if column.name in self._hints and column.kind in ("varchar", "text", "longtext") and not labels:
            return self._hints[column.name](self._random)
        if column.nullable and self._random.random() < 0.2:
            return None
        if "json_valid" in column.check:
            return json.dumps(self._draw_json(), ensure_ascii=False)
        if labels:
            return self._random.choice(labels)
        return self._draw_kind(column, unique=column.name in table.unique)

    def _draw_kind(self, column: Column, *, unique: bool) -> Any:
        match column.kind:
            case "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "bit" | "year":
                return self._draw_integer(column, unique=unique)
            case "decimal":
                digits = self._random.choice((0, 1, 10 ** ((column.length or 10) - column.scale) - 1))
                return self._random.choice((1, -1)) * (
                    digits + Decimal(self._random.randint(0, 9)).scaleb(-column.scale)
                )
            case "float" | "double":
                return self._random.choice((0.0, -1.5, 3.25, 1e10, self._random.uniform(-1000, 1000)))
            case "datetime" | "timestamp" | "date" | "time":
                return self._draw_moment(column)
            case "enum" | "set":
                return self._random.choice(re.findall(r"'((?:[^']|'')*)'", column.spelled))
            case kind if "blob" in kind or "binary" in kind:
                return self._random.randbytes(min(column.length or 30, self._random.randint(0, 30)))
            case "uuid":
                return self._draw_uuid()
            case _:
                return self._draw_text(column, unique=unique)

    def _draw_integer(self, column: Column, *, unique: bool) -> int:
        if column.kind == "year":
            return self._random.randint(1990, 2090)
        if column.spelled in ("tinyint(1)", "bit(1)"):
            return self._random.randint(0, 1)
        bits = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64, "bit": column.length or 1}
        wide = bits[column.kind]
        low, high = (
            (0, (1 << wide) - 1) if "unsigned" in column.spelled else (-(1 << (wide - 1)), (1 << (wide - 1)) - 1)
        )
        if unique:
            return self._random.randint(1, high)
        small = [self._random.randint(1, 1000) for _ in range(6)]
        return self._random.choice([low, high, 0, -1 if low else 1, *small])

    def _draw_moment(self, column: Column) -> str:
        moment = datetime(2001, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=self._random.randint(0, 36 * 365 * 86400 * 10**6)
        )
        if column.kind == "date":
            return f"{moment:%Y-%m-%d}"
        fraction = f".{moment.microsecond:06d}"[: column.fraction + 1] if column.fraction else ""
        return f"{moment:%H:%M:%S}{fraction}" if column.kind == "time" else f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"

    def _draw_text(self, column: Column, *, unique: bool) -> str:
        most = min(column.length or MOST_TEXT, MOST_TEXT)
        if most == 36 and (unique or column.name.lower().endswith("id")):
            return self._draw_uuid()
        if unique:
            return f"{self._drawn:x}-{self._random.getrandbits(32):x}-{self._random.choice(WORDS)}"[:most].rstrip()
        return " ".join(self._random.choices(WORDS, k=self._random.randint(1, 4)))[:most]

    def _draw_uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _draw_json(self) -> Any:
        number = self._random.choice((0, -1, 2**53, 1.5))
        return {"name": self._random.choice(WORDS), "n": number, "list": [True, None], "in": {"é": self._drawn}}

    # --- what the server has ---------------------------------------------------------------------------------------

    def _read_tables(self, database: str) -> list[Table]:
        named = (database,)
        tables: dict[str, Table] = {}
        checks = {(table, name): clause for table, name, clause in self._ask(_CHECKS, named)}
        for table, *facts in self._ask(_COLUMNS, named):
            column = Column(*[*facts, _check_of(checks, table, facts[0])])
            tables.setdefault(table, Table(table, [], ())).columns.append(column)
        for table, index, column_name in self._ask(_UNIQUE, named):
            if table not in tables:
                continue
            tables[table].unique.add(column_name)
            if index == "PRIMARY":
                tables[table].key = (*tables[table].key, column_name)
        for table, column_name, parent, parent_column in self._ask(_FOREIGN, named):
            tables[table].parents[column_name] = (parent, parent_column)
            tables[parent].referenced = True
        return list(tables.values())


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name == name)


def _check_of(checks: Mapping[tuple[str, str], str], table: str, column: str) -> str:
    return " ".join(clause for (owner, _), clause in checks.items() if owner == table and f"`{column}`" in clause)


_COLUMNS = """
SELECT c.table_name, column_name, data_type, column_type, is_nullable = 'YES',
       CAST(coalesce(character_maximum_length, numeric_precision) AS INT), CAST(coalesce(numeric_scale, 0) AS INT),
       CAST(coalesce(datetime_precision, 0) AS INT), extra
FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
WHERE c.table_schema = %s AND t.table_type = 'BASE TABLE' ORDER BY c.table_name, ordinal_position
"""
_CHECKS = """
SELECT table_name, constraint_name, check_clause FROM information_schema.check_constraints
WHERE constraint_schema = %s ORDER BY table_name, constraint_name
"""
_UNIQUE = """
SELECT table_name, index_name, column_name FROM information_schema.statistics
WHERE table_schema = %s AND non_unique = 0 ORDER BY table_name, index_name, seq_in_index
"""
_FOREIGN = """
SELECT table_name, column_name, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE table_schema = %s AND referenced_table_name IS NOT NULL ORDER BY table_name, column_name
"""
