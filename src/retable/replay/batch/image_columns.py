"""Parse many row images (JSON texts) into one Arrow array for each column: raw values as text, or numbers."""

import re
from collections.abc import Mapping, Sequence
from operator import attrgetter

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from msgspec import Raw

from retable.formats.image_text import images_decoder, raw_value_of, read_image

_LOOKED_AT = 32
_TOGETHER = 65_536
_BLOCK_BYTES = 1 << 20
_SPELLED_ONE_WAY = re.compile(r"\w+", re.ASCII)
_TOKENS = msgspec.json.Decoder(dict[str, Raw])


def read_columns(images: pa.ChunkedArray, numbers: Mapping[str, pa.DataType | None]) -> dict[str, pa.Array]:
    """Return an array for each column in `numbers`, by column name, with one value for each image.

    The value is the raw value in the image, as text (`read_image`), or null if the image is null or lacks the column.
    `numbers` gives each column's number type, or None. If there is a type, and all values of the column are numbers,
    the array may have this type instead.
    """
    first = [_TOKENS.decode(image) for image in _texts(images[:_LOOKED_AT])]
    as_tokens = frozenset(name for name in numbers if any(name in image and _tells(image[name]) for image in first))
    typed = {name: numbers[name] if name in as_tokens else pa.string() for name in numbers}
    found = _typed_columns(images, {name: kind for name, kind in typed.items() if kind is not None})
    rest = [name for name in numbers if name not in found]
    return found | (_columns(_texts(images), rest, as_tokens) if rest else {})


def _typed_columns(images: pa.ChunkedArray, columns: Mapping[str, pa.DataType]) -> dict[str, pa.Array]:
    """Read each column as an array of its Arrow type, which is text or a number.

    If a column has a value that does not fit its type, return an empty result.
    """
    options = pj.ParseOptions(explicit_schema=pa.schema(columns), unexpected_field_behavior="ignore")
    decimals = [name for name, kind in columns.items() if pa.types.is_decimal(kind)]
    tables = []
    try:
        for start in range(0, len(images) if columns else 0, _TOGETHER):
            texts = pa.concat_arrays(pc.fill_null(images[start : start + _TOGETHER], "{}").chunks)
            if decimals and _may_be_quoted(texts, decimals):
                return {}
            block = max(_BLOCK_BYTES, 2 + pc.max(pc.binary_length(texts)).as_py())
            content = pc.binary_join_element_wise(texts, "", "\n").buffers()[2]
            tables.append(pj.read_json(pa.BufferReader(content), pj.ReadOptions(block_size=block), options))
            if tables[-1].num_rows != len(texts):
                return {}
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        return {}
    rows = pa.concat_tables(tables) if tables else None
    return {} if rows is None else {name: pa.concat_arrays(rows[name].chunks) for name in columns}


def _may_be_quoted(texts: pa.Array, names: Sequence[str]) -> bool:
    """Return whether one of these number columns may have strings.

    Arrow reads more strings as numbers than Retable does.
    """
    if not all(map(_SPELLED_ONE_WAY.fullmatch, names)):
        return True
    return bool(pc.any(pc.match_substring_regex(texts, rf'"(?:{"|".join(names)})"\s*:\s*"')).as_py())


def _texts(images: pa.ChunkedArray) -> list[str]:
    return ["{}" if image is None else image for image in images.to_pylist()]


def _columns(texts: Sequence[str], names: Sequence[str], as_tokens: frozenset[str]) -> dict[str, pa.Array]:
    decoder = images_decoder(tuple(names), as_tokens.intersection(names))
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
        found[name] = _raw_values(cells) if name in as_tokens else pa.array(cells, pa.string())
    return found


def _raw_values(tokens: list[Raw]) -> pa.Array:
    """Return the raw values of JSON tokens. Only a string or a null has a raw value that is not the token itself."""
    texts = pa.array(list(map(bytes, tokens)), pa.binary()).cast(pa.string())
    if pc.any(pc.starts_with(texts, '"')).as_py():
        return pa.array([raw_value_of(bytes(token)) for token in tokens], pa.string())
    return pc.if_else(pc.equal(texts, "null"), pa.scalar(None, pa.string()), texts)


def _tells(token: Raw) -> bool:
    """Return whether the JSON token is itself the raw value: a number, a boolean, an object or an array."""
    return bytes(token)[:1] not in (b'"', b"n")
