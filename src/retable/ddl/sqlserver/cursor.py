"""A cursor over the words of one SQL Server statement."""

from typing import ClassVar

from sqlglot import Tokenizer, TokenType
from sqlglot.dialects.tsql import TSQL

from retable.ddl.cursor import Cursor as _Cursor

_BEGINNINGS = frozenset({"CREATE", "ALTER", "DROP", "TRUNCATE"})


class _Tokenizer(TSQL.Tokenizer):
    """The SQL Server tokenizer of sqlglot without keywords, so that it returns each word as one token."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Read a SQL Server statement without comments. Names keep their case, and text in double quotes is a name."""

    PARSERS = "SQL Server"
    DIALECT = "tsql"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    @property
    def at_end_of_element(self) -> bool:
        """Return whether a column, a constraint or the statement ends here."""
        return self.ended or self.word in (",", ")", ";")

    def names(self) -> list[str]:
        """Read a name with dots, such as `shop.dbo.t`. Return its parts. An omitted part, as in `shop..t`, is empty."""
        parts = [self._part()]
        while self.take("."):
            parts.append("" if self.sees(".") else self._part())
        return parts

    @property
    def at_statement(self) -> bool:
        """Return whether a statement such as ALTER TABLE begins here. SQL Server requires no semicolon before it."""
        begins = self.word in _BEGINNINGS and self._word(self._at + 1) == "TABLE"
        return begins and self._word(self._at + 2) not in ("TO", ",")

    def skip_rest(self) -> None:
        """Step to the end of the statement."""
        while not (self.ended or self.word in (";", ")") or self.at_statement):
            self.skip()

    def finish(self) -> bool:
        """Step over the semicolons at the end of a statement. Return False if another statement follows."""
        return False if self.at_statement else super().finish()

    def _part(self) -> str:
        """Read one part of a name. The name of a temporary table begins with `#`."""
        marks = ""
        while self.take("#"):
            marks += "#"
        return marks + self.name()
