"""Read strict JSON: a text is accepted only if every JSON reader would read the same from it.

These are refused, and the error names the location: bytes that are not UTF-8, a duplicate name in one object (most
readers take the last value without an error), NaN and Infinity, half of a surrogate pair, bare control characters,
text after the document, and everything above the limits in this module. A byte order mark is dropped.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Raw, UnsetType

from retable.errors import Malformed, TooLarge

MAX_DEPTH = 200
MAX_DIGITS = 1_000
MAX_NAMES = 100_000
MAX_NAME_LENGTH = 50_000

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER_SIGNS = bytes(0x30 if chr(sign) in "0123456789+-.eE" else sign for sign in range(256))
_NO_BRACKETS = bytes(sign for sign in range(256) if chr(sign) not in "{}[]")
_LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
_STRIDE = 100
_LONG_PART = 64 * 1024
_LONG_SAMPLE = b"0" * (MAX_DIGITS // _STRIDE)

_T = TypeVar("_T")


def read_json(
    value: bytes, decoder: msgspec.json.Decoder[_T], unread: Callable[[_T], Iterable[Raw | UnsetType]] | None = None
) -> _T:
    """Read one strict JSON document as the decoder's type. Malformed or TooLarge say what is wrong and where.

    The decoder may leave values as Raw (JSON bytes that it does not parse). `unread` takes the result of the decoder,
    and returns such values, or UNSET for a missing value. It makes the check for strict JSON faster. The check may skip
    the Raw values that `unread` does not return: check each of them with `check_shared`.
    """
    value = value.removeprefix(BYTE_ORDER_MARK)
    try:
        found = decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        check_json(_utf8(value))
        raise Malformed(f"the message does not match its format: {error}") from error
    if unread is None or not _is_whole(value, found, unread(found)):
        check_strict(value)
    return found


def check_strict(value: bytes) -> None:
    """Raise Malformed or TooLarge if the bytes are not strict JSON."""
    if not _is_plain(value):
        check_json(_utf8(value))


def check_shared(part: bytes) -> None:
    """Raise Malformed or TooLarge if the bytes of a part of a message are not strict JSON.

    The result is cached, because many messages share equal parts, such as a schema.
    """
    if len(part) > _LONG_PART:
        check_strict(part)
    else:
        _checked(part)


def check_json(text: str) -> None:
    """Raise Malformed or TooLarge, with the reason, if the text is not strict JSON. Slower than `check_strict`."""
    if not text.strip(" \t\r\n"):
        raise Malformed("the message is empty")
    if not _is_shallow(text):
        raise TooLarge(f"objects and arrays are nested more than {MAX_DEPTH} levels deep")
    try:
        document = _STRICT.decode(text)
        if "\\u" in text:
            json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise Malformed(f"the text is not JSON: {error.msg}", place=f"character {error.pos}") from error
    except UnicodeEncodeError as error:
        raise Malformed("a string contains half of a UTF-16 surrogate pair, which is not a character") from error


def _utf8(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"the text is not UTF-8: {error.reason}", place=f"byte {error.start}") from error


def _is_whole(value: bytes, found: object, unread: Iterable[Raw | UnsetType]) -> bool:
    """Return True if the parsed result proves that the bytes are strict JSON; False proves nothing.

    If the bytes contain blanks, an escape, the sign of -0, a name without a field, or a value hidden by a duplicate
    name, the result is shorter when it is encoded again. Bytes of the same length contain none of them.
    """
    if len(_ENCODER.encode(found)) != len(value) or not _has_short_parts(value):
        return False
    tokens = b"\n".join([b"", *[token for token in unread if token]])
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return b"\n{" not in tokens and b"\n[" not in tokens


def _is_plain(value: bytes) -> bool:
    """Return True if a few passes in C prove that the bytes are strict JSON; False proves nothing.

    `_LOOSE` keeps only the last of equal names. If the document has the same length after it is decoded and encoded
    again, it repeats no name. The same is true if it has as many quotation marks as before, unless an escape hides one.
    """
    if not _has_short_parts(value):
        return False
    try:
        if value.count(b"{") + value.count(b"[") > MAX_DEPTH and not _is_shallow(value.decode()):
            return False
        again = _ENCODER.encode(_LOOSE.decode(value))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return len(again) == len(value) or (b"\\u0022" not in value and again.count(b'"') == value.count(b'"'))


_checked = lru_cache(maxsize=1024)(check_strict)
_ENCODER = msgspec.json.Encoder()
_LOOSE = msgspec.json.Decoder(float_hook=Raw)


def _has_short_parts(value: bytes) -> bool:
    """Return whether no name and no number can be too long. A too long number shows in a sample of every 100th byte."""
    if len(value) <= MAX_DIGITS:
        return True
    if len(value) > MAX_NAME_LENGTH:
        return False
    samples = value[::_STRIDE].translate(_NUMBER_SIGNS)
    return _LONG_SAMPLE not in samples or _LONG_NUMBER not in value.translate(_NUMBER_SIGNS)


def _is_shallow(text: str) -> bool:
    """Return whether brackets outside strings are nested at most MAX_DEPTH deep; invalid JSON is not detected here."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return True
    steps = (1 if bracket in b"{[" else -1 for bracket in _brackets(text))
    return max(accumulate(steps), default=0) <= MAX_DEPTH


def _brackets(text: str) -> bytes:
    """Return the brackets outside strings. A quotation mark inside a string follows an odd number of backslashes."""
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    return "".join(outside).encode().translate(None, delete=_NO_BRACKETS)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(pairs) > MAX_NAMES:
        raise TooLarge(f"a JSON object has {len(pairs)} names; the maximum is {MAX_NAMES}")
    if max(map(len, document), default=0) > MAX_NAME_LENGTH:
        raise TooLarge(f"a name in a JSON object is longer than {MAX_NAME_LENGTH} characters")
    if len(document) != len(pairs):
        name = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise Malformed(f"the name {name[:100]!r} occurs twice in one object", place=name[:100])
    return document


def _number(raw_value: str) -> None:
    if len(raw_value) > MAX_DIGITS:
        raise TooLarge(
            f"a number has {len(raw_value)} digits; the maximum is {MAX_DIGITS}", place=f"number {raw_value[:20]}…"
        )


def _no_number(name: str) -> NoReturn:
    raise Malformed(f"{name} is not a JSON number", place=name)


_STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_int=_number, parse_float=_number, parse_constant=_no_number)
