"""The context of decoding: what is known besides the message."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.formats.options import NO_OPTIONS, FormatOptions
from retable.model.event import TableName


def no_keys(_: TableName) -> tuple[str, ...]:
    """Know no key of any table."""
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeContext:
    """What the settings say about a message's source; `source_format` is a name of docs/formats.md.

    `keys_of` gives the key columns that the settings, or a dump of the schema, name for a table whose messages name
    none. A value longer than `max_message` bytes is refused before it is read. `canary` is the table whose rows only
    prove how far the source is read. `recorded_ms` is when the window was recorded, in epoch milliseconds: no message
    of the window is younger. `options` are those of the format.
    """

    source_format: str
    source_epoch: int = 0
    source_system: str | None = None
    max_message: int = 32 * 1024 * 1024
    keys_of: Callable[[TableName], tuple[str, ...]] = no_keys
    canary: str | None = None
    recorded_ms: int | None = None
    options: FormatOptions = NO_OPTIONS
