"""The context of a decoder: what the settings say about the source of a message."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.formats.options import NO_OPTIONS, FormatOptions
from retable.model.event import TableName


def no_keys(_: TableName) -> tuple[str, ...]:
    """Return no key columns: the default of `DecodeContext.keys_of`."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeContext:
    """What the settings say about the source of a message. Every decoder gets it with the message.

    `source_format` is the name of a format in docs/formats.md. `source_epoch` is a number that a person raises when the
    positions of the source start again. `source_system` is the database system, None if the settings do not name it.
    `keys_of` returns the key columns of a table whose messages do not name its key: from the settings, or from a dump
    of the schema. A message longer than `max_message` bytes is refused before it is read. `canary` is the table whose
    rows only prove how far the source is read. `recorded_ms` is the time at which the message's window was recorded, in
    milliseconds since 1970: no message of the window is younger. `options` are the settings that only this format
    reads.
    """

    source_format: str
    source_epoch: int = 0
    source_system: str | None = None
    max_message: int = 32 * 1024 * 1024
    keys_of: Callable[[TableName], tuple[str, ...]] = no_keys
    canary: str | None = None
    recorded_ms: int | None = None
    options: FormatOptions = NO_OPTIONS
