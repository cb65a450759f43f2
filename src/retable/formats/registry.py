"""The formats, one line each, and the one entry point from a raw message to change events."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module

from retable.errors import Blocked, InvalidSetting, Malformed, TooLarge
from retable.formats.context import DecodeContext
from retable.formats.format import Format
from retable.formats.image_text import key_text, read_image
from retable.formats.options import nearest
from retable.model.event import BLOCKING_PROBLEMS, ChangeEvent
from retable.model.message import RawMessage

_MODULES = {
    "canal_json": "canal.json",
    "streamx_json": "streamx.json",
    "datahub_blob": "datahub.blob",
    "datahub_tuple": "datahub.tuple",
    "lindorm_debezium": "lindorm_debezium",
    "debezium_json": "debezium.json",
    "shareplex_json": "shareplex_json",
    "dts_avro": "dts.avro",
    "maxwell_json": "maxwell",
    "ogg_json": "ogg",
}
"""The module of each format, below this package; its record is `FORMAT`."""


class _Formats(Mapping[str, Format]):
    """The formats by name. A format is imported when it is first used: together they take a third of a second."""

    def __getitem__(self, name: str) -> Format:
        return _load(_MODULES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


@cache
def _load(module: str) -> Format:
    found: Format = import_module(f"retable.formats.{module}").FORMAT
    return found


FORMATS: Mapping[str, Format] = _Formats()


@cache
def option_readers() -> dict[str, tuple[str, ...]]:
    """Give every option, and the names of the formats that read it."""
    options = {name: known.options.model_fields.keys() for name, known in FORMATS.items()}
    return {
        each: tuple(name for name in options if each in options[name]) for found in options.values() for each in found
    }


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
