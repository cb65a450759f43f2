"""Convert the lines of an object (a file in a folder or bucket) to raw messages with an address.

The address is a topic, a partition and an offset. It identifies the line in its source.
"""

import base64
import binascii
import json
from collections import Counter
from collections.abc import Iterator
from typing import Annotated

import msgspec

from retable.land.objects.lines import ObjectLimits, ObjectLine, read_content, read_lines
from retable.land.objects.source import Objects, objects_of
from retable.model.message import RawMessage
from retable.model.window import SourceObject
from retable.settings.sources import FilesSource

_BOM = b"\xef\xbb\xbf"
LINES_PER_OBJECT = 1 << 40
"""The maximum number of lines of an object."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Text = str | msgspec.UnsetType | None


class DumpedRecord(msgspec.Struct, frozen=True):
    """A Kafka record that was dumped as one line of JSON. Fields with other names are ignored."""

    topic: Annotated[str, msgspec.Meta(min_length=1)]
    partition: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
    offset: _Count
    timestamp: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    key: _Text = msgspec.UNSET
    key_base64: _Text = msgspec.UNSET
    value: _Text = msgspec.UNSET
    value_base64: _Text = msgspec.UNSET
    headers: list[tuple[str, str | None]] | dict[str, str | None] | None = None


_decode = msgspec.json.Decoder(DumpedRecord).decode
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def read_messages(
    source: FilesSource, item: SourceObject, objects: Objects | None = None
) -> Iterator[RawMessage | None]:
    """Yield the messages of an object (`item`) in order, and None for an empty line that is not a message.

    `objects` are the objects of the source, if they are already open. A Spark worker must pass them, because it cannot
    open them itself. A line that cannot be read in the source's layout becomes a message with a problem, so no line is
    lost.
    """
    read = _read_dumped if source.layout == "kafka_dump" else _read_line
    bounds = ObjectLimits(source.max_unpacked, source.max_ratio, source.max_lines)
    with (objects or objects_of(source)).open(item) as file:
        for line in read_lines(read_content(file, item.size, bounds), source.max_message):
            yield read(source, item, line)


def line_address(source: FilesSource, item: SourceObject, line: int) -> tuple[int, int]:
    """Return the partition and the offset of a line that names none. `line` is its number in the object, from 0.

    The offset is the line's number plus LINES_PER_OBJECT times the number of objects before it. The partition is 0, or
    -1 in the layout `kafka_dump`. An object that came late has a partition of its own, its negative number, because it
    is not known which lines of other objects are older than its lines.
    """
    own = -1 if source.layout == "kafka_dump" else 0
    return min(own, item.number), item.count * LINES_PER_OBJECT + line


def _read_line(source: FilesSource, item: SourceObject, line: ObjectLine) -> RawMessage:
    problem = line.problem and f"{item.key}: {line.problem}"
    partition, offset = line_address(source, item, line.number)
    return RawMessage(source.name, partition, offset, None, None, line.value, container_problem=problem)


def _read_dumped(source: FilesSource, item: SourceObject, line: ObjectLine) -> RawMessage | None:
    problem = line.problem
    if problem is None:
        text = line.value.removeprefix(_BOM) if line.number == 0 else line.value
        if not text.strip():
            return None
        try:
            _check_names(text)
            return _raw_message(_decode(text))
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            problem = f"the line is not a dumped record: {error}"
    partition, offset = line_address(source, item, line.number)
    where = f"{item.key}, line {line.number + 1}: {problem}"
    return RawMessage(source.name, partition, offset, None, None, line.value, container_problem=where)


def _check_names(text: bytes) -> None:
    """Raise ValueError if a name occurs twice in one object. Most readers take the last value without an error.

    If the lengths of the fields add up to the length of the line, written without blanks or with one after each comma
    and colon, no field was skipped; otherwise a slower reader checks it.
    """
    fields = _fields(text)
    length = 1 + sum(len(name) + len(value) + 4 for name, value in fields.items())
    is_plain = len(text) in (length, length + 2 * len(fields) - 1)
    if not is_plain or bytes(fields.get("headers", b"")).startswith(b"{"):
        json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, object]]) -> None:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"the field name {name[:100]!r} occurs twice in one JSON object")


def _raw_message(record: DumpedRecord) -> RawMessage:
    value = _bytes("value", record.value, record.value_base64)
    if value is msgspec.UNSET:
        raise ValueError("it has neither value nor value_base64; expected one of these fields")
    key = _bytes("key", record.key, record.key_base64)
    pairs = record.headers.items() if isinstance(record.headers, dict) else record.headers or ()
    return RawMessage(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        None if key is msgspec.UNSET else key,
        value,
        tuple((name, None if text is None else text.encode()) for name, text in pairs),
    )


def _bytes(name: str, text: _Text, packed: _Text) -> bytes | msgspec.UnsetType | None:
    if text is not msgspec.UNSET and packed is not msgspec.UNSET:
        raise ValueError(f"it has both {name} and {name}_base64; expected only one of these fields")
    if isinstance(packed, str):
        try:
            return base64.b64decode(packed, validate=True)
        except binascii.Error as error:
            raise ValueError(f"the field {name}_base64 is not base64: {error}") from error
    return text.encode() if isinstance(text, str) else (packed if text is msgspec.UNSET else text)
