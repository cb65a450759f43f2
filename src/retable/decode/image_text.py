"""Row images as text: one JSON object whose values are the source's own tokens."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Raw

_SIMPLE = msgspec.json.Decoder(dict[str, str | None])
_TOKENS = msgspec.json.Decoder(dict[str, Raw])
_STRING = msgspec.json.Decoder(str)


def read_image(text: str) -> dict[str, str | None]:
    """Read an image: strings unescaped, null as None, every other token as it stands (numbers, true, nested JSON)."""
    try:
        return _SIMPLE.decode(text)
    except msgspec.ValidationError:
        return {name: _lexeme(bytes(token)) for name, token in _TOKENS.decode(text).items()}


def write_image(tokens: Mapping[str, Raw | str | None]) -> str:
    """Write an image from a message's own tokens, which stay as they are, or from lexemes."""
    return msgspec.json.encode(tokens).decode()


def key_text(image: Mapping[str, str | None], keys: Sequence[str]) -> str:
    """Write the key of a row as a JSON array of its lexemes; a key column that is not in the image is null."""
    return msgspec.json.encode([image.get(key) for key in keys]).decode()


def _lexeme(token: bytes) -> str | None:
    if token == b"null":
        return None
    return _STRING.decode(token) if token.startswith(b'"') else token.decode()
