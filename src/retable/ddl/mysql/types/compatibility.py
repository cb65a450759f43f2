"""Decide which changes of a column type keep every stored value in MySQL and MariaDB."""

import re

from retable.ddl.mysql.types.gold_type import LARGEST_FLOAT_PRECISION

_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_TYPE = re.compile(r"\s*([a-z]+)(?:\s*\((.*)\))?(.*)\Z", re.IGNORECASE | re.DOTALL)
_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'")
_SYNONYMS = {"integer": "int", "bool": "tinyint", "boolean": "tinyint", "dec": "decimal", "numeric": "decimal"}
_KNOWN = frozenset(
    {
        *_INTEGERS,
        *("enum", "set", "datetime", "timestamp", "time", "date", "year", "bit", "decimal", "float", "double", "json"),
        *("char", "varchar", "tinytext", "text", "mediumtext", "longtext"),
        *("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"),
    }
)
_BINARY = ("blob", "binary")
_CHARACTER_BYTES = 4
"""The bytes of the longest character, of the character set utf8mb4."""


def keeps_values(old: str, new: str) -> bool:
    """Return whether MySQL keeps every stored value when a column changes from type `old` to `new`."""
    before, after = parse_type(old), parse_type(new)
    if before is None or after is None or before[0] not in _KNOWN or after[0] not in _KNOWN:
        return old.strip().lower() == new.strip().lower()
    (kind, arguments, options), (new_kind, new_arguments, new_options) = before, after
    if kind in _INTEGERS and new_kind in _INTEGERS:
        was_unsigned, is_unsigned = "unsigned" in options, "unsigned" in new_options
        wider = _INTEGERS.index(new_kind) - _INTEGERS.index(kind)
        return wider >= 0 if was_unsigned == is_unsigned else was_unsigned and wider > 0
    if kind in _INTEGERS and (new_kind == "decimal" or _is_text(new_kind)):
        signed = "unsigned" in options or "unsigned" not in new_options
        return (
            signed and "zerofill" not in options and (new_kind == "decimal" or _holds_digits(new_kind, new_arguments))
        )
    if kind == "date" and new_kind == "datetime":
        return True
    if kind in ("enum", "set"):
        told = labels(arguments)
        if new_kind == kind:
            return _keeps_labels(kind, told, labels(new_arguments))
        longest = len(",".join(told)) if kind == "set" else max(map(len, told), default=0)
        return _is_text(new_kind) and _holds_characters(new_kind, new_arguments, longest)
    if kind == new_kind and kind in ("datetime", "timestamp", "time", "bit", "binary"):
        default = {"bit": 1, "binary": 1}.get(kind, 0)
        size, new_size = _number(arguments, default), _number(new_arguments, default)
        return size == new_size if kind == "binary" else size <= new_size
    if _is_text(kind) and _is_text(new_kind):
        # CHAR does not keep trailing blanks.
        if kind.endswith("char"):
            fits = _holds_characters(new_kind, new_arguments, capacity(kind, arguments))
        else:
            fits = _most_bytes(kind, arguments) <= capacity(new_kind, new_arguments)
        return fits and (new_kind != "char" or kind == "char")
    if kind.endswith(_BINARY) and new_kind.endswith(_BINARY) and "binary" not in (kind, new_kind):
        return _most_bytes(kind, arguments) <= capacity(new_kind, new_arguments)
    if kind in ("float", "double") and new_kind in ("float", "double"):
        signed = "unsigned" in options or "unsigned" not in new_options
        return signed and (not new_arguments or arguments == new_arguments)
    if kind == new_kind == "decimal":
        return "unsigned" in options or "unsigned" not in new_options
    return kind == new_kind or (kind == "json" and new_kind == "longtext")


def mariadb_keeps_values(old: str, new: str) -> bool:
    """Return whether MariaDB keeps every stored value when a column changes from type `old` to `new`.

    MariaDB stores JSON as LONGTEXT and checks the text (its manual, JSON Data Type). So both types count as the same.
    """
    return keeps_values(*("longtext" if kind.strip().lower() == "json" else kind for kind in (old, new)))


def parse_type(text: str) -> tuple[str, str, str] | None:
    """Return the name of a type, the text in its parentheses, and its options, such as UNSIGNED, in lower case.

    The options of a ZEROFILL type include UNSIGNED. Return None if the text is not a type.
    """
    match = _TYPE.match(text)
    if match is None:
        return None
    kind, arguments = match[1].lower(), match[2] or ""
    options = match[3].lower()
    if kind == "float" and arguments.strip().isdigit():
        # One number is a precision and selects the type. Two numbers are how many digits are shown.
        kind, arguments = "double" if int(arguments) > LARGEST_FLOAT_PRECISION else "float", ""
    return _SYNONYMS.get(kind, kind), arguments, f"{options} unsigned" if "zerofill" in options else options


def labels(arguments: str) -> list[str]:
    """Return the labels (declared values) of an ENUM or SET, without quotes.

    `arguments` is the text in the parentheses of the type.
    """
    return [label.replace("''", "'") for label in _LABEL.findall(arguments)]


def _keeps_labels(kind: str, old: list[str], new: list[str]) -> bool:
    """Return whether each stored value of an ENUM or SET keeps its text.

    A SET shows its labels in the order of its definition, so this order must not change.
    """
    return set(old) <= set(new) if kind == "enum" else [label for label in new if label in old] == old


def _number(arguments: str, default: int) -> int:
    return int(arguments) if arguments.strip().isdigit() else default


def _is_text(kind: str) -> bool:
    return kind.endswith(("char", "text"))


def _holds_digits(kind: str, arguments: str) -> bool:
    """Return whether a text type can hold any whole number, which has up to 20 characters."""
    return capacity(kind, arguments) >= 20


def _holds_characters(kind: str, arguments: str, characters: int) -> bool:
    """Return whether a text type can hold any value of so many characters, whatever its character set is."""
    return capacity(kind, arguments) >= (characters if kind.endswith("char") else characters * _CHARACTER_BYTES)


def capacity(kind: str, arguments: str) -> int:
    """Return the maximum length of a value of a type: in characters for CHAR and VARCHAR, in bytes for other types.

    `kind` is the name of the type, and `arguments` the text in its parentheses: `varchar` and `20` give 20 characters,
    `tinytext` and an empty text give 255 bytes. `text` and `100` give 255 bytes as well: the server makes the smallest
    type that holds so many characters (MySQL manual, The BLOB and TEXT Types), and a character has at least one byte.
    """
    if kind.endswith(("char", "binary")):
        return _number(arguments, 1)
    sizes = {prefix: int(2**bits) - 1 for prefix, bits in (("tiny", 8), ("", 16), ("medium", 24), ("long", 32))}
    if kind in ("text", "blob"):
        asked = _number(arguments, sizes[""])
        return next((size for size in sizes.values() if size >= asked), sizes["long"])
    return next(size for prefix, size in sizes.items() if prefix and kind.startswith(prefix))


def _most_bytes(kind: str, arguments: str) -> int:
    """Return the greatest length in bytes of a value, if each character of a `text` with a number has four bytes."""
    if kind == "text" and (asked := _number(arguments, 0)):
        return capacity(kind, str(asked * _CHARACTER_BYTES))
    return capacity(kind, arguments)
