"""Read one DDL statement word by word.

The tokenizer of the dialect cuts the text into tokens (words, signs and literals). The functions of the dialect then
read these tokens one by one. No function here is recursive.
"""

from collections.abc import Collection
from typing import ClassVar

from sqlglot import Token, TokenError, Tokenizer, TokenType

from retable.errors import UnsupportedChange

_BLANKS = " \t\n\r\f\v"
_EXCERPT = 60
_LITERALS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.UNICODE_STRING,
        TokenType.RAW_STRING,
        TokenType.NATIONAL_RAW_STRING,
        TokenType.BYTE_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.IDENTIFIER,
        TokenType.NUMBER,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
    }
)


class Cursor:
    """A position in the tokens of one statement, with functions that read the next tokens.

    A function that does not find what it expects raises UnsupportedChange. Words are compared without case, and a
    quoted name never equals a word. Each dialect has a subclass. It sets PARSERS (the name of the database in errors),
    DIALECT (the name of the dialect in sqlglot) and TOKENIZER (the class of sqlglot that cuts the text into tokens).
    It can also change unquoted names: Oracle's subclass returns them in upper case.
    """

    PARSERS: ClassVar[str]
    DIALECT: ClassVar[str]
    TOKENIZER: ClassVar[type[Tokenizer]]

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._cut(text)
        self._at = 0
        self._clause = 0

    @property
    def ended(self) -> bool:
        return self._at >= len(self._tokens)

    @property
    def word(self) -> str:
        """The next word or sign, in upper case. The text is empty if a quoted name, a literal or the end comes next."""
        return self._word(self._at)

    def sees(self, *words: str) -> bool:
        return all(self._word(self._at + ahead) == word for ahead, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Step over these words if they come next. Return whether they came next."""
        if not self.sees(*words):
            return False
        self._at += len(words)
        return True

    def take_any(self, words: Collection[str]) -> bool:
        return self.word in words and self.take(self.word)

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            raise self.unknown()

    def next(self) -> Token:
        if self.ended:
            raise self.unknown()
        self._at += 1
        return self._tokens[self._at - 1]

    def name(self, after_dot: bool = False) -> str:
        """Read one name, quoted or not. `after_dot` is True if a dot comes before it: MySQL then accepts a number."""
        token = self.next()
        if not (token.text and self._is_name(token, after_dot)):
            self._at -= 1
            raise self.unknown()
        return token.text if token.token_type == TokenType.IDENTIFIER else self._spelled(token.text)

    def names(self) -> list[str]:
        """Read a name with dots, such as `shop.orders`, and return its parts."""
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name(after_dot=True))
        return parts

    def string(self) -> str | None:
        """Read a string literal and resolve its escapes. Return None if no string literal comes next."""
        if self.ended or self._tokens[self._at].token_type not in (TokenType.STRING, TokenType.NATIONAL_STRING):
            return None
        return self.next().text

    def expect_string(self) -> str:
        text = self.string()
        if text is None:
            raise self.unknown()
        return text

    def unquoted(self) -> str:
        """Read a word that has no quotes. Return it in the case in which it is written."""
        if self.ended or self._tokens[self._at].token_type != TokenType.VAR:
            raise self.unknown()
        return self.next().text

    def literal(self, kind: TokenType) -> str | None:
        if self.ended or self._tokens[self._at].token_type != kind:
            return None
        return self.next().text

    @property
    def at_name(self) -> bool:
        """Return whether a quoted name comes next."""
        return not self.ended and self._tokens[self._at].token_type == TokenType.IDENTIFIER

    def number(self) -> str | None:
        """Read a number with its sign. Return None if no number comes next. `.5` is returned as `0.5`."""
        start = self._at
        sign = "-" if self.take("-") else ""
        if not sign:
            self.take("+")
        point = "0." if self.take(".") else ""
        digits = self.literal(TokenType.NUMBER)
        if digits is None:
            self._at = start
            return None
        return sign + point + digits

    def verbatim(self, token: Token) -> str:
        return self._text[token.start : token.end + 1]

    def skip(self) -> None:
        """Step over one token, or over a whole group in parentheses."""
        if not self.skip_group():
            self.next()

    def skip_group(self) -> bool:
        """Step over `( … )` if it comes next. Return whether it came next."""
        if not self.sees("("):
            return False
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.word, 0)
            self.next()
            if depth == 0:
                return True

    def skip_to(self, *stops: str) -> None:
        """Step to the next word that is in `stops` and outside parentheses, or to the end of the statement.

        Also stop at a semicolon, and at a closing parenthesis that has no opening parenthesis.
        """
        while not self.ended and self.word not in stops and self.word not in (";", ")"):
            self.skip()

    def skip_all(self) -> None:
        """Step to the end of the text. Semicolons do not stop this."""
        self._at = len(self._tokens)

    def begin_clause(self) -> None:
        """Remember the current position as the start of a clause. Later errors show the text from there on."""
        self._clause = self._clause if self.ended else self._at

    def rewind(self, mark: int) -> None:
        self._at = mark

    @property
    def mark(self) -> int:
        return self._at

    def finish(self) -> bool:
        """Step over the semicolons at the end of a statement. Return False if another statement follows them.

        Raise UnsupportedChange if neither a semicolon nor the end of the text comes next.
        """
        ended = self.take(";")
        while self.take(";"):
            pass
        if not (ended or self.ended):
            raise self.unknown()
        return self.ended

    def unknown(self) -> UnsupportedChange:
        """Return an error that shows the current clause, and the text from the current position on."""
        place = f": the problem begins at {self._excerpt(self._at)!r}" if self._at > self._clause else ""
        if self.ended:
            place = ": the text ends too early"
        return UnsupportedChange(f"Retable does not understand {self._excerpt(self._clause)!r} in the statement{place}")

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

    def _spelled(self, name: str) -> str:
        """Return an unquoted name as the database spells it, for example in upper case."""
        return name

    def _word(self, at: int) -> str:
        if at >= len(self._tokens) or self._tokens[at].token_type in _LITERALS:
            return ""
        text = self._tokens[at].text
        return text.upper() if text.isascii() else text

    def _excerpt(self, at: int) -> str:
        start = self._tokens[at].start if at < len(self._tokens) else len(self._text)
        rest = self._text[start : start + _EXCERPT + 1]
        return rest if len(rest) <= _EXCERPT else f"{rest[:_EXCERPT]}…"

    @classmethod
    def _cut(cls, text: str) -> list[Token]:
        """Cut a text without comments into tokens.

        sqlglot accepts every Unicode blank as a blank. A database reads blanks outside ASCII as letters of a name.
        """
        try:
            tokens = cls.TOKENIZER(dialect=cls.DIALECT).tokenize(text)
        except TokenError as error:
            raise UnsupportedChange(
                "a quoted name, a string or a number in the statement is incomplete: a closing quote may be missing"
            ) from error
        end = 0
        for token in tokens:
            cls._check_gap(text[end : token.start])
            end = token.end + 1
        cls._check_gap(text[end:])
        return tokens

    @classmethod
    def _check_gap(cls, gap: str) -> None:
        if gap.strip(_BLANKS):
            raise UnsupportedChange(
                f"the statement has {gap!r} between two words, and {cls.PARSERS} does not read this as a blank"
            )
