"""A cursor over the words of one statement.

The dialect's tokenizer cuts the text, and the dialect's readers then ask for words. Nothing here recurses.
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
    """Read a statement from left to right. UnsupportedChange if it does not contain what was asked for.

    Words are compared without case, and a quoted name never equals a word. A semicolon, and a closing parenthesis
    without an opening one, end every skip. A dialect defines its name for messages, its tokenizer, and the spelling of
    unquoted names.
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
        """The next word or sign in upper case. It is empty before a quoted name, before a literal and at the end."""
        return self._word(self._at)

    def sees(self, *words: str) -> bool:
        return all(self._word(self._at + ahead) == word for ahead, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Step over these words if they come next, and say whether they did."""
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
        """Read a name, quoted or not."""
        token = self.next()
        if not (token.text and self._is_name(token, after_dot)):
            self._at -= 1
            raise self.unknown()
        return token.text if token.token_type == TokenType.IDENTIFIER else self._spelled(token.text)

    def names(self) -> list[str]:
        """Read the parts of a name with dots between them."""
        parts = [self.name()]
        while self.take("."):
            parts.append(self.name(after_dot=True))
        return parts

    def string(self) -> str | None:
        """Read a string literal with its escapes resolved, if one comes next."""
        if self.ended or self._tokens[self._at].token_type not in (TokenType.STRING, TokenType.NATIONAL_STRING):
            return None
        return self.next().text

    def expect_string(self) -> str:
        text = self.string()
        if text is None:
            raise self.unknown()
        return text

    def unquoted(self) -> str:
        """Read a word as it is written, without quotes."""
        if self.ended or self._tokens[self._at].token_type != TokenType.VAR:
            raise self.unknown()
        return self.next().text

    def literal(self, kind: TokenType) -> str | None:
        if self.ended or self._tokens[self._at].token_type != kind:
            return None
        return self.next().text

    @property
    def at_name(self) -> bool:
        """Say whether a quoted name comes next."""
        return not self.ended and self._tokens[self._at].token_type == TokenType.IDENTIFIER

    def number(self) -> str | None:
        """Read a number with its sign, if one comes next. `.5` is 0.5."""
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
        """Step over `( … )` if it comes next."""
        if not self.sees("("):
            return False
        depth = 0
        while True:
            depth += {"(": 1, ")": -1}.get(self.word, 0)
            self.next()
            if depth == 0:
                return True

    def skip_to(self, *stops: str) -> None:
        """Step to the next of these words outside parentheses, or to the statement's end."""
        while not self.ended and self.word not in stops and self.word not in (";", ")"):
            self.skip()

    def skip_all(self) -> None:
        """Step to the end of the text, past semicolons too."""
        self._at = len(self._tokens)

    def begin_clause(self) -> None:
        """Begin a clause, which errors from here on name."""
        self._clause = self._clause if self.ended else self._at

    def rewind(self, mark: int) -> None:
        self._at = mark

    @property
    def mark(self) -> int:
        return self._at

    def finish(self) -> bool:
        """Step over the semicolons that end a statement. Say whether the text also ends."""
        ended = self.take(";")
        while self.take(";"):
            pass
        if not (ended or self.ended):
            raise self.unknown()
        return self.ended

    def unknown(self) -> UnsupportedChange:
        """Give the error that names the clause and the location in it that is not understood."""
        place = f" at {self._excerpt(self._at)!r}" if self._at > self._clause else ""
        if self.ended:
            place = " at its end"
        return UnsupportedChange(f"{self._excerpt(self._clause)!r} is not understood{place}")

    def _is_name(self, token: Token, after_dot: bool) -> bool:
        return token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)

    def _spelled(self, name: str) -> str:
        """The database's spelling of an unquoted name."""
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

        sqlglot accepts every Unicode blank as a blank. To a database, blanks outside ASCII are letters of a name.
        """
        try:
            tokens = cls.TOKENIZER(dialect=cls.DIALECT).tokenize(text)
        except TokenError as error:
            raise UnsupportedChange("a quoted name, a string or a number in the statement is incomplete") from error
        end = 0
        for token in tokens:
            cls._check_gap(text[end : token.start])
            end = token.end + 1
        cls._check_gap(text[end:])
        return tokens

    @classmethod
    def _check_gap(cls, gap: str) -> None:
        if gap.strip(_BLANKS):
            raise UnsupportedChange(f"the statement contains {gap!r}, which is not a blank in {cls.PARSERS}")
