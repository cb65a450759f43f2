"""Row images, many at a time, to one array of lexemes for each of their columns."""

from collections.abc import Sequence
from itertools import islice
from operator import attrgetter

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw

from retable.decode.image_text import images_decoder, lexeme_of, read_image

_LOOKED_AT = 32
_TOKENS = msgspec.json.Decoder(dict[str, Raw])


def read_columns(images: Sequence[str | None], names: Sequence[str]) -> dict[str, pa.Array]:
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
        return {name: pa.array([image.get(name) for image in one_by_one], pa.string()) for name in names}
    found: dict[str, pa.Array] = {}
    for at, name in enumerate(names):
        cells = list(map(attrgetter(f"column_{at}"), rows))
        found[name] = _lexemes(cells) if name in as_tokens else pa.array(cells, pa.string())
    return found


def _lexemes(tokens: list[Raw]) -> pa.Array:
    """What tokens stand for; where all are numbers and the like, they are taken as they are."""
    texts = pa.array(list(map(bytes, tokens)), pa.binary()).cast(pa.string())
    if pc.any(pc.starts_with(texts, '"')).as_py():
        return pa.array([lexeme_of(bytes(token)) for token in tokens], pa.string())
    return pc.if_else(pc.equal(texts, "null"), pa.scalar(None, pa.string()), texts)


def _tells(token: Raw) -> bool:
    """Whether the token itself is the lexeme: a number, a truth, an object or an array."""
    return bytes(token)[:1] not in (b'"', b"n")
