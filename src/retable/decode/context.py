"""What decoding knows beside the message."""

from collections.abc import Callable
from dataclasses import dataclass

from retable.model.event import TableName


def _no_keys(_: TableName) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What the settings say of a message's source; `source_format` is a name of docs/formats.md.

    `keys_of` gives the key columns that the settings name for a table, where the message names none. A value longer
    than `max_message` bytes is refused before it is read.
    """

    source_format: str
    source_epoch: int = 0
    source_system: str | None = None
    max_message: int = 32 * 1024 * 1024
    keys_of: Callable[[TableName], tuple[str, ...]] = _no_keys
