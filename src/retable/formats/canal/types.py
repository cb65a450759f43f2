"""The types in Canal's messages: how their values are encoded, and the type of a column in gold."""

import re
from functools import lru_cache

import msgspec

from retable.errors import Malformed
from retable.formats.json_text import check_shared
from retable.values.encodings import Encoding, Enum, LabelSet, Latin1Text, Text, Unread, Untyped
from retable.values.mysql_encoding import base_type, mysql_encoding

_LONG_TYPES = 64 * 1024
_BLOB = 2004
_TEXT_CODES = frozenset({-16, -15, -9, -1, 1, 12, 2005, 2011})
"""The codes of java.sql.Types that mean text."""

_DESTROYED = frozenset({"uuid", "inet4", "inet6", "vector"})  # bytes that Canal takes for text (1.1.7, MariaDB 10.11)
_FORM = re.compile(r"#[a-z0-9]+\Z")
_MYSQL_TYPES = msgspec.json.Decoder(dict[str, str | None] | None)
_SQL_TYPES = msgspec.json.Decoder(dict[str, int | None] | None)


def read_types(mysql_type: bytes, sql_type: bytes) -> dict[str, str] | None:
    """Return the type of each column, from the fields `mysqlType` and `sqlType` of a message.

    If `mysqlType` is missing or empty, return None.
    Adjacent messages of one table share the same result.
    """
    if len(mysql_type) + len(sql_type) > _LONG_TYPES:
        return _read_types(mysql_type, sql_type)
    return _remembered_types(mysql_type, sql_type)


def _read_types(mysql_type: bytes, sql_type: bytes) -> dict[str, str] | None:
    check_shared(mysql_type)
    check_shared(sql_type)
    try:
        declared, codes = _MYSQL_TYPES.decode(mysql_type), _SQL_TYPES.decode(sql_type) or {}
    except msgspec.ValidationError as error:
        text = f"the column types in `mysqlType` and `sqlType` are unreadable: {error}"
        raise Malformed(text, place="mysqlType, sqlType") from error
    if not declared:
        return None
    return {name: _wire_type(text, codes.get(name)) for name, text in declared.items() if text is not None}


_remembered_types = lru_cache(maxsize=1024)(_read_types)


def _wire_type(declared: str, code: int | None) -> str:
    """The declared type, with the encoding of the value if the type alone does not decide it.

    `code` is the type in `sqlType`. It changes with the value (a number that fits, null), so it only decides whether
    the value is text. In a message of many rows, it describes the last row.
    """
    match base_type(declared):
        case "enum" if code is not None and code not in _TEXT_CODES:
            return f"{declared}#index"
        case "set" if code is not None and code not in _TEXT_CODES:
            return f"{declared}#bits"
        case "json" if code == _BLOB:
            return f"{declared}#latin1"
    return declared


def default_type(wire_type: str) -> str:
    """Return the MySQL type of a column that no statement declared, by its type in the message."""
    return _FORM.sub("", wire_type)


def wire_encoding(wire_type: str | None) -> Encoding:
    """Return the encoding of values, by their type in the message.

    DTS leaves out precision, scale, length and labels. Values that depend on them are then accepted as they are.
    """
    if wire_type is None:
        return Untyped()
    mark = _FORM.search(wire_type)
    if base_type(wire_type) in _DESTROYED:
        return Unread("Canal writes the bytes of this type as text; bytes that are not UTF-8 are lost")
    encoding = mysql_encoding(default_type(wire_type))
    match encoding, mark and mark[0]:
        case Enum(labels), "#index":
            return Enum(labels, by_number=True)
        case LabelSet(labels), "#bits":
            return LabelSet(labels, by_mask=True)
        case Text(), "#latin1":
            return Latin1Text()
    return encoding
