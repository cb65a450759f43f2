"""A cursor over the words of one SQL Server statement."""

from typing import ClassVar

from sqlglot import Tokenizer, TokenType
from sqlglot.dialects.tsql import TSQL

from retable.ddl.cursor import Cursor as _Cursor

_BEGINNINGS = frozenset({"CREATE", "ALTER", "DROP", "TRUNCATE"})


class _Tokenizer(TSQL.Tokenizer):
    """SQL Server's tokenizer without keywords, so that a word stays a word and no command takes the text after it."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Read a statement without comments. Names keep their case, and double quotes enclose a name."""

    PARSERS = "SQL Server"
    DIALECT = "tsql"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    @property
    def at_end_of_element(self) -> bool:
        """Say whether a column, a constraint or the statement ends here."""
        return self.ended or self.word in (",", ")", ";")

    def names(self) -> list[str]:
        """Read the parts of a name with dots between them. An omitted part, as in `shop..t`, is empty."""
        parts = [self._part()]
        while self.take("."):
            parts.append("" if self.sees(".") else self._part())
        return parts

    @property
    def at_statement(self) -> bool:
        """Say whether another statement on a table begins here. A semicolon before it is optional."""
        begins = self.word in _BEGINNINGS and self._word(self._at + 1) == "TABLE"
        return begins and self._word(self._at + 2) not in ("TO", ",")

    def skip_rest(self) -> None:
        """Step to the statement's end."""
        while not (self.ended or self.word in (";", ")") or self.at_statement):
            self.skip()

    def finish(self) -> bool:
        """Step over the end of a statement. Say whether the text also ends."""
        return False if self.at_statement else super().finish()

    def _part(self) -> str:
        """A part of a name. The name of a temporary table begins with `#`."""
        marks = ""
        while self.take("#"):
            marks += "#"
        return marks + self.name()
