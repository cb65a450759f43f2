"""Read the DEFAULT of an Oracle column: a constant as rows show it, or an expression whose value is not known."""

import re
from dataclasses import dataclass
from datetime import datetime

from retable.ddl.defaults import COMPUTED, NULL, Default, filled, plain_number, shown_as
from retable.ddl.oracle.cursor import Cursor
from retable.ddl.oracle.types.gold_type import gold_type
from retable.model.schema import GoldType

_ENDS = frozenset(
    {"NOT", "NULL", "CONSTRAINT", "PRIMARY", "UNIQUE", "REFERENCES", "CHECK", "ENCRYPT", "VISIBLE", "INVISIBLE"}
    | {"GENERATED", "COLLATE", "ENABLE", "DISABLE", "ANNOTATIONS", "ADD", "MODIFY", "DROP", "LOB", "VARRAY", "NESTED"}
    | {"RESERVABLE", "SORT", "DEFERRABLE", "INITIALLY", "RELY", "NORELY", "VALIDATE", "NOVALIDATE"}
)
_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: +(\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?)?\Z", re.ASCII)
_LENGTH = re.compile(r"\(\s*(\d{1,5})\s*(char)?", re.IGNORECASE)
_BLANK_PADDED = ("char", "nchar", "character", "national char", "national character")


@dataclass(frozen=True, slots=True)
class _Constant:
    """A literal. `kind` is `number`, `string`, `truth` (TRUE or FALSE) or `moment` (DATE or TIMESTAMP)."""

    text: str
    kind: str


def read_default(cursor: Cursor, source_type: str) -> Default:
    """Read `DEFAULT [ON NULL] …` of a column of the type `source_type`."""
    cursor.expect("DEFAULT")
    if cursor.take("ON", "NULL") and cursor.take("FOR", "INSERT") and not cursor.take("ONLY"):
        cursor.expect("AND", "UPDATE")
    start = cursor.mark
    depth = 0
    while cursor.take("("):
        depth += 1
    is_null = cursor.take("NULL")
    constant = None if is_null else _read_constant(cursor)
    closed = all(cursor.take(")") for _ in range(depth))
    if closed and (is_null or constant is not None) and (cursor.at_end_of_element or cursor.word in _ENDS):
        return NULL if constant is None else _as_shown(constant, source_type)
    cursor.rewind(start)
    _skip_expression(cursor)
    return COMPUTED


def _skip_expression(cursor: Cursor) -> None:
    """Step over operands and the operators between them."""
    while True:
        cursor.take_any({"+", "-"})
        _skip_operand(cursor)
        if cursor.take("AT") and not cursor.take("LOCAL"):
            cursor.expect("TIME", "ZONE")
            _skip_operand(cursor)
        if not (cursor.take("|", "|") or cursor.take_any({"+", "-", "*", "/"})):
            return


def _skip_operand(cursor: Cursor) -> None:
    if cursor.skip_group() or _read_constant(cursor) is not None:
        return
    if cursor.take("INTERVAL"):
        cursor.expect_string()
        _skip_unit(cursor)
        if cursor.take("TO"):
            _skip_unit(cursor)
    elif cursor.take("CASE"):
        cursor.skip_to("END")
        cursor.expect("END")
    else:
        cursor.names()
        cursor.skip_group()


def _skip_unit(cursor: Cursor) -> None:
    cursor.unquoted()
    cursor.skip_group()


def _read_constant(cursor: Cursor) -> _Constant | None:
    start = cursor.mark
    if (number := cursor.number()) is not None:
        cursor.take_any({"D", "F"})
        return _Constant(number, "number")
    if cursor.word in ("TRUE", "FALSE"):
        return _Constant("1" if cursor.next().text.upper() == "TRUE" else "0", "truth")
    dated = cursor.take("DATE") or cursor.take("TIMESTAMP")
    text = cursor.string()
    if text is None:
        cursor.rewind(start)
        return None
    return _Constant(text, "moment" if dated else "string")


def _as_shown(constant: _Constant, source_type: str) -> Default:
    """Return a constant as rows of the column show it. In Oracle an empty text is null."""
    gold = gold_type(source_type, has_lengths=True)
    if constant.kind == "string" and not constant.text:
        return NULL
    return shown_as(_shown(constant, source_type, gold) if gold is not None else None)


def _shown(constant: _Constant, source_type: str, gold: GoldType) -> str | None:
    base = source_type.partition("(")[0].strip().lower()
    match gold.kind:
        case "timestamp":
            return _moment(constant.text, base == "date") if constant.kind == "moment" else None
        case "boolean":
            return constant.text if constant.kind == "truth" else None
        case "binary":
            return _bytes(constant.text) if constant.kind == "string" else None
        case "decimal" | "float" | "double":
            return plain_number(constant.text) if constant.kind in ("number", "string") else None
        case "string" if gold_is_number(base):
            return plain_number(constant.text) if constant.kind in ("number", "string") else None
        case "string" if constant.kind in ("number", "string"):
            return _text(constant, source_type, base)
    return None


def gold_is_number(base: str) -> bool:
    """Return whether `base` is a number type that can be a string in gold, such as `number` or `float`.

    `base` is the type in lower case without lengths. It can be a string in gold because a decimal of Iceberg cannot
    hold all numbers of the type.
    """
    return base in ("number", "float", "real", "double precision", "numeric", "decimal", "dec")


def _text(constant: _Constant, source_type: str, base: str) -> str | None:
    """Return a constant as a column of text shows it, or None if this is not known.

    A number is written as Oracle writes it. A CHAR is padded with blanks to its length.
    """
    if base.startswith(("interval", "json", "xmltype", "rowid", "urowid", "sys.", "vector")):
        return None
    text: str | None = constant.text
    if constant.kind == "number":
        digits = plain_number(constant.text)
        text = digits and re.sub(r"\A(-?)0\.", r"\1.", digits)
    if text is None or base not in _BLANK_PADDED:
        return text
    found = _LENGTH.search(source_type)
    length, in_characters = (int(found[1]), bool(found[2])) if found else (1, False)
    return filled(text, length, in_characters or base.startswith("n"))


def _moment(text: str, to_the_second: bool) -> str | None:
    found = _MOMENT.match(text.strip())
    if found is None or (to_the_second and found[7]):
        return None
    year, month, day, hour, minute, second = (int(found[part] or 0) for part in range(1, 7))
    try:
        moment = datetime(year, month, day, hour, minute, second)  # noqa: DTZ001  # a wall clock has no zone
    except ValueError:
        return None
    return f"{moment:%Y-%m-%d %H:%M:%S}".rjust(19, "0") + (found[7] or "")


def _bytes(text: str) -> str | None:
    try:
        return bytes.fromhex(text).decode("latin-1") if text.isalnum() else None
    except ValueError:
        return None
