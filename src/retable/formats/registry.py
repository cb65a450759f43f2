"""The formats by name, and the entry point that decodes a raw message to change events."""

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
"""The module of each format, relative to this package. Its `FORMAT` defines the format."""


class _Formats(Mapping[str, Format]):
    """The formats by name. A format is imported at its first use: to import all takes a third of a second."""

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
    """Return, for the name of every setting that only some formats read, the names of these formats."""
    options = {name: known.options.model_fields.keys() for name, known in FORMATS.items()}
    return {
        each: tuple(name for name in options if each in options[name]) for found in options.values() for each in found
    }


def find_format(name: str) -> Format:
    """Return the format with this name. Raise InvalidSetting if there is none; it names the most similar format."""
    if name not in FORMATS:
        hint = nearest(name, FORMATS) or f"; the formats are {', '.join(FORMATS)}"
        raise InvalidSetting(f"no format is called {name!r}{hint}", format=name)
    return FORMATS[name]


def decode_message(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one whole message to its change events. Raise MessageError, with the reason, if this is not possible.

    If one event has a problem of `BLOCKING_PROBLEMS`, Blocked is raised for the whole message. Its facts are the
    problem, the table of that event, and the keys of all rows in the message.
    """
    found = find_format(context.source_format)
    if message.container_problem is not None:
        raise Malformed(message.container_problem)
    if message.value is not None and len(message.value) > context.max_message:
        raise TooLarge(
            f"the message has {len(message.value)} bytes, but `max_message` of the source allows {context.max_message}"
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
        f"{problem}: {_WORDS.get(problem, 'the event cannot be applied')}",
        problem=problem,
        place=f"row {event.address.row_index}",
        table=event.table_name,
        keys=tuple(dict.fromkeys(keys)),
    )


_WORDS = {
    "TABLE_UNKNOWN": "neither the message nor the settings of the source name its database and table",
    "KEY_NOT_IN_IMAGE": "a key column is not in the row image; check `keys` in the settings of the table",
    "DIALECT_MISMATCH": "the row is in the wrong one of the fields `data` and `old` for the dialect of the message; "
    "check `canal_dialect` of the source",
    "OLD_DATA_MISALIGNED": "`old` and `data` have different numbers of rows, so that the rows before the change cannot "
    "be matched with the rows after it",
}
