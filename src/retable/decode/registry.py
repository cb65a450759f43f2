"""The formats, one line each, and the one door from a raw message to change events."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from retable.decode import canal_json
from retable.decode.context import DecodeContext
from retable.decode.image_text import key_text, read_image
from retable.decode.wire import WireForm
from retable.errors import Blocked, InvalidSetting, Malformed, TooLarge
from retable.model.event import BLOCKING_PROBLEMS, ChangeEvent
from retable.model.message import RawMessage


@dataclass(frozen=True, slots=True)
class Format:
    """A message format: how it decodes, and how its values stand. `version` changes when its events change."""

    name: str
    version: str
    decode: Callable[[RawMessage, DecodeContext], list[ChangeEvent]]
    wire_form: Callable[[str | None], WireForm]


FORMATS: dict[str, Format] = {
    known.name: known
    for known in (Format(canal_json.NAME, canal_json.VERSION, canal_json.decode, canal_json.wire_form),)
}


def find_format(name: str) -> Format:
    """Give the format of this name; InvalidSetting names the nearest one."""
    if name not in FORMATS:
        near = difflib.get_close_matches(name, FORMATS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(FORMATS)}"
        raise InvalidSetting(f"no format is called {name!r}; {hint}", format=name)
    return FORMATS[name]


def decode_message(message: RawMessage, context: DecodeContext) -> list[ChangeEvent]:
    """Decode one message whole; MessageError says why it cannot be.

    One event with a blocking problem blocks its whole message: the facts of Blocked name the problem, the table and
    the keys that the message touches.
    """
    source_format = find_format(context.source_format)
    if message.container_problem is not None:
        raise Malformed(message.container_problem)
    if message.value is not None and len(message.value) > context.max_message:
        raise TooLarge(
            f"the message has {len(message.value)} bytes; the source's `max_message` is {context.max_message}"
        )
    events = source_format.decode(message, context)
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
    "TABLE_UNKNOWN": "the message does not name its table",
    "KEY_NOT_IN_IMAGE": "a column of the key is not in the row image; check `keys` of the table's settings",
    "DIALECT_MISMATCH": "the row stands in `old`, as DTS wrote it until 2022-03-20; restart the DTS instance",
    "OLD_DATA_MISALIGNED": "`old` and `data` differ in length, so no old image can be told to its row",
}
