"""Read the DEFAULT of a SQL Server column: a constant as rows show it, or an expression whose value is not known."""

import re
from uuid import UUID

from sqlglot import TokenType

from retable.ddl.defaults import COMPUTED, NULL, Default, filled, plain_number, shown_as
from retable.ddl.sqlserver.cursor import Cursor
from retable.ddl.sqlserver.types.gold_type import gold_type
from retable.ddl.type_text import TypeText, read_type_text

_ENDS = frozenset(
    {"NOT", "NULL", "CONSTRAINT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "FOREIGN", "COLLATE", "SPARSE", "WITH"}
    | {"IDENTITY", "ROWGUIDCOL", "MASKED", "ENCRYPTED", "GENERATED", "INDEX", "FILESTREAM", "HIDDEN"}
)
_DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})\Z", re.ASCII)
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d{1,7})?)\Z", re.ASCII)
_WITH_A_T = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?)\Z", re.ASCII)


def read_default(cursor: Cursor, source_type: str) -> Default:
    """Read `DEFAULT …` of a column of the type `source_type`."""
    cursor.expect("DEFAULT")
    start = cursor.mark
    depth = 0
    while cursor.take("("):
        depth += 1
    is_null = cursor.take("NULL")
    constant = None if is_null else _read_constant(cursor, read_type_text(source_type))
    closed = all(cursor.take(")") for _ in range(depth))
    if closed and (is_null or constant is not None) and (cursor.at_end_of_element or cursor.word in _ENDS):
        return NULL if constant is None else constant
    cursor.rewind(start)
    _skip_expression(cursor, read_type_text(source_type))
    return COMPUTED


def _skip_expression(cursor: Cursor, kind: TypeText) -> None:
    """Step over operands and the operators between them."""
    while True:
        cursor.take_any({"+", "-", "~"})
        if not cursor.skip_group() and _read_constant(cursor, kind) is None:
            cursor.take("NEXT", "VALUE", "FOR")
            cursor.names()
            cursor.skip_group()
        if not cursor.take_any({"+", "-", "*", "/", "%", "&", "|", "^"}):
            return


def _read_constant(cursor: Cursor, kind: TypeText) -> Default | None:
    gold = gold_type(kind.name, has_lengths=True)
    what = gold.kind if gold is not None else None
    digits = cursor.literal(TokenType.HEX_STRING)
    if digits is not None:
        return shown_as(_bytes(digits, kind) if what == "binary" else None)
    number = cursor.number()
    if number is not None:
        return shown_as(_number(number, what, kind))
    text = cursor.string()
    return None if text is None else shown_as(_text(text, what, kind))


def _number(number: str, what: str | None, kind: TypeText) -> str | None:
    match what:
        case "boolean":
            return str(int(plain_number(number) not in ("0", None)))
        case "int" | "long" | "decimal" | "float" | "double":
            return plain_number(number)
        case "string" if "char" in kind.name:
            return _char(number, kind)
    return None


def _text(text: str, what: str | None, kind: TypeText) -> str | None:
    match what:
        case "boolean":
            return {"true": "1", "false": "0", "1": "1", "0": "0"}.get(text.strip().lower())
        case "int" | "long" | "decimal" | "float" | "double":
            return plain_number(text)
        case "date" | "timestamp":
            return _moment(text.strip(), kind.name)
        case "string" if kind.name == "uniqueidentifier":
            return _identifier(text)
        case "string" if "char" in kind.name or kind.name in ("text", "ntext", "sysname", "national text"):
            return _char(text, kind)
    return None


def _char(text: str, kind: TypeText) -> str | None:
    """Return text as a column of characters shows it. Types of fixed length are padded with blanks."""
    if kind.name not in ("char", "nchar", "character", "national char", "national character"):
        return text
    return filled(text, (kind.lengths or [1])[0], in_characters=kind.name.startswith("n"))


def _moment(text: str, name: str) -> str | None:
    """Return a date or a date and time as rows show it. `name` is the type of the column.

    For DATETIME only those forms are read that mean the same in every language of a session. Return None for others.
    """
    if found := _DATE.match(text):
        if name != "date" and name != "datetime2" and "-" in text:
            return None
        day = "-".join(found.groups())
        return day if name == "date" else f"{day} 00:00:00"
    moment = (_MOMENT if name == "datetime2" else _WITH_A_T).match(text)
    return f"{moment[1]} {moment[2]}" if moment and name in ("datetime", "datetime2") else None


def _identifier(text: str) -> str | None:
    try:
        return str(UUID(text.strip())).upper()
    except ValueError:
        return None


def _bytes(digits: str, kind: TypeText) -> str | None:
    """Return bytes as Latin-1 characters. A type of fixed length is padded with zero bytes."""
    if kind.name not in ("binary", "varbinary", "binary varying", "image"):
        return None
    found = bytes.fromhex(digits.zfill(len(digits) + len(digits) % 2))
    length = (kind.lengths or [1])[0] if kind.name == "binary" else 0
    return found.ljust(length, b"\0").decode("latin-1")
