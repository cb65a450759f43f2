"""Make text safe for a terminal: escape control characters and remove passwords."""

import json
import re

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON does not escape, but that control a terminal: DEL and C1 codes, line separators, and changes of
the writing direction."""

_PASSWORD = re.compile(r"(://[^\s'\",:@]*|(?<=[^\s'\",])(?=:(?!//))):[^\s'\",]*@")


def printable(text: str) -> str:
    """Escape characters that control a terminal or are invisible, line ends included. Return text for one line."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_json(text: str) -> str:
    """Escape characters that control a terminal in JSON text, as JSON does. The text still parses to the same value."""
    return _OBEYED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def amount(number: int, one: str, many: str) -> str:
    """Return a number with its noun: `one` is the singular noun, used after 1, and `many` is the plural noun."""
    return f"{number:,} {one if number == 1 else many}"


def toml_string(text: str) -> str:
    """Return text as a quoted TOML string, in which characters that control a terminal are escaped."""
    return printable_json(json.dumps(text, ensure_ascii=False))


def without_passwords(text: str) -> str:
    """Replace the password in each address by `…`. A password is the text between a colon and the word's last @."""
    return _PASSWORD.sub(r"\1:…@", text)
