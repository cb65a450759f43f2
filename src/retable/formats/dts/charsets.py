"""Decode text in the charsets of databases, by the names that databases use for charsets."""

import re

_CODECS = {
    **dict.fromkeys(("utf8mb4", "utf8mb3", "utf8", "al32utf8"), "utf-8"),
    **dict.fromkeys(("ascii", "usascii", "us7ascii"), "ascii"),
    **dict.fromkeys(("ucs2", "utf16", "utf16be", "al16utf16"), "utf-16-be"),
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    **dict.fromkeys(("gbk", "zhs16gbk"), "gbk"),
    "gb2312": "gb2312",
    "gb18030": "gb18030",
    "big5": "big5",
    **dict.fromkeys(("sjis", "shiftjis"), "shift_jis"),
    **dict.fromkeys(("cp932", "windows31j"), "cp932"),
    **dict.fromkeys(("ujis", "eucjp", "eucjpms"), "euc_jp"),
    "euckr": "euc_kr",
    "tis620": "tis_620",
    "iso88591": "latin-1",
    **dict.fromkeys(("latin2", "iso88592"), "iso8859-2"),
    **dict.fromkeys(("latin5", "iso88599"), "iso8859-9"),
    **dict.fromkeys(("latin7", "iso885913"), "iso8859-13"),
    **dict.fromkeys(("greek", "iso88597"), "iso8859-7"),
    **dict.fromkeys(("hebrew", "iso88598"), "iso8859-8"),
    **{name: name for name in ("cp850", "cp852", "cp866")},
    **{f"{prefix}125{digit}": f"cp125{digit}" for prefix in ("cp", "windows") for digit in range(9)},
    "koi8r": "koi8-r",
    "koi8u": "koi8-u",
    "macroman": "mac_roman",
    "macce": "mac_latin2",
}
"""Charsets, in lower case without punctuation, to codecs: MySQL's names, and common names of Oracle and Java."""

_MARKS = re.compile(r"[-_. ]")
_LATIN1 = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(0x80, 0xA0)}
"""MySQL's latin1 is cp1252, whose five unused bytes map to themselves."""


def decode_text(octets: bytes, charset: str) -> str:
    """Return the text of bytes in a charset. Raise ValueError if the bytes are not valid or the charset is unknown."""
    if charset == "utf8mb4":
        return octets.decode()
    name = _MARKS.sub("", charset).lower()
    if name == "latin1":
        return octets.decode("latin-1").translate(_LATIN1)
    if name not in _CODECS:
        raise ValueError(f"the charset {charset[:80]!r} is not known to Retable")
    return octets.decode(_CODECS[name])
