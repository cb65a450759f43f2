"""Replace comments and hints of an Oracle statement by blanks, and alternative quotes `q'[…]'` by plain quotes."""

import re

from retable.errors import UnsupportedChange

_PIECE = re.compile(
    r"""
    (?<![\w$\#])(?P<national>[nN]?)[qQ]'(?:\[(?P<square>.*?)\]'|\{(?P<brace>.*?)\}'|\((?P<round>.*?)\)'
        |<(?P<angle>.*?)>'|(?P<mark>[^\s\[{(<])(?P<other>.*?)(?P=mark)')
    | (?P<quoted>'(?:[^']|'')*'|"[^"]*")
    | (?P<comment>--[^\n]*|/\*.*?\*/)
    | (?P<broken>(?<![\w$\#])[nN]?[qQ]'|['"]|/\*)
    """,
    re.DOTALL | re.VERBOSE,
)


def readings(statement: str) -> set[str]:
    """Return the text without comments, as the only item of a set.

    A string such as `q'[it's]'` gets plain quotes: `'it''s'`.
    """
    return {_PIECE.sub(_plain, statement)}


def _plain(piece: re.Match[str]) -> str:
    if piece["quoted"]:
        return piece["quoted"]
    if piece["comment"]:
        return " "
    if piece["broken"]:
        raise UnsupportedChange("a quoted name, a string or a comment in the statement has no end")
    text = next(part for part in piece.group("square", "brace", "round", "angle", "other") if part is not None)
    return piece["national"] + "'" + text.replace("'", "''") + "'"
