"""Convert the texts, labels and bytes of a message to values of gold."""

import base64
import re
from binascii import unhexlify
from collections.abc import Callable
from typing import Literal

import msgspec

from retable.model.schema import GoldType
from retable.values.encodings import (
    Base64,
    Convert,
    Day,
    EmptyIsNull,
    Enum,
    Exact,
    Instant,
    LabelArray,
    LabelSet,
    Latin1Text,
    Octets,
    Shape,
    Text,
    Truth,
    TurnedUuid,
    Unread,
    Untyped,
    WallClock,
    Whole,
    refuse,
)
from retable.values.number_text import fit_whole, read_whole
from retable.values.numbers import number_converter
from retable.values.times import ValueRules, time_converter

TextForm = (
    Text
    | EmptyIsNull
    | Latin1Text
    | Truth
    | Enum
    | LabelSet
    | LabelArray
    | TurnedUuid
    | Octets
    | Base64
    | Shape
    | Unread
    | Untyped
)

_HAS_SRID = 0x20000000
_OF_A_VERSION = re.compile(r"[0-9a-f]{12}[1-8][0-9a-f]{3}[89ab][0-9a-f]{15}\Z", re.IGNORECASE)
_ESCAPED = re.compile(r"\\([,\\])")
_TRUTHS = {"true": True, "True": True, "1": True, "false": False, "False": False, "0": False}


def text_converter(encoding: TextForm, gold: GoldType, rules: ValueRules) -> Convert:
    """Return the function that converts texts, labels and bytes in `encoding` to values of the type `gold`.

    If `encoding` is a text and `gold` is a number, a boolean, a date or a time, the text is parsed. For example, the
    text `12.5` becomes a number in a `decimal(5,1)`.
    """
    match encoding:
        case Text():
            return _BYTES_OF[rules.binary_encoding] if gold.kind == "binary" else _text_of(WallClock(), gold, rules)
        case Untyped(in_base64):
            bytes_of = _base64(None) if in_base64 else _octets(None)
            return bytes_of if gold.kind == "binary" else _text_of(Instant(), gold, rules)
        case EmptyIsNull():
            convert = text_converter(Text(), gold, rules)
            return lambda text: convert(text) if text else None
        case Latin1Text():
            return _then(_latin1_as_utf8, text_converter(Text(), gold, rules))
        case Enum() | LabelSet() | LabelArray():
            return _label_converter(encoding, gold, rules)
        case TurnedUuid():
            return _then(_unturned, text_converter(Text(), gold, rules))
        case Truth():
            return _truth_converter(gold)
        case Octets(length):
            return _bytes(_octets(length), gold)
        case Base64(length):
            return _bytes(_base64(length), gold)
        case Shape():
            return _shape(encoding, gold)
        case Unread(reason):
            return _unread(reason)


def _label_converter(encoding: Enum | LabelSet | LabelArray, gold: GoldType, rules: ValueRules) -> Convert:
    convert, is_number = text_converter(Text(), gold, rules), gold.kind in ("int", "long")
    match encoding:
        case Enum():
            return (
                number_converter(Whole(), gold)
                if encoding.by_number and is_number
                else _then(_label_reader(encoding), convert)
            )
        case LabelSet():
            return (
                number_converter(Whole(), gold)
                if encoding.by_mask and is_number
                else _then(_labels_reader(encoding), convert)
            )
        case LabelArray(labels):
            return _then(_labels_of_array(labels), convert)


_ARRAY = msgspec.json.Decoder(list[str])


def _labels_of_array(labels: tuple[str, ...]) -> Callable[[str], str]:
    """Return a function that converts a JSON array of labels to text with commas, as MySQL shows a SET."""

    def read(text: str) -> str:
        try:
            found = _ARRAY.decode(text)
        except msgspec.DecodeError as error:
            raise ValueError("the value is not a JSON array of labels, which are texts") from error
        return ",".join(_known(label, labels) for label in found)

    return read


def _truth_converter(gold: GoldType) -> Convert:
    """Return the converter of a boolean. In an `int` it is 1 or 0, as in MySQL's `tinyint(1)`.

    It is refused for all other number types, because in a wider integer type it may stand for any number.
    """
    match gold.kind:
        case "boolean":
            return _truth
        case "int":
            return lambda text: int(_truth(text))
        case "string":
            return lambda text: "true" if _truth(text) else "false"
        case _:
            return refuse("true or false")


def _bytes(read: Callable[[str], bytes], gold: GoldType) -> Convert:
    match gold.kind:
        case "binary":
            return read
        case "string":
            return lambda text: read(text).decode()
        case _:
            return refuse("a sequence of bytes")


class _Shape(msgspec.Struct, gc=False):
    wkb: str | None = None
    srid: int | None = None


_SHAPE = msgspec.json.Decoder(_Shape)


