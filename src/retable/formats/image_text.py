"""Row images as text: one JSON object whose values are the source's own tokens."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec
from msgspec import Raw
from msgspec.structs import astuple

_ESCAPED = re.compile(r'[\\"\x00-\x1f]')
_SIMPLE = msgspec.json.Decoder(dict[str, str | None])
_TOKENS = msgspec.json.Decoder(dict[str, Raw])
_STRING = msgspec.json.Decoder(str)
_ENCODER = msgspec.json.Encoder()
_NULL = Raw(b"null")
_NUMBERS = frozenset(bytes([first]) for first in b"-0123456789")


def read_image(text: str) -> dict[str, str | None]:
    """Read an image: strings unescaped, null as None, every other token unchanged (numbers, true, nested JSON)."""
    try:
        return _SIMPLE.decode(text)
    except msgspec.ValidationError:
        return {name: raw_value_of(bytes(token)) for name, token in _TOKENS.decode(text).items()}


def numbers_in(text: str) -> frozenset[str]:
    """The columns of an image whose tokens are numbers."""
    return frozenset(name for name, token in _TOKENS.decode(text).items() if bytes(token)[:1] in _NUMBERS)


def write_image(tokens: Mapping[str, Raw | str | None]) -> str:
    """Write an image from a message's own tokens, unchanged, or from raw values."""
    return _ENCODER.encode(tokens).decode()


def keys_in(images: Sequence[str], keys: tuple[str, ...]) -> list[bytes]:
    """Write the keys of rows as `key_text` does, reading only the key columns of the images."""
    decoder = images_decoder(keys, frozenset(keys))
    if decoder is None:
        return [key_text(read_image(image), keys).encode() for image in images]
    rows = decoder.decode(f"[{','.join(images)}]")
    raw_values = [[raw_value_of(bytes(token)) for token in astuple(row)] for row in rows]
    return _ENCODER.encode_lines(raw_values).split(b"\n")[:-1]


@lru_cache(4096)
def images_decoder(
    names: tuple[str, ...], as_tokens: frozenset[str]
) -> "msgspec.json.Decoder[list[msgspec.Struct]] | None":
    """Compile a decoder of these columns in an array of images (`column_0` …); None if msgspec cannot spell a name.

    A column of `as_tokens` gives its tokens. Every other column gives text or null, and no other values may occur.
    """
    if len(set(names)) < len(names) or any(_ESCAPED.search(name) for name in names):
        return None
    columns = {f"column_{at}": name for at, name in enumerate(names)}
    fields = [(at, Raw, _NULL) if name in as_tokens else (at, str | None, None) for at, name in columns.items()]
    image = msgspec.defstruct("Image", fields, rename=columns, gc=False)
    return msgspec.json.Decoder(list[image])  # type: ignore[valid-type]  # a class made of the columns' names


def key_text(image: Mapping[str, str | None], keys: Sequence[str]) -> str:
    """Write the key of a row as a JSON array of its raw values; a key column that is missing in the image is null."""
    return _ENCODER.encode([image.get(key) for key in keys]).decode()


def raw_value_of(token: bytes) -> str | None:
    """The value of a token: a string unescaped, null as None, any other token unchanged."""
    if token == b"null":
        return None
    return _STRING.decode(token) if token.startswith(b'"') else token.decode()
