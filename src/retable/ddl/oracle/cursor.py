"""A cursor over the words of one Oracle statement."""

from typing import ClassVar

from sqlglot import Token, Tokenizer, TokenType
from sqlglot.dialects.oracle import Oracle

from retable.ddl.cursor import Cursor as _Cursor


class _Tokenizer(Oracle.Tokenizer):
    """The Oracle tokenizer of sqlglot without keywords, so that it returns each word as one token."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Read an Oracle statement without comments. Names without quotes are returned in upper case."""

    PARSERS = "Oracle"
    DIALECT = "oracle"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    @property
    def at_end_of_element(self) -> bool:
        """Return whether a column, a constraint or the statement ends here."""
        return self.ended or self.word in (",", ")", ";")

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        linked = token.token_type == TokenType.VAR and "@" in token.text
        return super()._is_name(token, after_dot) and not linked

    def _spelled(self, name: str) -> str:
        return "".join(upper if len(upper := letter.upper()) == 1 else letter for letter in name)
