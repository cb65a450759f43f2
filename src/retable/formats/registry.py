"""The formats, one line each, and the one entry point from a raw message to change events."""

from retable.errors import Blocked, InvalidSetting, Malformed, TooLarge
from retable.formats import lindorm_debezium, maxwell, ogg, shareplex_json
from retable.formats.canal import json as canal_json
from retable.formats.context import DecodeContext
from retable.formats.datahub import blob as datahub_blob
from retable.formats.datahub import tuple as datahub_tuple
from retable.formats.debezium import json as debezium_json
from retable.formats.dts import avro as dts_avro
from retable.formats.format import Format
from retable.formats.image_text import key_text, read_image
from retable.formats.options import nearest
from retable.formats.streamx import json as streamx_json
from retable.model.event import BLOCKING_PROBLEMS, ChangeEvent
from retable.model.message import RawMessage

_ALL = (
    canal_json.FORMAT,
    streamx_json.FORMAT,
    datahub_blob.FORMAT,
    datahub_tuple.FORMAT,
    lindorm_debezium.FORMAT,
    debezium_json.FORMAT,
    shareplex_json.FORMAT,
    dts_avro.FORMAT,
    maxwell.FORMAT,
    ogg.FORMAT,
)
FORMATS = {known.name: known for known in _ALL}
OPTION_READERS = {
    name: tuple(known.name for known in _ALL if name in known.options.model_fields)
    for known in _ALL
    for name in known.options.model_fields
}
"""Every option, and the formats that read it."""


def find_format(name: str) -> Format:
    """Give the format of this name; InvalidSetting names the nearest one."""
    if name not in FORMATS:
        hint = nearest(name, FORMATS) or f"; the formats are {', '.join(FORMATS)}"
        raise InvalidSetting(f"no format is called {name!r}{hint}", format=name)
    return FORMATS[name]


def decode_message(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one whole message; MessageError gives the reason if this fails.

    One event with a blocking problem blocks its whole message. The facts of Blocked name the problem, the table and the
    keys that the message touches.
    """
    found = find_format(context.source_format)
    if message.container_problem is not None:
        raise Malformed(message.container_problem)
    if message.value is not None and len(message.value) > context.max_message:
        raise TooLarge(
            f"the message has {len(message.value)} bytes; the source's `max_message` is {context.max_message}"
        )
    events = found.decode(message, context)
    for event in events:
        for problem in event.problems:
            if problem in BLOCKING_PROBLEMS:
                raise _blocked(problem, event, events)
    return events


def _blocked(problem: str, event: ChangeEvent, events: list[ChangeEvent]) -> Blocked:
    keys = [
        key_text(read_image(image), touched.keys)
        for touched in events
        for image in (touched.before, touched.after)
        if image is not None and touched.keys is not None
    ]
    return Blocked(
        f"{problem}: {_WORDS.get(problem, 'it cannot be applied')}",
        problem=problem,
        place=f"row {event.address.row_index}",
        table=event.table_name,
        keys=tuple(dict.fromkeys(keys)),
    )


_WORDS = {
    "TABLE_UNKNOWN": "neither the message nor the source's settings name its table",
    "KEY_NOT_IN_IMAGE": "a column of the key is not in the row image; check `keys` of the table's settings",
    "DIALECT_MISMATCH": "the row is not in the field that its dialect uses; check `canal_dialect` of the source",
    "OLD_DATA_MISALIGNED": "`old` and `data` differ in length, so old images cannot be matched with their rows",
}
