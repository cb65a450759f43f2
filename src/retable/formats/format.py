"""The record that defines a message format; each format's module ends with its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retable.formats.context import DecodeContext
from retable.formats.declared_encoding import declared_encoding_of
from retable.formats.options import FormatOptions, docstring_of
from retable.model.event import ChangeEvent, Scope, TableName
from retable.model.message import RawMessage
from retable.model.schema import GoldType
from retable.model.schema_change import SchemaChange
from retable.values.encodings import Encoding, refined_encoding
from retable.values.times import ValueRules


def across_the_stream(_: str | None) -> Scope:
    """Scope of messages that carry their own order, which holds across partitions."""
    return "stream"


def inside_a_partition(_: str | None) -> Scope:
    """Scope of messages without an order: the offset orders all changes."""
    return "partition"


def _nothing(_op_raw: str, _table: TableName) -> None:
    return None


def _no_binlog(_file: str, _offset: int) -> None:
    return None


def _declared_encoding(encoding: Encoding, declared: str | None, gold: GoldType, rules: ValueRules) -> Encoding:
    return encoding if declared is None else refined_encoding(encoding, declared_encoding_of(declared, rules.system))


def _always(_: bytes) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Format:
    """A message format: its decoder, the encoding of its values, what it needs and what it cannot know."""

    name: str
    """The name that settings use: docs/formats.md."""
    version: str
    """Changes when the events of the same messages change: windows decoded by another version are stale."""
    decode: Callable[[RawMessage, DecodeContext], list[ChangeEvent]]
    """Decode one whole message; MessageError gives the reason if this fails."""

    encoding: Callable[[str | None], Encoding]
    """The encoding of values of a type in the message; None is a message without types."""
    default_type: Callable[[str], GoldType | str | None]
    """The type of a column that no statement declared, by its type in the message: a gold type, a type's text in the
    dialect of the source, or None for a type that the format does not know."""
    declared_encoding: Callable[[Encoding, str | None, GoldType, ValueRules], Encoding] = _declared_encoding
    """The encoding that the type in the message leaves open: by the declared type, the gold type and the rules."""
    implied_change: Callable[[str, TableName], SchemaChange | None] = _nothing
    """The meaning of a statement that came without its text, if its `op_raw` alone shows it."""
    snapshot_op: str | None = None
    """The `op_raw` of statements by which a snapshot declares tables, also those of which it captures no row."""

    order_scope: Callable[[str | None], Scope]
    """The scope of the order of changes, by the database system of the source."""
    partitions_in_order: bool
    """Whether the producer writes each partition in the order of the source, so that the proof of one partition's
    freshness holds for all."""
    topic_per_table: bool = False
    """Whether each table has a separate topic, unless a router joins them; messages without rows have other topics."""
    binlog_position: Callable[[str, int], int | None] = _no_binlog
    """The position in this format's order of a binlog file and an offset in it, as a dump names them."""
    options_decide_numbers: bool = False
    """Whether the format's options decide how numbers and text of one column are read."""

    options: type[FormatOptions] = FormatOptions
    """The settings of a source that only this format reads; the docstring of each says what it decides."""
    needs: tuple[str, ...] = ()
    """The required options."""
    drafts: tuple[Mapping[str, str], ...] = ({},)
    """Options that `retable init` tries, the strictest first."""
    untyped: tuple[str, ...] = ()
    """The options that set the encoding of values in messages without types; `retable init` then writes them."""
    is_own: Callable[[bytes], bool] = _always
    """Whether a message is of this format and not of another one that decodes alike."""
    marks: tuple[str, ...] = ()
    """JSON field names that show which format is nearest for messages that do not decode."""

    time_zone: str
    """What the setting `time_zone` decides, in words."""
    cannot_tell: tuple[str, ...]
    """What no message contains, one sentence each as in docs/formats.md."""

    def words(self, option: str) -> str:
        """Say what one of its options decides."""
        return docstring_of(self.options, option)
