"""Row images of Debezium: which columns of an image are the row's, and which only stand in for what was not logged."""

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
    """Say whether the content of a message has a trace of the placeholder; most messages have none."""
    return any(map(text.__contains__, _placeholders(placeholder)[0]))


def logged(row: Row, placeholder: str) -> Row:
    """The columns that the source logged; the row itself where it logged all."""
    tokens = _placeholders(placeholder)[1]
    found = {name: token for name, token in row.items() if _compact(bytes(token)) not in tokens}
    return found if len(found) < len(row) else row


def key_only(row: Row, keys: tuple[str, ...], schema_part: SchemaPart | None) -> bool:
    """Say whether a row before its change is its key alone, as PostgreSQL logs it by default.

    The connector fills the other columns with null, and those that must not be null as the schema part tells. A row
    that is as empty but for its key looks the same.
    """
    fillings = schema_part.fillings if schema_part is not None else {}
    return len(row) > len(keys) and all(
        bytes(token) in fillings.get(name, _NOTHING) for name, token in row.items() if name not in keys
    )


@lru_cache(maxsize=64)
def _placeholders(placeholder: str) -> tuple[tuple[bytes, ...], frozenset[bytes]]:
    """The traces that a placeholder leaves in a message, and all tokens that it can be.

    Text and bytes have it as it is and in base64; arrays of text, bytes, numbers and uuids, and pairs of hstore, hold
    nothing but it, each in its own way.
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
