"""Remove the comments of a MySQL statement. Keep the content of comments that a server executes."""

import re

from retable.errors import UnsupportedChange

_QUOTED = r"""(?P<quoted>'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)|`[^`]*(?:`|\Z))"""
_COMMENT = r"(?P<comment>\#[^\n]*|--(?=[\x00-\x20]|\Z)[^\n]*|/\*(?!M?!).*?(?:(?P<closed>\*/)|\Z))"
_OPENING = r"(?P<opening>/\*(?P<mariadb>M?)!(?P<version>\d{5,6})?)"
_CLOSING = r"(?P<closing>\*/)"
_OUTSIDE = re.compile(f"{_QUOTED}|{_COMMENT}|{_OPENING}", re.DOTALL)
_INSIDE = re.compile(f"{_QUOTED}|{_CLOSING}|{_COMMENT}", re.DOTALL)

_FIRST_SKIPPED_BY_MARIADB = 50700


def readings(statement: str) -> set[str]:
    """Return the texts, without comments, that a server may have executed: one or two.

    A server executes the content of a version comment, as `/*!40005 TEMPORARY */`, if its own version is at least that
    number. Every current server executes those below 50700. MariaDB skips those from 50700 to 99999, and MySQL
    skips `/*M! … */`. If the statement has a comment that only some servers execute, there are two texts: with its
    content and without it.
    """
    return {_executed(statement, newest=True), _executed(statement, newest=False)}


def _executed(statement: str, newest: bool) -> str:
    kept: list[str] = []
    position, inside, skipping = 0, False, False
    while piece := (_INSIDE if inside else _OUTSIDE).search(statement, position):
        if not skipping:
            kept += statement[position : piece.start()], piece["quoted"] or " "
        match piece.lastgroup:
            case "opening":
                inside, skipping = True, not (newest or _everywhere(piece))
            case "closing":
                inside = skipping = False
            case "comment" if piece[0].startswith("/*") and not piece["closed"]:
                raise UnsupportedChange("a comment in the statement has no end: `*/` is missing")
        position = piece.end()
    if inside:
        raise UnsupportedChange("a comment in the statement has no end: `*/` is missing")
    return "".join([*kept, statement[position:]])


def _everywhere(opening: re.Match[str]) -> bool:
    return not opening["mariadb"] and int(opening["version"] or 0) < _FIRST_SKIPPED_BY_MARIADB
