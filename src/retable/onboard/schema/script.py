"""Splits an SQL script into its statements, in bounded memory. INSERT and REPLACE statements are skipped."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from retable.ddl.statement import LONGEST_STATEMENT

PIECE = 1 << 20
"""The maximum number of characters that are read at once. A line with rows may be as long as a MySQL packet."""

_DELIMITER = re.compile(r"delimiter\s+(\S+)\s*\Z", re.IGNORECASE)
_SANDBOX = re.compile(r"/\*M?!999999\\-.*\*/\Z")
"""The first line of mariadb-dump. MariaDB's client reads it as a command, and every server as a comment."""

_DATA = re.compile(r"\s*(?:INSERT|REPLACE)\s", re.IGNORECASE)
_ROWS = re.compile(r"""(?:[^'"`;]++|'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*+`)*+""", re.DOTALL)
"""Complete values of rows, up to the end of the statement or to a quote that ends in the next piece."""

_PROGRAM = re.compile(
    r"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:NON)?EDITIONABLE\s+)?"
    r"(?:TRIGGER|PROCEDURE|FUNCTION|PACKAGE|TYPE|JAVA|LIBRARY)\b|\s*(?:DECLARE|BEGIN)\b",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"\s*(?:CREATE|ALTER|COMMENT\s+ON|GRANT|DROP)\s", re.IGNORECASE)
_BEYOND_PROGRAM = re.compile(
    r"\s*(?:CREATE\s+(?:\w+\s+){0,3}TABLE|ALTER\s+(?:TABLE|TRIGGER)|COMMENT\s+ON|DROP\s+TABLE)\s", re.IGNORECASE
)
"""Statements that never begin a line of a PL/SQL program, because a program has them only inside strings."""

_COMMAND = re.compile(
    r"\s*(?:SET|PROMPT|REM|REMARK|SPOOL|WHENEVER|EXIT|QUIT|SHOW|COLUMN|CONNECT|CONN|START|DEFINE|UNDEFINE|@)(?:\s|$|@)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement of a script without its terminator, or a comment line. `line` is the number of its first line.

    If `is_cut`, `text` has only the beginning of a statement that is too long to be read. If `is_last`, the script
    ended before a terminator of this statement.
    """

    kind: Literal["statement", "comment"]
    text: str
    line: int
    is_cut: bool = False
    is_last: bool = False

    @property
    def swallows(self) -> bool:
        """Whether this is a PL/SQL program without an end, whose text may include later statements on tables."""
        is_program = self.is_last and _PROGRAM.match(self.text)
        return bool(is_program) and any(map(_BEYOND_PROGRAM.match, self.text.splitlines()))


@dataclass(frozen=True, slots=True)
class Syntax:
    """The syntax of the scripts that the tools of a database write.

    - `quotes`: the quote characters. `line_comments`: a pattern for the start of a line comment.
    - `escapes`: a backslash escapes a quote. `delimiters`: a DELIMITER command can change the terminator.
    - `slash`: a line with only a slash ends a statement. Only this line, or a statement on a table, ends a PL/SQL
      program.
    - `open_ended`: a statement may have no terminator. The next statement then begins on a new line.
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
    """Yield the statements and comment lines of a script. INSERT and REPLACE statements are left out.

    `pieces` are the lines of the script; a line longer than `PIECE` characters comes in several pieces.
    """
    cutter = _Cutter(syntax=syntax)
    for piece in pieces:
        yield from cutter.feed(piece)
    for last in cutter.flush():
        yield replace(last, is_last=True)


@dataclass(slots=True, kw_only=True)
class _Cutter:
    """The state of `split` between two pieces.

    `inside` is the open quote or comment. `kept` has the text of the current statement, and `began` its first line.
    `depth` is the number of open parentheses. `skips` is True inside an INSERT or REPLACE. `hidden` is True if a
    backslash at the end of the last piece escapes the next character.
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
        """Yield the statement that was read so far, and reset the state."""
        text, cut, skips = "".join(self.kept).strip(), self.is_cut, self.skips
        self.kept, self.size, self.is_cut, self.skips, self.depth = [], 0, False, False, 0
        if text and not skips:
            yield Piece("statement", text, self.began, cut)

    # --- lines ---------------------------------------------------------------------------------------------------
    def _end_open(self, piece: str) -> Iterator[Piece]:
        """If `piece` begins a new statement, end the open statement, which has no terminator."""
        if not (self.syntax.open_ended and self.size and _BEGINS.match(piece)):
            return
        if _BEYOND_PROGRAM.match(piece) if _PROGRAM.match(self._head()) else self.depth == 0:
            yield from self.flush()

    def _whole_line(self, piece: str) -> Iterable[Piece] | None:
        """Handle a line that is not part of a statement, and return its pieces. Return None for any other line."""
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
        """Read up to the next significant character. Return the new offset, and whether the statement ends there."""
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
        """Return the pattern to search next.

        Inside a quote or comment it finds the end of it. Outside it finds any significant character.
        """
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
    """Return whether a piece ends with a backslash that escapes the first character of the next piece."""
    tail = piece[at:]
    return (len(tail) - len(tail.rstrip("\\"))) % 2 == 1
