"""The words of one MySQL statement."""

from typing import ClassVar

from sqlglot import Token, Tokenizer, TokenType
from sqlglot.dialects.mysql import MySQL

from retable.ddl.cursor import Cursor as _Cursor


class _Tokenizer(MySQL.Tokenizer):
    """MySQL's tokenizer without keywords: a word stays a word, and no command swallows what follows it."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Reads a statement whose comments are gone. Double quotes may be a name's: under ANSI_QUOTES they are."""

    PARSERS = "MySQL"
    DIALECT = "mysql"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    def string(self) -> str | None:
        """A string literal with its escapes resolved; neighbours are one string, as MySQL has it."""
        parts: list[str] = []
        while (part := super().string()) is not None:
            parts.append(part)
        return "".join(parts) if parts else None

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        numeric = after_dot and token.token_type == TokenType.NUMBER
        return numeric or super()._is_name(token, after_dot) or self.verbatim(token).startswith('"')
