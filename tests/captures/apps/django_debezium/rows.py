"""Writes drawn rows into whatever tables a database has: it reads their columns and keys from the server itself."""

import json
import random
import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pymysql

INTEGERS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
TEXTS = ("", "plain", "naïve café", "数据库", "Ω≈ç√", "🦆🚀", 'O\'Brien "q"', "a\\b\tc\nd", "ß, ü; %", "NULL", "  x")
MOMENTS = ("1000-01-01 00:00:00.000000", "1969-12-31 23:59:59.999999", "2038-01-19 03:14:08.000001",
           "9999-12-31 23:59:59.999999")  # fmt: skip
# Text that a later migration of the application turns into JSON, and columns that one makes NOT NULL.
LATER_JSON = {"content_json", "data_json", "extra_data", "form_data", "data"}
LATER_NOT_NULL = {"locale_id", "translation_key", "content_type_id", "base_content_type_id", "permission_id",
                  "permission_type", "uuid", "site_name", "client_secret", "object_id"}  # fmt: skip
# The framework looks these up by what it wrote itself: rows are added, never changed.
ONLY_GROWS = {"django_content_type", "auth_permission"}
UNTOUCHED = {"django_migrations", "wl_marker"}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table as information_schema and SHOW CREATE TABLE describe it."""

    name: str
    create: str
    columns: list[Row]
    primary_key: list[str]
    parents: dict[str, tuple[str, str]]
    referenced: bool


class Writer:
    """Draws rows from one seed and writes them; a statement that the server refuses is left out."""

    def __init__(self, connection: "pymysql.connections.Connection[Any]", seed: int) -> None:
        self.connection = connection
        self.dice = random.Random(seed)
        self.creates: dict[str, str] = {}
        self.counts = {"insert": 0, "update": 0, "delete": 0, "refused": 0}

    def write_step(self) -> None:
        """Write rows into each table that is new or altered since the last call, and into three more."""
        tables = self.read_tables()
        changed = [table for table in tables if self.creates.get(table.name) != table.create]
        others = [table for table in tables if table.name in self.creates and table not in changed]
        self.creates = {table.name: table.create for table in tables}
        for table in self._parents_first(changed):
            self._insert(table, self.dice.randint(1, 2) if len(changed) > 8 else self.dice.randint(2, 3))
            self._update(table, 1)
            self._delete(table, self.dice.random() < 0.3)
        for table in self.dice.sample(others, min(3, len(others))):
            self._insert(table, self.dice.randint(0, 1))
            self._update(table, self.dice.randint(0, 1))
            self._delete(table, self.dice.random() < 0.3)

    def read_tables(self) -> list[Table]:
        """Give every table that rows may be written to, by name."""
        names = self._ask("SELECT table_name AS t FROM information_schema.tables "
                          "WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY 1")  # fmt: skip
        return [self._read_table(row["t"]) for row in names if row["t"] not in UNTOUCHED]

    def _read_table(self, name: str) -> Table:
        usage = "FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND "
        keys = self._ask(f"SELECT column_name AS c {usage} table_name = %s AND constraint_name = 'PRIMARY' "
                         "ORDER BY ordinal_position", name)  # fmt: skip
        links = self._ask(f"SELECT column_name AS c, referenced_table_name AS t, referenced_column_name AS r {usage} "
                          "table_name = %s AND referenced_table_name IS NOT NULL ORDER BY 1, 2", name)  # fmt: skip
        children = self._ask(f"SELECT 1 {usage} referenced_table_name = %s LIMIT 1", name)
        columns = self._ask(
            "SELECT column_name AS name, data_type AS type, column_type AS spelled, is_nullable = 'YES' AS nullable, "
            "extra, character_maximum_length AS length, numeric_precision AS digits, numeric_scale AS scale "
            "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
            "ORDER BY ordinal_position",
            name,
        )
        create = re.sub(r" AUTO_INCREMENT=\d+", "", self._ask(f"SHOW CREATE TABLE `{name}`")[0]["Create Table"])
        parents = {row["c"]: (row["t"], row["r"]) for row in links}
        return Table(name, create, columns, [row["c"] for row in keys], parents, bool(children))

    def _parents_first(self, tables: list[Table]) -> list[Table]:
        waiting, ordered = list(tables), []
        while waiting:
            names = {table.name for table in waiting}
            free = [t for t in waiting if not {p for p, _ in t.parents.values() if p != t.name} & names]
            ordered += free or waiting
            waiting = [table for table in waiting if table not in ordered]
        return ordered

    def _insert(self, table: Table, count: int) -> None:
        for _ in range(count):
            row = {}
            for column in table.columns:
                if not re.search("auto_increment|GENERATED", column["extra"]) or self.dice.random() < 0.02:
                    row[column["name"]] = self._draw(table, column)
            names = ", ".join(f"`{name}`" for name in row)
            marks = ", ".join(["%s"] * len(row))
            self._try("insert", f"INSERT INTO `{table.name}` ({names}) VALUES ({marks})", row.values())

    def _update(self, table: Table, count: int) -> None:
        for key in self._some_keys(table, count):
            free = [c for c in table.columns if c["name"] not in table.primary_key and "GENERATED" not in c["extra"]]
            some = self.dice.sample(free, min(len(free), self.dice.randint(1, 3)))
            values = {column["name"]: self._draw(table, column) for column in some}
            if not table.referenced and not table.parents.keys() & set(key) and self.dice.random() < 0.2:
                values |= {c["name"]: self._draw_key(c) for c in table.columns if c["name"] in key}
            if values:
                sets = ", ".join(f"`{name}` = %s" for name in values)
                where = " AND ".join(f"`{name}` = %s" for name in key)
                statement = f"UPDATE `{table.name}` SET {sets} WHERE {where}"
                self._try("update", statement, [*values.values(), *key.values()])

    def _delete(self, table: Table, wanted: bool) -> None:
        for key in self._some_keys(table, 1) if wanted and "ON DELETE" not in table.create else []:
            where = " AND ".join(f"`{name}` = %s" for name in key)
            self._try("delete", f"DELETE FROM `{table.name}` WHERE {where}", key.values())

    def _some_keys(self, table: Table, count: int) -> list[Row]:
        if table.name in ONLY_GROWS or not table.primary_key or not count:
            return []
        names = ", ".join(f"`{name}`" for name in table.primary_key)
        keys = self._ask(f"SELECT {names} FROM `{table.name}` ORDER BY {names}")
        return self.dice.sample(keys, min(count, len(keys)))

    def _draw(self, table: Table, column: Row) -> Any:
        name = column["name"]
        if column["nullable"] and name not in LATER_NOT_NULL and self.dice.random() < 0.25:
            return None
        if name in table.parents:
            parent, key = table.parents[name]
            values = self._ask(f"SELECT `{key}` AS v FROM `{parent}` ORDER BY 1")
            return self.dice.choice(values)["v"] if values else None
        if name in LATER_JSON or f"json_valid(`{name}`)" in table.create:
            return self._draw_json("revision" in table.name)
        meant = self._draw_meant(table, name)
        return self._draw_value(column) if meant is None else meant

    def _draw_meant(self, table: Table, name: str) -> Any:
        """Draw a value that a migration of the application's data will look into, None for all others."""
        match name:
            case "depth":
                return self.dice.randint(2, 6)
            case "path" if "`depth`" in table.create:
                return "".join(self.dice.choices("0123456789ABCXYZ", k=4 * self.dice.randint(2, 6)))
            case "timezone":
                return self.dice.choice(["UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York"])
            case "permission_type":
                return self.dice.choice(["add", "edit", "publish", "lock", "unlock"])
            case "object_id" if "`base_content_type_id`" in table.create:
                return str(self.dice.choice(self._ask("SELECT id FROM wagtailcore_page ORDER BY 1"))["id"])
        return None

    def _draw_key(self, column: Row) -> Any:
        return self.dice.randint(1000, 2**31 - 1) if column["type"] in INTEGERS else self._draw_value(column)

    def _draw_value(self, column: Row) -> Any:
        kind, dice = column["type"], self.dice
        if kind in INTEGERS:
            return self._draw_integer(column)
        match kind:
            case "uuid":
                return str(uuid.UUID(int=dice.getrandbits(128), version=4))
            case "decimal":
                digits = dice.randint(1, column["digits"])
                return f"{dice.choice(['', '-'])}{dice.getrandbits(200) % 10**digits}e-{column['scale']}"
            case "float" | "double":
                return dice.choice([0.0, -1.5, 0.1, 1e-300, 1.7976931348623157e308, dice.uniform(-1e6, 1e6)])
            case "date" | "datetime" | "timestamp" | "time":
                return self._draw_moment(kind)
            case "char" | "varchar":
                return self._draw_text(min(column["length"], 40))
            case _ if kind.endswith("text"):
                return self._draw_text(200)
            case _ if kind.endswith(("blob", "binary")):
                return dice.randbytes(dice.randint(0, min(column["length"], 40)))
        raise ValueError(f"no draw for a column of type {kind}")

    def _draw_integer(self, column: Row) -> int:
        if column["spelled"] == "tinyint(1)":
            return self.dice.randint(0, 1)
        bits = INTEGERS[column["type"]]
        low, high = (0, 2**bits - 1) if "unsigned" in column["spelled"] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return self.dice.choice([low, high, 0, 1, *(max(low, self.dice.randint(-99, 99999) % high) for _ in range(6))])

    def _draw_moment(self, kind: str) -> str:
        if kind != "timestamp" and self.dice.random() < 0.15:
            text = self.dice.choice(MOMENTS)
        else:
            day = f"{self.dice.randint(1971, 2037)}-{self.dice.randint(1, 12):02}-{self.dice.randint(1, 28):02}"
            clock = ":".join(f"{self.dice.randrange(most):02}" for most in (24, 60, 60))
            text = f"{day} {clock}.{self.dice.choice([0, self.dice.randrange(10**6)]):06}"
        return {"date": text[:10], "time": text[11:]}.get(kind, text)

    def _draw_text(self, most: int) -> str:
        word = "".join(self.dice.choices("abcdefghijkmnpqrstuvwxyz0123456789", k=self.dice.randint(6, 12)))
        return f"{word}{self.dice.choice(TEXTS)}"[:most] if self.dice.random() < 0.9 else self.dice.choice(TEXTS)[:most]

    def _draw_json(self, of_a_page: bool) -> str:
        items = (None, True, -7, 2**53 + 1, 0.5, "", [], [1, "两", {"a": None}], self._draw_text(20))
        names = self.dice.sample(["title", "键", "a b", "n", "body"], self.dice.randint(0, 3))
        value = {name: self.dice.choice(items) for name in names}
        if of_a_page:
            kinds = self._ask("SELECT id FROM django_content_type ORDER BY 1")
            value |= {"title": self._draw_text(40), "content_type": self.dice.choice(kinds)["id"]}
        return json.dumps(value, ensure_ascii=self.dice.random() < 0.5)

    def _ask(self, statement: str, *values: Any) -> list[Row]:
        with self.connection.cursor(pymysql.cursors.DictCursor) as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())

    def _try(self, kind: str, statement: str, values: Iterable[Any]) -> None:
        with self.connection.cursor() as cursor:
            try:
                cursor.execute(statement, list(values))
                self.counts[kind] += 1
            except pymysql.MySQLError:
                self.counts["refused"] += 1
