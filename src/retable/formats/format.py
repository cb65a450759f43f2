"""What tells one message format from another: one record, at the foot of the format's own file."""

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
    """Say that messages carry an order of their own, which holds across partitions."""
    return "stream"


def inside_a_partition(_: str | None) -> Scope:
    """Say that messages tell no order, so that of every change the offset does."""
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
    """A message format: how it decodes, how its values stand, what it needs and what it cannot tell."""

    name: str
    """The name by which settings choose it: docs/formats.md."""
    version: str
    """Changes when the events of the same messages change: windows that another version decoded are stale."""
    decode: Callable[[RawMessage, DecodeContext], list[ChangeEvent]]
    """Decode one message whole; MessageError says why it cannot be."""

    encoding: Callable[[str | None], Encoding]
    """How values of a wire type stand; None is a message without types."""
    default_type: Callable[[str], GoldType | str | None]
    """The type of a column that no statement declared, by wire type: a gold type, or a type's text in the dialect of
    the source, or None for a wire type that the format does not know."""
    declared_encoding: Callable[[Encoding, str | None, GoldType, ValueRules], Encoding] = _declared_encoding
    """How values stand whose wire type leaves it open: by the column's declared type, its gold type and the rules."""
    implied_change: Callable[[str, TableName], SchemaChange | None] = _nothing
    """What a statement that came without its text means, where its `op_raw` alone tells."""
    snapshot_op: str | None = None
    """The `op_raw` of statements by which a snapshot declares tables, also those of which it captures no row."""

    order_scope: Callable[[str | None], Scope]
    """How far the order of changes reaches, by the database behind the source."""
    partitions_in_order: bool
    """Whether the producer writes each partition in the order of the source, so that what proves one partition fresh
    proves all."""
    topic_per_table: bool = False
    """Whether each table has a topic of its own, unless a router joins them, and what is no row comes in others."""
    binlog_position: Callable[[str, int], int | None] = _no_binlog
    """The place in this format's order of a file of the binlog and an offset in it, as a dump names them."""
    options_decide_numbers: bool = False
    """Whether the format's options decide how numbers and text of one column are read."""

    options: type[FormatOptions] = FormatOptions
    """The settings of a source that only this format reads; the docstring of each says what it decides."""
    needs: tuple[str, ...] = ()
    """The options that it cannot do without."""
    drafts: tuple[Mapping[str, str], ...] = ({},)
    """Options that `retable init` tries, the strictest first."""
    untyped: tuple[str, ...] = ()
    """The options that say how values stand in messages without types, which `retable init` then writes."""
    is_own: Callable[[bytes], bool] = _always
    """Tell a message from those of another format that reads as this one."""
    marks: tuple[str, ...] = ()
    """Names of fields of JSON, by which messages that do not decode show which format comes nearest."""

    time_zone: str
    """What the setting `time_zone` decides, in words."""
    cannot_tell: tuple[str, ...]
    """What no message tells, sentence by sentence as docs/formats.md does."""

    def words(self, option: str) -> str:
        """Say what one of its options decides."""
        return docstring_of(self.options, option)
