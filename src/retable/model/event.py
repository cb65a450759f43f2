"""The change event: one decoded fact of a message, such as a row change, a DDL statement or a heartbeat."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import msgspec

from retable.model.sequence import Sequence

Op = Literal["INSERT", "UPDATE", "DELETE", "READ", "TRUNCATE", "DDL", "HEARTBEAT", "TRANSACTION", "OTHER"]
Image = Literal["full", "before_half", "after_half"]
KeysOrigin = Literal["message", "message_key", "hidden_row_id", "hbase_row", "registry"]
Scope = Literal["stream", "partition"]
Kind = Literal["row", "schema", "note"]

ROW_OPS: frozenset[str] = frozenset({"INSERT", "UPDATE", "DELETE", "READ"})
SCHEMA_OPS: frozenset[str] = frozenset({"TRUNCATE", "DDL"})
OPS: tuple[str, ...] = get_args(Op)

BLOCKING_PROBLEMS: frozenset[str] = frozenset(
    {
        "TABLE_UNKNOWN",
        "KEY_NOT_IN_IMAGE",
        "OP_UNKNOWN",
        "DIALECT_MISMATCH",
        "OLD_DATA_MISALIGNED",
        "NUMERIC_OVERFLOW",
        "BAD_VALUE",
    }
)


@dataclass(frozen=True, slots=True)
class TableName:
    """The name of a source table, in the spelling and case of the source."""

    database: str
    schema: str | None
    table: str

    def __str__(self) -> str:
        return ".".join(part for part in (self.database, self.schema, self.table) if part is not None)


known_table = lru_cache(4096)(TableName)
"""Return the `TableName` of database, schema and table from a cache, so that events of a table share one object."""


class Address(msgspec.Struct, frozen=True, gc=False):
    """The location of an event: its message in bronze and, if the message has several rows, which row (from 0)."""

    topic: str
    partition: int
    offset: int
    row_index: int = 0

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}+{self.row_index}"


class ChangeEvent(msgspec.Struct, frozen=True, gc=False):
    """A change event: the one structure that all formats decode to (docs/formats.md).

    `op` is the kind of change, `op_raw` the operation as the message writes it. `before` and `after` are the row before
    and after the change, as JSON text with all digits of the message. `image` is `full` if the event is a whole change.
    Some sources write an update as two messages, one with each row: then `image` is `before_half` or `after_half`. A
    column that `after` lacks is unchanged if `partial_after` is True, and NULL if it is False. `partial_before` has the
    same meaning for `before`.

    `keys` are the names of the key columns. `keys_origin` says where these names come from, such as the message or the
    settings (`registry`). `sequence` is the position in the order of changes; it is None for a heartbeat or a note.
    `sequence_scope` says where sequences can be compared: in the whole source (`stream`), or only inside one Kafka
    partition (`partition`). `table_changes` is the table's new schema as JSON, for a DDL event of Debezium.
    `column_types` has the type of each column, if the message contains types. Times are epoch milliseconds. `problems`
    are codes of problems in the message, such as `OP_UNKNOWN`. With a code of BLOCKING_PROBLEMS, the whole message goes
    to quarantine.
    """

    source_format: str
    source_system: str | None
    op: Op
    op_raw: str
    address: Address
    database: str | None = None
    schema: str | None = None
    table: str | None = None
    image: Image | None = None
    keys: tuple[str, ...] | None = None
    keys_origin: KeysOrigin | None = None
    before: str | None = None
    after: str | None = None
    table_changes: str | None = None
    partial_before: bool = False
    partial_after: bool = False
    sequence: Sequence | None = None
    sequence_scope: Scope | None = None
    tx_id: str | None = None
    event_time_ms: int | None = None
    process_time_ms: int | None = None
    ddl_text: str | None = None
    column_types: dict[str, str] | None = None
    problems: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """What the event changes: `row` a row, `schema` the columns or all rows of a table, `note` nothing."""
        if self.op in ROW_OPS:
            return "row"
        return "schema" if self.op in SCHEMA_OPS else "note"

    @property
    def table_name(self) -> TableName | None:
        """The table that the message names, or None if it names none (heartbeats, some DDL)."""
        if self.database is None or not self.table:
            return None
        return known_table(self.database, self.schema, self.table)

    @property
    def part(self) -> str | None:
        """The Kafka partition, as `topic/partition`, if sequences can be compared only inside one partition.

        It is None if sequences can be compared across all partitions of the source.
        """
        return f"{self.address.topic}/{self.address.partition}" if self.sequence_scope == "partition" else None
