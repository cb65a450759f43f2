"""Make the `DecodeContext` of a source (what a decoder needs besides the message) from its settings."""

from collections.abc import Callable

from retable.formats.context import DecodeContext, no_keys
from retable.model.event import TableName
from retable.settings.sources import SourceSettings


def context_of(
    source: SourceSettings, keys_of: Callable[[TableName], tuple[str, ...]] = no_keys, recorded_ms: int | None = None
) -> DecodeContext:
    """Return the context in which messages of a source are decoded.

    `keys_of` returns the key columns of a table whose messages do not name them. `recorded_ms` is the time when the
    window was recorded, in epoch milliseconds.
    """
    return DecodeContext(
        source_format=source.format,
        source_epoch=source.source_epoch,
        source_system=source.source_system,
        max_message=source.max_message,
        keys_of=keys_of,
        canary=source.canary,
        recorded_ms=recorded_ms,
        options=source.options,
    )
