"""A cursor over the words of one MySQL statement."""

from typing import ClassVar

from sqlglot import Token, Tokenizer, TokenType
from sqlglot.dialects.mysql import MySQL

from retable.ddl.cursor import Cursor as _Cursor


class _Tokenizer(MySQL.Tokenizer):
    """The MySQL tokenizer of sqlglot without keywords, so that it returns each word as one token."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {}
    COMMANDS: ClassVar[set[TokenType]] = set()


class Cursor(_Cursor):
    """Read a MySQL statement without comments. Text in double quotes can be a name, as in the SQL mode ANSI_QUOTES."""

    PARSERS = "MySQL"
    DIALECT = "mysql"
    TOKENIZER: ClassVar[type[Tokenizer]] = _Tokenizer

    def string(self) -> str | None:
        """Read a string literal and resolve its escapes. Adjacent literals form one string, as in MySQL."""
        parts: list[str] = []
        while (part := super().string()) is not None:
            parts.append(part)
        return "".join(parts) if parts else None

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        numeric = after_dot and token.token_type == TokenType.NUMBER
        return numeric or super()._is_name(token, after_dot) or self.verbatim(token).startswith('"')
