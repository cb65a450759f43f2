"""Read the type of an Oracle column. The result has the spelling of the statement, with single blanks."""

from sqlglot import TokenType

from retable.ddl.oracle.cursor import Cursor

_CONTINUES = {
    "DOUBLE": ("PRECISION",),
    "LONG": ("RAW", "VARCHAR"),
    "CHARACTER": ("VARYING",),
    "CHAR": ("VARYING",),
    "NCHAR": ("VARYING",),
    "NATIONAL": ("CHARACTER", "CHAR"),
}


def read_type(cursor: Cursor) -> str:
    """Read a type and its lengths: `NUMBER(10,2)`, `TIMESTAMP(6) WITH TIME ZONE`, `MDSYS.SDO_GEOMETRY`."""
    words = [_read_base(cursor)]
    while cursor.word in _CONTINUES.get(words[-1].upper(), ()):
        words.append(cursor.unquoted())
    text = " ".join(words) + _read_lengths(cursor)
    match words[0].upper():
        case "TIMESTAMP":
            return text + _read_zone(cursor)
        case "INTERVAL":
            return text + _read_span(cursor)
    return text


def _read_base(cursor: Cursor) -> str:
    parts: list[str] = []
    while not parts or cursor.take("."):
        token = cursor.next()
        if token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            cursor.rewind(cursor.mark - 1)
            raise cursor.unknown()
        parts.append(cursor.verbatim(token))
    return ".".join(parts)


def _read_lengths(cursor: Cursor) -> str:
    """Read `(10, 2)`, `(20 CHAR)`, `(*, -2)`."""
    if not cursor.take("("):
        return ""
    lengths: list[str] = []
    while not lengths or cursor.take(","):
        words = ["-"] if cursor.take("-") else []
        while cursor.word not in (",", ")", "(", ";"):
            words.append(cursor.verbatim(cursor.next()))
        lengths.append(" ".join(words).replace("- ", "-"))
    cursor.expect(")")
    return f"({','.join(lengths)})"


def _read_zone(cursor: Cursor) -> str:
    if not (cursor.sees("WITH", "TIME", "ZONE") or cursor.sees("WITH", "LOCAL", "TIME", "ZONE")):
        return ""
    words = 3 if cursor.sees("WITH", "TIME") else 4
    return "".join(f" {cursor.unquoted()}" for _ in range(words))


def _read_span(cursor: Cursor) -> str:
    first = cursor.unquoted()
    text = f" {first}{_read_lengths(cursor)}"
    if first.upper() not in ("YEAR", "DAY") or not cursor.sees("TO", "MONTH" if first.upper() == "YEAR" else "SECOND"):
        raise cursor.unknown()
    return f"{text} {cursor.unquoted()} {cursor.unquoted()}{_read_lengths(cursor)}"
