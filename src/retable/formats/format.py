"""The class `Format`, which defines a message format. The module of each format ends with its `FORMAT`."""

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
    """Return `stream`: messages contain a position, which orders the changes of all Kafka partitions."""
    return "stream"


def inside_a_partition(_: str | None) -> Scope:
    """Return `partition`: messages contain no position, so only offsets order changes, inside a Kafka partition."""
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
    """A message format: its decoder, the encoding of its values, its settings, and what its messages lack."""

    name: str
    """The value of the setting `format`: docs/formats.md lists all of them."""
    version: str
    """The version of the decoder. It is raised if the same messages give other events than before.

    Windows that were decoded by another version are stale.
    """
    decode: Callable[[RawMessage, DecodeContext], list[ChangeEvent]]
    """Decodes one whole message to its change events. It raises MessageError if the message cannot be decoded."""

    encoding: Callable[[str | None], Encoding]
    """Returns the encoding of values, by their type in the message; the type is None if messages contain no types."""
    default_type: Callable[[str], GoldType | str | None]
    """Returns the type of a column that no statement declared, by its type in the message.

    The result is a gold type, or the text of a type in the SQL dialect of the source, or None if the type is unknown.
    """
    declared_encoding: Callable[[Encoding, str | None, GoldType, ValueRules], Encoding] = _declared_encoding
    """Completes an encoding, if the type in the message does not decide it alone.

    It gets the encoding so far, the declared type (None: undeclared), the gold type and the rules for values.
    """
    implied_change: Callable[[str, TableName], SchemaChange | None] = _nothing
    """Returns the schema change of a statement that came without its text; None if it is not known.

    It gets `op_raw`, the name of the operation in the message, and the table.
    """
    snapshot_op: str | None = None
    """The `op_raw` (name of the operation) of statements by which a producer's full copy declares tables, or None.

    The full copy may also declare tables whose rows it does not contain.
    """

    order_scope: Callable[[str | None], Scope]
    """Returns where changes have an order: in the whole `stream`, or only inside a Kafka `partition`.

    It gets the database system of the source, or None if the system is not known.
    """
    partitions_in_order: bool
    """Whether the producer writes all Kafka partitions in the order of the source.

    Evidence of freshness in one partition is then evidence for all partitions.
    """
    topic_per_table: bool = False
    """Whether each table has a separate topic, unless a router writes several tables to one topic.

    Messages that are not row changes then have separate topics, too.
    """
    binlog_position: Callable[[str, int], int | None] = _no_binlog
    """Returns the position, as messages of this format have it, of an offset in a binlog file.

    A dump of a database names the file and the offset. The result is None if the format has no such positions.
    """
    options_decide_numbers: bool = False
    """Whether the result of reading a number or a text depends on the options of the format."""

    options: type[FormatOptions] = FormatOptions
    """The model of the settings that only this format reads. The docstring of each field says what it decides."""
    needs: tuple[str, ...] = ()
    """The names of the required options."""
    drafts: tuple[Mapping[str, str], ...] = ({},)
    """Values of the options that `retable init` tries, the strictest first."""
    untyped: tuple[str, ...] = ()
    """The names of the options that decide the encoding of values in messages without types.

    If messages have no types, `retable init` writes these options into the settings.
    """
    is_own: Callable[[bytes], bool] = _always
    """Returns whether a message is of this format, and not of another format that has the same decoder."""
    marks: tuple[str, ...] = ()
    """Names of JSON fields of this format.

    If no format decodes the messages, `retable init` names the format whose fields occur most in them.
    """

    time_zone: str
    """A sentence that says what the setting `time_zone` decides for this format."""
    cannot_tell: tuple[str, ...]
    """The facts that no message contains: one text for each, equal to the list in docs/formats.md."""

    def words(self, option: str) -> str:
        """Return the description of the option with the name `option`: the docstring of its field, on one line."""
        return docstring_of(self.options, option)
