"""Reads schema dumps of mysqldump, mariadb-dump and Oracle's DBMS_METADATA. No statement is executed."""

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
"""A statement with which a MariaDB dump sets the next number of a sequence (a database object)."""

_SNIFFED = 1 << 16
_PLACEHOLDER = "\x01"


def read_dump(path: Path, database: str | None = None) -> Schema:
    """Return the tables that a dump file declares. Memory does not grow with the rows in the dump.

    For MySQL, `database` is the database of the tables if the dump does not name it. For Oracle, table names are
    `database.owner.table` if `database` is given, and `owner.table` if it is None.
    InvalidSetting if the file is not a known dump; EnvironmentFault if it cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            kind = _recognise(file.read(_SNIFFED), path)
            file.seek(0)
            return READERS[kind](_pieces(file), database)
    except OSError as error:
        raise EnvironmentFault(f"{path} cannot be read: {error.strerror}") from error


def read_mysql(pieces: Iterable[str], database: str | None) -> Schema:
    """Return the tables that the output of mysqldump or mariadb-dump declares.

    `pieces` are the lines of the output. `database` is the database of the tables if the output does not name it.
    """
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
    """Return the tables that the output of DBMS_METADATA.GET_DDL declares.

    `pieces` are the lines of the output, which may contain SQL*Plus commands. Table names are `database.owner.table`,
    or `owner.table` if `database` is None.
    """
    schema = Schema("oracle")
    for piece in split(pieces, ORACLE):
        if piece.kind == "comment" or _is_refused(schema, piece):
            continue
        if piece.swallows:
            reason = "a PL/SQL program has no end, so the text after it is not read; add a line with only / at its end"
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
    """Rename all tables of a schema, in place, and return the schema. `name_of` maps the old name to the new one."""
    tables = {}
    for name, schema_table in schema.tables.items():
        tables[name_of(name)] = replace(schema_table, table=replace(schema_table.table, table=name_of(name)))
    schema.tables = tables
    schema.unread = [replace(each, table=each.table and name_of(each.table)) for each in schema.unread]
    return schema


def _owned(name: TableName, database: str | None) -> TableName:
    """Return the name of an Oracle table. Without `database`, the owner takes the place of the database."""
    owner = name.schema or ""
    if owner == _PLACEHOLDER:
        return TableName(database or "", None, name.table)
    return TableName(owner, None, name.table) if database is None else TableName(database, owner, name.table)


def _without_homeless(schema: Schema) -> Schema:
    """Move tables whose owner is not known from `schema.tables` to `schema.unread`."""
    for name in [name for name in schema.tables if not name.database]:
        schema_table = schema.tables.pop(name)
        reason = "the owner of the table is not known; name it with --database"
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
    """Return whether a statement is too long to be read. If so, add it to `schema.unread`."""
    if piece.is_cut:
        schema.unread.append(
            UnreadStatement(None, "the statement is too long, so Retable did not read it", piece.text[:200], piece.line)
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
