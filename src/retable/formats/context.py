"""What decoding knows beside the message."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from retable.model.connector import UNAVAILABLE_VALUE, ChangeOrder
from retable.model.event import TableName
from retable.settings.sources import CanalDialect, SourceSettings


def _no_keys(_: TableName) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class DecodeContext:
    """What the settings say of a message's source; `source_format` is a name of docs/formats.md.

    `keys_of` gives the key columns that the settings, or a dump of its schema, name for a table, where the message
    names none. A value longer than `max_message` bytes is refused before it is read. `canary` is the table whose rows
    only prove how far the source is read; `recorded_ms` is when the window was recorded, epoch milliseconds: no message
    of it is younger.
    `model`, `database`, `table`, `tuple_schema`, `unavailable_value`, `canal_dialect` and `order` are options of single
    formats (`registry`).
    """

    source_format: str
    source_epoch: int = 0
    source_system: str | None = None
    max_message: int = 32 * 1024 * 1024
    keys_of: Callable[[TableName], tuple[str, ...]] = _no_keys
    canary: str | None = None
    recorded_ms: int | None = None
    model: Literal["sql", "hbase"] = "sql"
    database: str | None = None
    table: str | None = None
    tuple_schema: tuple[tuple[str, str], ...] = ()
    unavailable_value: str = UNAVAILABLE_VALUE
    canal_dialect: tuple[CanalDialect, ...] = ()
    order: ChangeOrder = "log"


def context_of(
    source: SourceSettings, keys_of: Callable[[TableName], tuple[str, ...]] = _no_keys, recorded_ms: int | None = None
) -> DecodeContext:
    """Give what the settings say of a source."""
    return DecodeContext(
        source.format,
        source.source_epoch,
        source.source_system,
        source.max_message,
        keys_of,
        source.canary,
        recorded_ms,
        source.model,
        source.database,
        source.table,
        tuple(source.tuple_schema.items()),
        source.unavailable_value,
        source.canal_dialect,
        source.order,
    )
