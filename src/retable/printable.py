"""Text that a terminal shows and does not obey, whoever wrote it, and that tells no password."""

import json
import re

_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What JSON leaves as it is, and a terminal obeys: DEL and C1, the ends of lines, changes of direction."""

_PASSWORD = re.compile(r"(://[^\s'\",:@]*|(?<=[^\s'\",])(?=:(?!//))):[^\s'\",]*@")


def printable(text: str) -> str:
    """Escape what a terminal would obey or not show: control characters, other line ends, changes of direction."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_json(text: str) -> str:
    """Escape in JSON text what a terminal would obey, as JSON does: it reads back as the same value."""
    return _OBEYED.sub(lambda found: json.dumps(found[0])[1:-1], text)


def toml_string(text: str) -> str:
    """Spell text as a string of TOML, in quotes; what a terminal would obey is escaped."""
    return printable_json(json.dumps(text, ensure_ascii=False))


def without_passwords(text: str) -> str:
    """Leave out what stands where an address has its password: between a colon and the last @ of a word."""
    return _PASSWORD.sub(r"\1:…@", text)
