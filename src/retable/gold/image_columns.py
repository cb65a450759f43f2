"""Row images, many at a time, to one list of lexemes for each of their columns."""

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter

import msgspec
from msgspec import Raw

from retable.decode.image_text import images_decoder, lexeme_of, read_image

_LOOKED_AT = 32
_TOKENS = msgspec.json.Decoder(dict[str, Raw])


def read_columns(images: Sequence[str | None], names: Sequence[str]) -> dict[str, list[str | None]]:
    """Give each column's lexemes, null where an image, or the image itself, is left out: as `read_image` reads them."""
    texts = ["{}" if image is None else image for image in images]
    first = [_TOKENS.decode(image) for image in islice(texts, _LOOKED_AT)]
    as_tokens = frozenset(name for name in names if any(name in image and _tells(image[name]) for image in first))
    decoder = images_decoder(tuple(names), as_tokens)
    try:
        rows = None if decoder is None else decoder.decode(f"[{','.join(texts)}]")
    except msgspec.ValidationError:
        rows = None
    if rows is None:
        one_by_one = [read_image(text) for text in texts]
        return {name: [image.get(name) for image in one_by_one] for name in names}
    found: dict[str, list[str | None]] = {}
    for at, name in enumerate(names):
        cells = list(map(attrgetter(f"column_{at}"), rows))
        found[name] = [lexeme_of(bytes(cell)) for cell in cells] if name in as_tokens else cells
    return found


def _tells(token: Raw) -> bool:
    """Whether the token itself is the lexeme: a number, a truth, an object or an array."""
    return bytes(token)[:1] not in (b'"', b"n")
