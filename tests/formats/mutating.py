"""Messages that are nearly right: a golden message with one to three things in it changed, by structure or by byte."""

import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from formats.test_golden import CASES, context_of, message_of
from retable.formats.context import DecodeContext
from retable.model.message import RawMessage

Seed = tuple[RawMessage, DecodeContext]
Node = Any
"""A JSON document whose objects are lists of pairs and whose numbers are tokens, so that nothing of it is lost."""


class Pairs(list[tuple[str, Node]]):
    """An object, in which a name may stand twice."""


class Token(str):
    """Text that stands in the document as it is."""


NUMBERS = (
    *("0", "-0", "-1", "1.0", "1E2", "1e-7", "-2208988800000", "253402300800000", "1e309", "1E+999999999"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616", "0." + "1" * 60),
    *("1e-999999999", "9" * 38, "9" * 39, "9" * 999, "1" + "0" * 400 + ".5", "2147483648", "-9223372036854775809"),
)
TOKENS = (
    *("null", "true", "false", "{}", "[]", "[null]", "[[]]", '{"":null}', '"\\u0000"', '"\\ud83d\\ude00"', '"\\u0022"'),
    *('{"scale":2147483647,"value":"AQ=="}', '{"scale":-999999999,"value":"AQ=="}', '{"scale":1,"value":""}'),
    *('{"wkb":"AQ==","srid":99999999999}', '{"x":1,"y":2,"wkb":null}', '{"scale":"1","value":"AQ=="}'),
    *("[" * 150 + "]" * 150, '"' + "é" * 3000 + '"'),
)
REFUSED = (
    *("NaN", "-Infinity", "01", "1.", "'x'", "", '"\\ud800"', '"\\udc00\\ud800"', '"\x01"', "9" * 1001, "9" * 5000),
    *("[" * 250 + "]" * 250, "[" * 100_000, '{"a":' * 5000, '{"a":1,"a":2}'),
)
TEXTS = (
    *("", " ", "0", " 1 ", "+1", "1_000", "1,000", "\u0661\u0662", "\u00b2", "\u0967", "0x10", "1\n", "nan", "-1"),
    *("Infinity", "00000000001", "2147483648", "99999999999999999999", "[1,2]", "decimal(99,98)", "bigint unsigned"),
    *("0000-00-00", "2024-02-30", "2024-1-1", "10000-01-01", "2024-02-29T00:00:00Z", "2024-02-29 24:00:00", "-1:00:00"),
    *("838:59:59.000001", "2024-02-29T00:00:00.123456789+14:00", "2024-02-29 00:00:00.1234567", "enum('a','b')"),
    *("AQ==", "AQ=", "AQ", "A Q = =", "-_8=", "\u00e9", "\U0001f600", "\ufeff", "\u2028", "a\u0000b", "\u00ff\u0100"),
    *("UPDATE_BEFOR", "MHEARTBEAT", "INSERT", "TRUNCATE", "QUERY", "u", "r", "t", "upd", "DDL", "id", "ROW", "rowid"),
    *("io.debezium.data.Enum", "org.apache.kafka.connect.data.Decimal", "__debezium_unavailable_value", "a.b.c", "."),
    *("bin.000003", "bin.999999999999999999999", "0000002a:00000158:0003", "mysql", "sqlserver", '["100","120"]'),
    "#alibaba_rds_row_id#",
)
IMAGES = ("before", "after", "data", "old", "key")
"""Under these names stand row images, in the messages of one format or another."""

_leaf = st.one_of(
    st.sampled_from(NUMBERS).map(Token),
    st.sampled_from(TOKENS).map(Token),
    st.sampled_from(TEXTS),
    st.integers(-(2**70), 2**70).map(lambda number: Token(str(number))),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)


@cache
def seeds(name: str) -> list[Seed]:
    """The golden messages of a format, each with what the settings say of it."""
    paths = [parameters.values for parameters in CASES if parameters.values[0] == name]
    return [(message_of(path), context_of(name, path)) for _, path in paths]  # type: ignore[arg-type]  # parameters of pytest


@cache
def _parts(name: str) -> list[Node]:
    """Every part of every golden message of a format, to stand in another place."""
    documents = [read(message.value) for message, _ in seeds(name) if message.value]
    return [_node(*place) for document in documents for place in _places([document])]


@st.composite
def changed_messages(draw: st.DrawFn, name: str) -> Seed:
    """A golden message of a JSON format in which something is changed: its value, its key or a header.

    Most stay JSON, so that what is behind the parser has something to do.
    """
    message, context = draw(st.sampled_from(seeds(name)))
    parts: list[bytes | None] = [message.value, message.key, *(value for _, value in message.headers)]
    at = draw(st.sampled_from([0] * 8 + [place for place, part in enumerate(parts) if part]))
    changes = [_structure] * draw(st.integers(1, 3))
    if draw(st.integers(0, 7)) == 7:
        changes.append(draw(st.sampled_from([changed_bytes, _not_json])))
    for change in changes:
        parts[at] = draw(change(parts[at] or b"", name))
    headers = tuple((key, part) for (key, _), part in zip(message.headers, parts[2:], strict=True))
    return replace(message, value=parts[0], key=parts[1], headers=headers), context


@st.composite
def changed_bytes(draw: st.DrawFn, value: bytes, name: str) -> bytes:
    """These bytes with some of them changed, taken out, put in twice, or the rest of another message behind them."""
    at = draw(st.integers(0, len(value)))
    end = min(len(value), at + draw(st.integers(0, 12)))
    match draw(st.integers(0, 5)):
        case 0:
            return value[:at]
        case 1:
            return value[:at] + draw(st.binary(max_size=8)) + value[end:]
        case 2:
            return value[:at] + value[end:]
        case 3:
            return value[:end] + value[at:end] + value[end:]
        case 4 if at < len(value):
            return value[:at] + bytes([value[at] ^ (1 << draw(st.integers(0, 7)))]) + value[at + 1 :]
    other = draw(st.sampled_from(seeds(name)))[0].value or b""
    return value[:at] + other[draw(st.integers(0, len(other))) :]


@st.composite
def _structure(draw: st.DrawFn, value: bytes, name: str) -> bytes:
    """This document with one place of it changed: a value of a row image as often as any other."""
    try:
        document = read(value)
    except (ValueError, RecursionError):
        return value
    root = [document]
    places = list(_places(root))
    values = list(_values(document)) or places
    container, at = draw(st.sampled_from(values if draw(st.booleans()) else places))
    change = draw(st.sampled_from([_put] * 6 + [_take_out, _twice, _rename, _wrap]))
    change(draw, container, at, name)
    return write(root[0]).encode() if root else b""


@st.composite
def _not_json(draw: st.DrawFn, value: bytes, name: str) -> bytes:
    """This document with something in it that strict JSON has not."""
    try:
        root = [read(value)]
    except (ValueError, RecursionError):
        return value
    container, at = draw(st.sampled_from(list(_places(root))))
    if isinstance(container, Pairs) and draw(st.booleans()):
        container.insert(at, (container[at][0], draw(_leaf)))
    else:
        _set(container, at, Token(draw(st.sampled_from(REFUSED))))
    return write(root[0]).encode()


def _node(container: Node, at: int) -> Node:
    return container[at][1] if isinstance(container, Pairs) else container[at]


def _put(draw: st.DrawFn, container: Node, at: int, name: str) -> None:
    _set(container, at, draw(st.one_of(_leaf, st.sampled_from(_parts(name)), st.just(_retyped(_node(container, at))))))


def _take_out(draw: st.DrawFn, container: Node, at: int, name: str) -> None:
    if isinstance(container, Pairs):
        del container[at]
    else:
        _set(container, at, None)


def _twice(draw: st.DrawFn, container: Node, at: int, name: str) -> None:
    if isinstance(container, Pairs):
        container.append((f"{container[at][0]}2", container[at][1]))
    else:
        container.insert(at, container[at])


def _rename(draw: st.DrawFn, container: Node, at: int, name: str) -> None:
    if isinstance(container, Pairs):
        old = container[at][0]
        new = draw(st.sampled_from([old.upper(), old + " ", "", "id", "ROW", "\u00e9", old[:-1]]))
        container[at] = (new if new not in dict(container) else f"{new}3"), container[at][1]


def _wrap(draw: st.DrawFn, container: Node, at: int, name: str) -> None:
    node = _node(container, at)
    _set(container, at, draw(st.sampled_from([[node], [node, node], Pairs([("dataColumn", node)])])))


def _set(container: Node, at: int, new: Node) -> None:
    container[at] = (container[at][0], new) if isinstance(container, Pairs) else new


def _retyped(node: Node) -> Node:
    """A number as text, text as a number, an object as the text that it is."""
    match node:
        case Token():
            return str(node)
        case str():
            return Token(node) if node.isascii() and node.isdigit() and node == (node.lstrip("0") or "0") else [node]
        case None | bool():
            return "null" if node is None else str(node).lower()
    return write(node)


def _places(container: Node) -> Iterator[tuple[Node, int]]:
    """Every place of a document: the container, and where in it."""
    for at, item in enumerate(container):
        yield container, at
        node = item[1] if isinstance(container, Pairs) else item
        if isinstance(node, list):
            yield from _places(node)


def _values(node: Node) -> Iterator[tuple[Node, int]]:
    """Every place of a row image."""
    for name, item in node if isinstance(node, Pairs) else ():
        if isinstance(item, list):
            yield from _places(item) if name in IMAGES else _values(item)


def read(value: bytes, number: Callable[[str], Node] = Token) -> Node:
    """Read a document; numbers stay as they are written."""
    text = value.decode().removeprefix("\ufeff")
    return json.loads(text, object_pairs_hook=Pairs, parse_int=number, parse_float=number, parse_constant=number)


def write(node: Node) -> str:
    match node:
        case Token():
            return str(node)
        case Pairs():
            return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{write(item)}" for name, item in node) + "}"
        case list():
            return "[" + ",".join(map(write, node)) + "]"
    return json.dumps(node, ensure_ascii=False)


def in_other_style(value: bytes) -> bytes:
    """The same document, with blanks and line ends wherever they may stand, and every sign beyond ASCII escaped."""

    def styled(node: Node) -> str:
        match node:
            case Token():
                return str(node)
            case Pairs():
                return "{ " + " ,\n".join(f"{json.dumps(name)}\t: {styled(item)}" for name, item in node) + "\r\n}"
            case list():
                return "[ " + " , ".join(map(styled, node)) + " ]"
        return json.dumps(node)

    return styled(read(value)).encode()
