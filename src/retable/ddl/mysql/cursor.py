"""A cursor over the words of one MySQL statement."""

from typing import ClassVar

from sqlglot import Token, Tokenizer, TokenType
from sqlglot.dialects.mysql import MySQL

from retable.ddl.cursor import Cursor as _Cursor


class _Tokenizer(MySQL.Tokenizer):
    """MySQL's tokenizer without keywords, so that a word stays a word and no command takes the text after it."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Read a statement without comments. Double quotes may enclose a name, as they do under ANSI_QUOTES."""

    PARSERS = "MySQL"
    DIALECT = "mysql"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    def string(self) -> str | None:
        """Read a string literal with its escapes resolved. Adjacent literals are one string, as in MySQL."""
        parts: list[str] = []
        while (part := super().string()) is not None:
            parts.append(part)
        return "".join(parts) if parts else None

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        numeric = after_dot and token.token_type == TokenType.NUMBER
        return numeric or super()._is_name(token, after_dot) or self.verbatim(token).startswith('"')
