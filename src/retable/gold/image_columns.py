"""Row images, many at a time, to one list of lexemes for each of their columns."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from operator import attrgetter

import msgspec
from msgspec import Raw

from retable.decode.image_text import lexeme_of, read_image

_ESCAPED = re.compile(r'[\\"\x00-\x1f]')
_LOOKED_AT = 32
_TOKENS = msgspec.json.Decoder(dict[str, Raw])


def read_columns(images: Sequence[str | None], names: Sequence[str]) -> dict[str, list[str | None]]:
    """Give each column's lexemes, null where an image, or the image itself, is left out: as `read_image` reads them."""
    texts = ["{}" if image is None else image for image in images]
    if not texts or any(_ESCAPED.search(name) for name in names):
        return _one_by_one(texts, names)
    told = {
        name for image in islice(texts, _LOOKED_AT) for name, token in _TOKENS.decode(image).items() if _tells(token)
    }
    try:
        rows = _decoder(tuple(names), frozenset(told)).decode(f"[{','.join(texts)}]")
    except msgspec.ValidationError:
        return _one_by_one(texts, names)
    found: dict[str, list[str | None]] = {}
    for at, name in enumerate(names):
        cells = list(map(attrgetter(f"column_{at}"), rows))
        found[name] = [lexeme_of(bytes(cell)) for cell in cells] if name in told else cells
    return found


def _one_by_one(texts: Sequence[str], names: Sequence[str]) -> dict[str, list[str | None]]:
    images = [read_image(text) for text in texts]
    return {name: [image.get(name) for image in images] for name in names}


def _tells(token: Raw) -> bool:
    """Whether the token itself is the lexeme: a number, a truth, an object or an array."""
    return bytes(token)[:1] not in (b'"', b"n")


@lru_cache(1024)
def _decoder(names: tuple[str, ...], told: frozenset[str]) -> "msgspec.json.Decoder[list[msgspec.Struct]]":
    """Read an array of images; a column in `told` keeps its tokens, every other one has text or null."""
    fields = [
        (f"column_{at}", Raw, Raw(b"null")) if name in told else (f"column_{at}", str | None, None)
        for at, name in enumerate(names)
    ]
    rename = {f"column_{at}": name for at, name in enumerate(names)}
    image = msgspec.defstruct("Image", fields, rename=rename, gc=False)
    return msgspec.json.Decoder(list[image])  # type: ignore[valid-type]  # a class made of the columns' names
