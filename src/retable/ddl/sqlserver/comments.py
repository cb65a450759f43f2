"""Replace the comments of a SQL Server statement by blanks. Comments can be nested."""

import re

from retable.errors import UnsupportedChange

_PIECE = re.compile(
    r"""(?P<quoted>'(?:[^']|'')*'|"(?:[^"]|"")*"|\[(?:[^\]]|\]\])*\])|(?P<line>--[^\n]*)|(?P<open>/\*)|(?P<broken>['"\[])""",
    re.DOTALL,
)
_MARK = re.compile(r"/\*|\*/")


def readings(statement: str) -> set[str]:
    """Return the text without comments, as the only item of a set."""
    kept: list[str] = []
    position = 0
    while piece := _PIECE.search(statement, position):
        kept.append(statement[position : piece.start()])
        if piece["broken"]:
            raise UnsupportedChange("a quoted name or a string in the statement has no end")
        kept.append(piece["quoted"] or " ")
        position = _end_of_comment(statement, piece.end()) if piece["open"] else piece.end()
    return {"".join([*kept, statement[position:]])}


def _end_of_comment(statement: str, position: int) -> int:
    depth = 1
    while depth:
        mark = _MARK.search(statement, position)
        if mark is None:
            raise UnsupportedChange("a comment in the statement has no end: `*/` is missing")
        depth += 1 if mark[0] == "/*" else -1
        position = mark.end()
    return position
