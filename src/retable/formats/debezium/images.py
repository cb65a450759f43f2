"""Remove placeholders from row images. Debezium writes a placeholder for a value that the source did not log."""

import base64
import hashlib
import uuid
from functools import lru_cache

import msgspec

from retable.formats.debezium.envelope import Row
from retable.formats.debezium.schema import SchemaPart

_NOTHING = frozenset({b"null"})
_BLANKS = b" \t\r\n"


def may_lack(text: bytes, placeholder: str) -> bool:
    """Return whether the text of a message may contain the placeholder. If not, the source logged all values."""
    return any(map(text.__contains__, _placeholders(placeholder)[0]))


def logged(row: Row, placeholder: str) -> Row:
    """Return the columns that the source logged, which are those without the placeholder.

    If it logged all columns, return `row` itself.
    """
    tokens = _placeholders(placeholder)[1]
    found = {name: token for name, token in row.items() if _compact(bytes(token)) not in tokens}
    return found if len(found) < len(row) else row


def key_only(row: Row, keys: tuple[str, ...], schema_part: SchemaPart | None) -> bool:
    """Return whether the source logged only the key columns of a before image, as PostgreSQL does by default.

    The connector fills the other columns with null, and NOT NULL columns with values that the schema part names. A row
    that really has these values in all other columns looks the same.
    """
    fillings = schema_part.fillings if schema_part is not None else {}
    return len(row) > len(keys) and all(
        bytes(token) in fillings.get(name, _NOTHING) for name, token in row.items() if name not in keys
    )


@lru_cache(maxsize=64)
def _placeholders(placeholder: str) -> tuple[tuple[bytes, ...], frozenset[bytes]]:
    """Return the byte patterns of a placeholder in a message, and all tokens that replace a value.

    In a column of text or bytes, the token is the placeholder itself or its base64. In an array of text, bytes, numbers
    or uuids, and in an hstore, the token has only the placeholder, in the encoding of that type.
    """
    octets = placeholder.encode()
    encoded = base64.b64encode(octets).decode()
    digest = hashlib.md5(octets, usedforsecurity=False).digest()
    pair = {placeholder: placeholder}
    values: list[object] = [
        *(placeholder, encoded, [placeholder], [encoded], list(octets)),
        *([str(uuid.UUID(bytes=digest, version=3))], pair, msgspec.json.encode(pair).decode()),
    ]
    numbers = [",".join(map(str, octets[:4])), ", ".join(map(str, octets[:4]))]
    traces = [placeholder, encoded, str(uuid.UUID(bytes=digest, version=3)), *numbers]
    return tuple(trace.encode() for trace in traces), frozenset(_compact(msgspec.json.encode(each)) for each in values)


def _compact(token: bytes) -> bytes:
    return token.translate(None, delete=_BLANKS) if token.startswith((b"[", b"{")) else token
