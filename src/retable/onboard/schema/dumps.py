"""Reads schema dumps of mysqldump, mariadb-dump and Oracle's DBMS_METADATA; nothing in them is executed."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, TextIO

from retable.ddl.registry import parse_statement
from retable.errors import EnvironmentFault, InvalidSetting
from retable.model.event import TableName
from retable.onboard.schema.script import MYSQL, ORACLE, PIECE, Piece, split
from retable.onboard.schema.tables import Schema, UnreadStatement

DumpKind = Literal["mysql", "oracle"]

_USE = re.compile(r"USE\s+`?([^`;]+?)`?\s*\Z", re.IGNORECASE)
_HEADER = re.compile(r"--\s+(?:Host:.*\bDatabase:\s*(?P<only>\S+)|Current Database:\s*`(?P<current>[^`]+)`)")
_PLACE = re.compile(
    r"(?:MASTER|SOURCE)_LOG_FILE\s*=\s*'(?P<file>[^']+)'\s*,\s*(?:MASTER|SOURCE)_LOG_POS\s*=\s*(?P<at>\d+)",
    re.IGNORECASE,
)
_GTID = re.compile(
    r"(?:GTID_PURGED|gtid_slave_pos)\s*=(?:\s*/\*.*?\*/)?\s*'(?P<gtid>[^']*)'", re.IGNORECASE | re.DOTALL
)
_NAME = r'(?:"[^"]+"|[\w$#]+)'
_COMMENT_ON = re.compile(
    rf"COMMENT\s+ON\s+(?P<what>TABLE|COLUMN|MATERIALIZED\s+VIEW)\s+(?P<names>{_NAME}(?:\s*\.\s*{_NAME})*)\s+IS\s+"
    r"'(?P<text>.*)'\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_NEXT_NUMBER = re.compile(r"(?:DO|SELECT)\s+SETVAL\s*\(", re.IGNORECASE)
"""How MariaDB's dumps set the next number of a sequence."""

_SNIFFED = 1 << 16
_PLACEHOLDER = "\x01"


def read_dump(path: Path, database: str | None = None) -> Schema:
    """Read a dump in bounded memory, however many rows it holds.

    `database` is that of a dump that names none. For Oracle it is the first part of every table's name; without it the
    owner is. InvalidSetting if the file is no known dump.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            kind = _recognise(file.read(_SNIFFED), path)
            file.seek(0)
            return READERS[kind](_pieces(file), database)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror}") from error


def read_mysql(pieces: Iterable[str], database: str | None) -> Schema:
    """Read the output of mysqldump or mariadb-dump."""
    schema = Schema("mysql")
    for piece in split(pieces, MYSQL):
        _note_place(schema, piece.text)
        if piece.kind == "comment":
            found = _HEADER.match(piece.text)
            database = (found["only"] or found["current"]) if found else database
        elif found := _USE.match(piece.text):
            database = found[1]
        elif not _is_refused(schema, piece) and not _NEXT_NUMBER.match(piece.text):
            schema.take(parse_statement("mysql", piece.text, database, None, None), piece.text, piece.line)
    return schema


def read_oracle(pieces: Iterable[str], database: str | None) -> Schema:
    """Read the output of DBMS_METADATA.GET_DDL, with or without SQL*Plus."""
    schema = Schema("oracle")
    for piece in split(pieces, ORACLE):
        if piece.kind == "comment" or _is_refused(schema, piece):
            continue
        if piece.swallows:
            reason = "a program lacks its end, so the text after it is not read; add a line with only /"
            schema.unread.append(UnreadStatement(None, reason, piece.text[:200], piece.line))
            continue
        if found := _COMMENT_ON.match(piece.text):
            _comment(schema, found)
        else:
            home = (_PLACEHOLDER, _PLACEHOLDER)
            schema.take(parse_statement("oracle", piece.text, *home, None), piece.text, piece.line)
    return _without_homeless(named(schema, lambda name: _owned(name, database)))


READERS: dict[DumpKind, Callable[[Iterable[str], str | None], Schema]] = {"mysql": read_mysql, "oracle": read_oracle}


def named(schema: Schema, name_of: Callable[[TableName], TableName]) -> Schema:
    """The schema with other names for its tables."""
    tables = {}
    for name, schema_table in schema.tables.items():
        tables[name_of(name)] = replace(schema_table, table=replace(schema_table.table, table=name_of(name)))
    schema.tables = tables
    schema.unread = [replace(each, table=each.table and name_of(each.table)) for each in schema.unread]
    return schema


def _owned(name: TableName, database: str | None) -> TableName:
    """An Oracle table named by its owner, which is the database of messages that name no other."""
    owner = name.schema or ""
    if owner == _PLACEHOLDER:
        return TableName(database or "", None, name.table)
    return TableName(owner, None, name.table) if database is None else TableName(database, owner, name.table)


def _without_homeless(schema: Schema) -> Schema:
    """The schema without tables of unknown owner; they are listed."""
    for name in [name for name in schema.tables if not name.database]:
        schema_table = schema.tables.pop(name)
        reason = "its owner is not known; give it with --database"
        schema.unread.append(UnreadStatement(name, reason, schema_table.statement[:200], 0))
    return schema


def _recognise(head: str, path: Path) -> DumpKind:
    if re.search(r"-- (?:MySQL|MariaDB) dump|/\*!\d{5,6}|ENGINE\s*=|^USE\s+`|CREATE TABLE `", head, re.MULTILINE):
        return "mysql"
    if re.search(r'CREATE\s+(?:\w+\s+)*TABLE\s+"|SEGMENT CREATION|TABLESPACE\s+"|\b(?:VARCHAR2|NUMBER)\b', head):
        return "oracle"
    raise InvalidSetting(
        f"{path} is not a known dump of a schema: give the output of `mysqldump --no-data` or DBMS_METADATA.GET_DDL"
    )


def _pieces(file: TextIO) -> Iterator[str]:
    while piece := file.readline(PIECE):
        yield piece


def _is_refused(schema: Schema, piece: Piece) -> bool:
    """Whether a statement is too long to be read; then it is listed."""
    if piece.is_cut:
        schema.unread.append(
            UnreadStatement(None, "the statement is too long to be read", piece.text[:200], piece.line)
        )
    return piece.is_cut


def _note_place(schema: Schema, text: str) -> None:
    if found := _PLACE.search(text):
        schema.place = (found["file"], int(found["at"]))
    elif found := _GTID.search(text):
        schema.marks.append(f"GTID {' '.join(found['gtid'].split())}")


def _comment(schema: Schema, found: re.Match[str]) -> None:
    names = [_spelled(part) for part in re.findall(_NAME, found["names"])]
    text = found["text"].replace("''", "'")
    if found["what"].upper() == "COLUMN" and len(names) >= 2:
        owner = names[-3] if len(names) > 2 else _PLACEHOLDER
        schema.comment(TableName(_PLACEHOLDER, owner, names[-2]), names[-1], text)


def _spelled(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name.upper()
