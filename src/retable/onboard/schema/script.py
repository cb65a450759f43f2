"""Splits an SQL script into its statements, in bounded memory; rows of data are skipped."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from retable.ddl.statement import LONGEST_STATEMENT

PIECE = 1 << 20
"""Characters that are read at once: a line of data may be as long as a packet."""

_DELIMITER = re.compile(r"delimiter\s+(\S+)\s*\Z", re.IGNORECASE)
_SANDBOX = re.compile(r"/\*M?!999999\\-.*\*/\Z")
"""The first line of mariadb-dump: a command to its own client, a comment to every server."""

_DATA = re.compile(r"\s*(?:INSERT|REPLACE)\s", re.IGNORECASE)
_ROWS = re.compile(r"""(?:[^'"`;]++|'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*+`)*+""", re.DOTALL)
"""Whole values of rows: then comes an end, or a quote whose end is in the next piece."""

_PROGRAM = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?"
    r"(?:TRIGGER|PROCEDURE|FUNCTION|PACKAGE|TYPE|JAVA|LIBRARY)\b|\s*(?:DECLARE|BEGIN)\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\s*(?:CREATE|ALTER|COMMENT\s+ON|GRANT|DROP)\s", re.IGNORECASE)
_BEYOND_PROGRAM = re.compile(
    r"\s*(?:CREATE\s+(?:\w+\s+){0,3}TABLE|ALTER\s+(?:TABLE|TRIGGER)|COMMENT\s+ON|DROP\s+TABLE)\s", re.IGNORECASE
)
"""Statements that begin no line of a program, in which they occur only as text."""

_COMMAND = re.compile(
    r"\s*(?:SET|PROMPT|REM|REMARK|SPOOL|WHENEVER|EXIT|QUIT|SHOW|COLUMN|CONNECT|CONN|START|DEFINE|UNDEFINE|@)(?:\s|$|@)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement without its end, or a line of comment, and the line at which it begins.

    `is_cut`: only the beginning of a statement that is too long to be read. `is_last`: it ended with the script,
    without a terminator.
    """

    kind: Literal["statement", "comment"]
    text: str
    line: int
    is_cut: bool = False
    is_last: bool = False

    @property
    def swallows(self) -> bool:
        """Whether it is a program without its end that includes possible statements on tables."""
        is_program = self.is_last and _PROGRAM.match(self.text)
        return bool(is_program) and any(map(_BEYOND_PROGRAM.match, self.text.splitlines()))


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of scripts of a database's tools.

    `escapes`: a backslash escapes a quote. `slash`: a line with only a slash ends a statement; a program ends so, or
    before a statement on a table. `open_ended`: a statement may lack its end, and the next one begins on a new line.
    """

    quotes: str
    line_comments: str
    escapes: bool = False
    delimiters: bool = False
    slash: bool = False
    open_ended: bool = False


MYSQL = Syntax("'\"`", r"--(?=\s|\Z)|\#", escapes=True, delimiters=True)
ORACLE = Syntax("'\"", "--", slash=True, open_ended=True)


def split(pieces: Iterable[str], syntax: Syntax) -> Iterator[Piece]:
    """Split a script into statements and lines of comment; `pieces` are its lines, long lines in several pieces."""
    cutter = _Cutter(syntax=syntax)
    for piece in pieces:
        yield from cutter.feed(piece)
    for last in cutter.flush():
        yield replace(last, is_last=True)


@dataclass(slots=True, kw_only=True)
class _Cutter:
    """The state in a script: the open quote or comment, and the part of a statement that was read.

    `depth` counts open parentheses; `skips` is set in a statement of data.
    """

    syntax: Syntax
    delimiter: str = ";"
    inside: str = ""
    depth: int = 0
    line: int = 1
    began: int = 1
    at_start: bool = True
    hidden: bool = False
    skips: bool = False
    is_cut: bool = False
    size: int = 0
    kept: list[str] = field(default_factory=list)
    _finders: dict[str, re.Pattern[str]] = field(default_factory=dict)

    def feed(self, piece: str) -> Iterator[Piece]:
        starts, self.at_start = self.at_start, piece.endswith("\n")
        if starts and not self.inside:
            yield from self._end_open(piece)
            if (pieces := self._whole_line(piece)) is not None:
                yield from pieces
                self.line += self.at_start
                return
        at = 0
        while at < len(piece):
            at, ended = self._step(piece, at)
            if ended:
                yield from self.flush()
        self.line += self.at_start

    def flush(self) -> Iterator[Piece]:
        """End the statement that was read so far."""
        text, cut, skips = "".join(self.kept).strip(), self.is_cut, self.skips
        self.kept, self.size, self.is_cut, self.skips, self.depth = [], 0, False, False, 0
        if text and not skips:
            yield Piece("statement", text, self.began, cut)

    # --- lines ---------------------------------------------------------------------------------------------------
    def _end_open(self, piece: str) -> Iterator[Piece]:
        """End a statement that lacks its end before the next one begins."""
        if not (self.syntax.open_ended and self.size and _BEGINS.match(piece)):
            return
        if _BEYOND_PROGRAM.match(piece) if _PROGRAM.match(self._head()) else self.depth == 0:
            yield from self.flush()

    def _whole_line(self, piece: str) -> Iterable[Piece] | None:
        """The kind of a line that belongs to no statement; None for any other line."""
        text = piece.strip()
        if self.syntax.slash and text == "/":
            return list(self.flush())
        if self.size or self.skips:
            return None
        if self.syntax.delimiters and (found := _DELIMITER.match(text)):
            self.delimiter = found[1]
            return ()
        if self.syntax.delimiters and _SANDBOX.match(text):
            return ()
        if re.match(self.syntax.line_comments, text) or (self.syntax.slash and _COMMAND.match(piece)):
            return (Piece("comment", text, self.line),)
        return None if text else ()

    # --- characters ----------------------------------------------------------------------------------------------
    def _step(self, piece: str, at: int) -> tuple[int, bool]:
        """Advance to the next significant character; True if the statement ends there."""
        if self.hidden:
            self.hidden = False
            self._keep(piece[at : at + 1])
            return at + 1, False
        if self.skips and not self.inside and self.syntax.escapes:
            at = _ROWS.match(piece, at).end()  # type: ignore[union-attr]  # it also matches an empty text
        found = self._finder().search(piece, at)
        if found is None:
            self.hidden = self.syntax.escapes and self.inside in ("'", '"') and _ends_hiding(piece, at)
            self._keep(piece[at:])
            return len(piece), False
        text, end = found[0], found.end()
        if self.inside:
            self.inside = self.inside if text.startswith("\\") else ""
        elif text == self.delimiter and not (self.syntax.slash and _PROGRAM.match(self._head())):
            self._keep(piece[at : found.start()])
            return end, True
        elif re.match(self.syntax.line_comments, text):
            self._keep(piece[at : found.start()] + "\n")
            return len(piece), False
        elif text in self.syntax.quotes or text == "/*":
            self.inside = text
        else:
            self.depth += {"(": 1, ")": -1}.get(text, 0)
        self._keep(piece[at:end])
        return end, False

    def _finder(self) -> re.Pattern[str]:
        """The pattern of the end of the quote or comment, or, outside of both, of any significant character."""
        key = self.inside or self.delimiter
        if key not in self._finders:
            self._finders[key] = re.compile(self._pattern(), re.DOTALL)
        return self._finders[key]

    def _pattern(self) -> str:
        if self.inside == "/*":
            return r"\*/"
        if self.inside:
            return rf"\\.|{self.inside}" if self.syntax.escapes and self.inside != "`" else self.inside
        return rf"[{self.syntax.quotes}()]|{self.syntax.line_comments}|/\*|{re.escape(self.delimiter)}"

    def _head(self) -> str:
        return "".join(self.kept[:8])[:200]

    def _keep(self, text: str) -> None:
        if self.skips or self.is_cut or not (self.size or text.strip()):
            return
        if not self.size:
            self.began = self.line
        self.kept.append(text)
        self.size += len(text)
        if self.size < PIECE and _DATA.match(self._head()):
            self.skips, self.kept = True, [""]
        elif self.size > LONGEST_STATEMENT:
            self.is_cut, self.kept = True, ["".join(self.kept)[: LONGEST_STATEMENT + 1]]


def _ends_hiding(piece: str, at: int) -> bool:
    """Whether a piece ends in a backslash that escapes the first character of the next one."""
    tail = piece[at:]
    return (len(tail) - len(tail.rstrip("\\"))) % 2 == 1