def _shape(encoding: Shape, gold: GoldType) -> Convert:
    """Return the converter of a geometry. If the gold type is `string`, the JSON object of the message is kept."""
    if gold.kind == "string":
        return str
    if gold.kind != "binary":
        return refuse("a geometry")

    def read(text: str) -> bytes:
        try:
            shape = _SHAPE.decode(text)
        except msgspec.DecodeError as error:
            raise ValueError("the value is not a JSON object with `wkb` and `srid`") from error
        if shape.wkb is None or not 0 <= (shape.srid or 0) < 2**32:
            raise ValueError("the geometry has no WKB (`wkb`), or its `srid` is not an unsigned 32-bit number")
        octets = base64.b64decode(shape.wkb, validate=True)
        return (shape.srid or 0).to_bytes(4, "little") + octets if encoding.internal else _with_srid(octets, shape.srid)

    return read


def _with_srid(wkb: bytes, srid: int | None) -> bytes:
    """Return WKB with the srid in it, as PostGIS writes it (EWKB).

    The WKB is unchanged if it already has an srid, or if `srid` is 0 or None.
    """
    if not srid or len(wkb) < 5 or wkb[0] not in (0, 1):
        return wkb
    order: Literal["little", "big"] = "little" if wkb[0] else "big"
    kind = int.from_bytes(wkb[1:5], order)
    if kind & _HAS_SRID:
        return wkb
    return wkb[:1] + (kind | _HAS_SRID).to_bytes(4, order) + srid.to_bytes(4, order) + wkb[5:]


def _unturned(text: str) -> str:
    """Return a uuid unchanged. Raise ValueError if the zero bytes at its front may have been at its end.

    This is so if a uuid with these bytes at its end has a version and a variant of RFC 9562.
    """
    digits = text.replace("-", "")
    while digits.startswith("00") and digits.strip("0"):
        digits = f"{digits[2:]}00"
        if _OF_A_VERSION.match(digits):
            raise ValueError(
                "the value may be a changed uuid: the connector moves zero bytes from the end of a uuid to its front"
            )
    return text


def _unread(reason: str) -> Convert:
    def convert(_: str) -> bytes:
        raise ValueError(reason)

    return convert


def _text_of(zoned: WallClock | Instant, gold: GoldType, rules: ValueRules) -> Convert:
    """Return the converter of text to the gold type. `zoned` is the encoding of text for a `timestamptz`."""
    match gold.kind:
        case "string" | "binary":
            return str
        case "boolean":
            return _truth
        case "int" | "long":
            return number_converter(Whole(), gold)
        case "decimal" | "float" | "double":
            return number_converter(Exact(None), gold)
        case "date":
            return time_converter(Day(), gold, rules)
        case "timestamp":
            return time_converter(WallClock(), gold, rules)
        case "timestamptz":
            return time_converter(zoned, gold, rules)


def _then(first: Callable[[str], str], second: Convert) -> Convert:
    return lambda text: second(first(text))


def _truth(text: str) -> bool:
    if text not in _TRUTHS:
        raise ValueError("the value is not true, false, 1 or 0")
    return _TRUTHS[text]


def _latin1_as_utf8(text: str) -> str:
    return text.encode("latin-1").decode()


def _octets(length: int | None) -> Callable[[str], bytes]:
    return lambda text: text.encode("latin-1").ljust(length or 0, b"\0")


def _base64(length: int | None) -> Callable[[str], bytes]:
    return lambda text: base64.b64decode(text, validate=True).ljust(length or 0, b"\0")


_BYTES_OF: dict[str, Callable[[str], bytes]] = {"utf-8": str.encode, "base64": _base64(None), "hex": unhexlify}


def _label_reader(encoding: Enum) -> Callable[[str], str]:
    if encoding.escaped:
        return lambda text: _known_escaped(text, encoding.labels)
    if not encoding.by_number:
        return lambda text: _known(text, encoding.labels)
    if not encoding.labels:
        return _no_labels
    labels = ("", *encoding.labels)
    fit = fit_whole(0, len(encoding.labels))
    return lambda text: labels[fit(read_whole(text))]


def _labels_reader(encoding: LabelSet) -> Callable[[str], str]:
    if not encoding.by_mask:
        return lambda text: ",".join(_known(label, encoding.labels) for label in text.split(","))
    if not encoding.labels:
        return _no_labels
    fit = fit_whole(0, 2 ** len(encoding.labels) - 1)

    def read(text: str) -> str:
        mask = fit(read_whole(text))
        return ",".join(label for bit, label in enumerate(encoding.labels) if mask >> bit & 1)

    return read


def _known(label: str, labels: tuple[str, ...]) -> str:
    """Return a label unchanged. Raise ValueError if `labels` is not empty and does not contain it.

    MySQL's empty error value is always accepted. If the message contains no labels, every label is accepted.
    """
    if label and labels and label not in labels:
        raise ValueError(f"the label {label!r} is not one of the labels {', '.join(map(repr, labels))}")
    return label


def _known_escaped(text: str, labels: tuple[str, ...]) -> str:
    """Return the label that a text means.

    The text has the label unchanged or with escaped commas. Or `labels` was split at commas inside labels, and the
    text is several items of it.
    """
    plain = _ESCAPED.sub(r"\1", text)
    if text not in labels and plain in labels:
        return plain
    return text if f",{text}," in f",{','.join(labels)}," else _known(text, labels)


def _no_labels(_: str) -> str:
    raise ValueError(
        "the value is the number of an ENUM label or a bit mask of SET labels, and the message does not contain the "
        'labels: set the column to "long" in `types` to keep the number'
    )
