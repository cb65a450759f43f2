"""Read the DEFAULT of a MySQL column. It is a constant, or an expression whose value is not known."""

from sqlglot import TokenType

from retable.ddl.mysql.cursor import Cursor

_TRUTH = {"TRUE": "1", "FALSE": "0"}
_PREFIXES = frozenset({"DATE", "TIME", "TIMESTAMP"})


def read_default(cursor: Cursor) -> tuple[bool, str | bytes | None]:
    """Read `DEFAULT …`. Return whether the default is a constant, and the constant.

    The constant is text, bytes for a bit or hexadecimal literal, or None for NULL and for an expression. It can be in
    parentheses, which MySQL requires for TEXT and JSON columns.
    """
    cursor.expect("DEFAULT")
    start = cursor.mark
    depth = 0
    while cursor.take("("):
        depth += 1
    is_constant, value = _read_constant(cursor)
    if is_constant and all(cursor.take(")") for _ in range(depth)):
        return True, value
    cursor.rewind(start)
    skip_expression(cursor)
    return False, None


def skip_expression(cursor: Cursor) -> None:
    """Step over an expression: `( … )`, a function with or without parentheses, or `NEXT VALUE FOR sequence`."""
    if cursor.skip_group():
        return
    cursor.take("NEXT", "VALUE", "FOR")
    cursor.name()
    while cursor.take("."):
        cursor.name(after_dot=True)
    cursor.skip_group()


def _read_constant(cursor: Cursor) -> tuple[bool, str | bytes | None]:
    if cursor.take("NULL"):
        return True, None
    if cursor.word in _TRUTH:
        return True, _TRUTH[cursor.next().text.upper()]
    number = cursor.number()
    value = _read_text(cursor) if number is None else number
    return value is not None, value


def _read_text(cursor: Cursor) -> str | bytes | None:
    start = cursor.mark
    introducer = cursor.word if cursor.word.startswith("_") else ""
    if introducer or cursor.word in _PREFIXES:
        cursor.next()
    value = _read_bytes(cursor)
    text = cursor.string() if value is None else value
    unicode = introducer in ("", "_BINARY") or introducer.startswith("_UTF8")
    if text is None or not (unicode or text.isascii()):
        cursor.rewind(start)
        return None
    return text


def _read_bytes(cursor: Cursor) -> bytes | None:
    digits, base, per_byte = cursor.literal(TokenType.HEX_STRING), 16, 2
    if digits is None:
        digits, base, per_byte = cursor.literal(TokenType.BIT_STRING), 2, 8
    return None if digits is None else int(digits or "0", base).to_bytes(-(-len(digits) // per_byte))
