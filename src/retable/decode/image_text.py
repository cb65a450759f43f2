"""Row images as text: one JSON object whose values are the source's own tokens."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw

_ESCAPED = re.compile(r'[\\"\x00-\x1f]')
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


def key_in(image: str, keys: tuple[str, ...]) -> str:
    """Write the key of a row as `key_text` does, reading only its own columns of an image."""
    decoder = _key_decoder(keys)
    if decoder is None:
        return key_text(read_image(image), keys)
    try:
        found = msgspec.structs.astuple(decoder.decode(image))
    except msgspec.ValidationError:
        return key_text(read_image(image), keys)
    if 0 in found:  # it may have been written as -0
        return key_text(read_image(image), keys)
    return msgspec.json.encode([str(value) if type(value) is int else value for value in found]).decode()


@lru_cache(4096)
def _key_decoder(keys: tuple[str, ...]) -> "msgspec.json.Decoder[msgspec.Struct] | None":
    """Read these columns, if each is text or a whole number; None where msgspec cannot spell the name of one."""
    if len(set(keys)) < len(keys) or any(_ESCAPED.search(key) for key in keys):
        return None
    names = {f"column_{at}": name for at, name in enumerate(keys)}
    return msgspec.json.Decoder(msgspec.defstruct("Key", [(at, str | int | None, None) for at in names], rename=names))


def key_text(image: Mapping[str, str | None], keys: Sequence[str]) -> str:
    """Write the key of a row as a JSON array of its lexemes; a key column that is not in the image is null."""
    return msgspec.json.encode([image.get(key) for key in keys]).decode()


def _lexeme(token: bytes) -> str | None:
    if token == b"null":
        return None
    return _STRING.decode(token) if token.startswith(b'"') else token.decode()
