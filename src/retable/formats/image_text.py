"""Read and write row images as text: one JSON object, whose values are the JSON tokens of the message, unchanged."""

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
    """Return the raw values of an image: strings unescaped, null as None, other tokens (numbers, true, …) unchanged."""
    try:
        return _SIMPLE.decode(text)
    except msgspec.ValidationError:
        return {name: raw_value_of(bytes(token)) for name, token in _TOKENS.decode(text).items()}


def numbers_in(text: str) -> frozenset[str]:
    """Return the names of the columns whose values are JSON numbers."""
    return frozenset(name for name, token in _TOKENS.decode(text).items() if bytes(token)[:1] in _NUMBERS)


def write_image(tokens: Mapping[str, Raw | str | None]) -> str:
    """Return the text of an image, whose values are given by column name.

    JSON tokens of a message (Raw) stay unchanged. Raw values (text or None) are written as JSON.
    """
    return _ENCODER.encode(tokens).decode()


def keys_in(images: Sequence[str], keys: tuple[str, ...]) -> list[bytes]:
    """Return the key of each row image, as `key_text` writes it, in UTF-8. `keys` are the names of the key columns."""
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
    """Return a decoder of a JSON array of images that reads only the columns `names`.

    The decoder returns objects with the fields `column_0`, `column_1` …, in the order of `names`. Columns of
    `as_tokens` are read as JSON tokens. Other columns must be text or null. Return None if a name occurs twice, or has
    a character that JSON must escape: msgspec cannot read such names.
    """
    if len(set(names)) < len(names) or any(_ESCAPED.search(name) for name in names):
        return None
    columns = {f"column_{at}": name for at, name in enumerate(names)}
    fields = [(at, Raw, _NULL) if name in as_tokens else (at, str | None, None) for at, name in columns.items()]
    image = msgspec.defstruct("Image", fields, rename=columns, gc=False)
    return msgspec.json.Decoder(list[image])  # type: ignore[valid-type]  # a class made of the columns' names


def key_text(image: Mapping[str, str | None], keys: Sequence[str]) -> str:
    """Return the key of a row as a JSON array of its raw values; a key column that is not in the image is null."""
    return _ENCODER.encode([image.get(key) for key in keys]).decode()


def raw_value_of(token: bytes) -> str | None:
    """Return the raw value of a JSON token: a string unescaped, null as None, any other token unchanged."""
    if token == b"null":
        return None
    return _STRING.decode(token) if token.startswith(b'"') else token.decode()
