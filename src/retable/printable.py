"""Make text safe for a terminal: escape control characters and remove passwords."""

import json
import re

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that JSON does not escape but a terminal obeys: DEL and C1, line ends, changes of direction."""

_PASSWORD = re.compile(r"(://[^\s'\",:@]*|(?<=[^\s'\",])(?=:(?!//))):[^\s'\",]*@")


def printable(text: str) -> str:
    """Escape what a terminal obeys or hides: control characters, other line ends, changes of direction."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_json(text: str) -> str:
    """Escape what a terminal obeys in JSON text, as JSON does; the text still parses to the same value."""
    return _OBEYED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def toml_string(text: str) -> str:
    """Format text as a TOML string in quotes, with everything that a terminal obeys escaped."""
    return printable_json(json.dumps(text, ensure_ascii=False))


def without_passwords(text: str) -> str:
    """Remove the password of each address: the text between a colon and the last @ of a word."""
    return _PASSWORD.sub(r"\1:…@", text)
