"""Writes a database's own tables as files: the truth that a change stream is compared with."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pymysql
from pymysql.constants import FIELD_TYPE
from pymysql.converters import encoders

NUMBERS = {
    **dict.fromkeys((FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG, FIELD_TYPE.LONGLONG), int),
    FIELD_TYPE.YEAR: int,
    FIELD_TYPE.DOUBLE: float,
    FIELD_TYPE.BIT: lambda raw: int.from_bytes(raw, "big"),
}
COLUMNS = """
    SELECT column_name AS name, column_type, data_type, is_nullable AS nullable, column_default AS `default`,
        character_set_name AS charset, column_key AS `key`, extra
    FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"""
TABLES = """
    SELECT table_name AS t FROM information_schema.tables
    WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY 1"""
KEYS = """
    SELECT column_name AS c FROM information_schema.key_column_usage
    WHERE table_schema = %s AND table_name = %s AND constraint_name = 'PRIMARY' ORDER BY ordinal_position"""

Row = dict[str, Any]


def write_tables(port: int, database: str, folder: Path) -> None:
    """Write the rows of every table and, in one file, their columns, keys and CREATE TABLE."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = pymysql.connect(
        host="127.0.0.1", port=port, user="capture", password="capture", database=database, charset="utf8mb4",
        conv=encoders | NUMBERS, init_command="SET time_zone = '+00:00'", cursorclass=pymysql.cursors.DictCursor,
    )  # fmt: skip
    schema: dict[str, Row] = {}
    with connection, connection.cursor() as cursor:
        for table in _ask(cursor, TABLES, database):
            name = table["t"]
            columns = _ask(cursor, COLUMNS, database, name)
            key = [row["c"] for row in _ask(cursor, KEYS, database, name)]
            rows = _ask(cursor, _selection(name, columns, key))
            create = _ask(cursor, f"SHOW CREATE TABLE `{name}`")[0]["Create Table"]
            schema[f"{database}.{name}"] = {
                "columns": columns, "primary_key": key, "rows": len(rows), "create": create,
            }  # fmt: skip
            lines = (json.dumps(row, ensure_ascii=False, default=_base64) + "\n" for row in rows)
            write_compressed(folder / f"{database}.{name}.jsonl.gz", "".join(lines))
    write_compressed(folder / "schema.json.gz", json.dumps(schema, ensure_ascii=False, indent=1) + "\n")


def write_compressed(path: Path, text: str) -> None:
    """Compress a text without a name or a time, so that equal texts are equal files."""
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _selection(table: str, columns: list[Row], key: list[str]) -> str:
    # A float's own text has six digits only.
    casts = {"float": "CAST(`{0}` AS DOUBLE) AS `{0}`"}
    names = ", ".join(casts.get(column["data_type"], "`{0}`").format(column["name"]) for column in columns)
    order = ", ".join(f"`{name}`" for name in key) or "1"
    return f"SELECT {names} FROM `{table}` ORDER BY {order}"


def _ask(cursor: Any, statement: str, *values: str) -> list[Row]:
    cursor.execute(statement, values or None)
    return list(cursor.fetchall())


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()
