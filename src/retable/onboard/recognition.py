"""Recognises the format of messages: decodes each message with every format, and counts the results."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from retable.decode.context import context_of
from retable.errors import Malformed, MessageError
from retable.formats.context import DecodeContext
from retable.formats.format import Format
from retable.formats.registry import FORMATS, decode_message
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.settings.sources import Source

Draft = Callable[[str, Mapping[str, str]], Source]
"""A function that makes the settings of a source from the name of a format and the options of that format."""

_ROWID = ("rowid",)
"""The key that is used if no key of an Oracle table is declared. A row that moves gets another rowid."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """Counts how well one format, with one set of its `options`, decodes sampled messages.

    - `read`, `decoded`: the number of messages, and of messages that decode. `own`: the number of decoded messages that
      are of this format, and not of another format with the same decoder.
    - `strangers`, `reasons`: the number of messages that do not decode, for each topic and for each error text.
    - `near`: how similar the messages that do not decode are to this format. It is a sum. Each such message adds the
      fraction (0 to 1) of the format's field names that it contains. A line that is invalid in the layout adds -1.
    - `tables`: the number of rows of each table. `without_key`: tables with a row without a key. `without_old`: the
      tables of `without_key` with an update or delete that has no old row.
    - `typed`: whether all rows came with types. `system_told`: whether all rows named the source's database system.
    """

    format: Format
    options: Mapping[str, str]
    context: DecodeContext
    read: int = 0
    decoded: int = 0
    own: int = 0
    near: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)
    strangers: Counter[str] = field(default_factory=Counter)
    tables: Counter[TableName] = field(default_factory=Counter)
    without_key: set[TableName] = field(default_factory=set)
    without_old: set[TableName] = field(default_factory=set)
    typed: bool = True
    system_told: bool = True

    @property
    def score(self) -> tuple[float, int]:
        """The fraction of messages that decode, then the count `own`. A higher score is better."""
        return self.decoded / max(self.read, 1), self.own

    @property
    def needed(self) -> Mapping[str, str]:
        """The format options that the settings of these messages must have, with their values."""
        defaults = self.format.options()
        untyped = {} if self.typed else {name: str(getattr(defaults, name)) for name in self.format.untyped}
        return {**self.options, **untyped}

    def take(self, message: RawMessage) -> None:
        """Decode one more message, and count the result in this object."""
        self.read += 1
        try:
            events = decode_message(message, self.context)
        except MessageError as error:
            self.strangers[message.topic] += 1
            self.reasons[error.message] += 1
            found = [f'"{mark}"'.encode() in (message.value or b"") for mark in self.format.marks]
            share = sum(found) / len(found) if found else 0
            self.near += share if message.container_problem is None else -1
            return
        self.decoded += 1
        self.own += self.format.is_own(message.value or b"")
        for event in events:
            if event.kind == "row":
                self._take_row(event)

    def _take_row(self, event: ChangeEvent) -> None:
        self.typed &= event.column_types is not None
        self.system_told &= event.source_system is not None
        table = event.table_name
        if table is None:
            return
        self.tables[table] += 1
        if event.keys in (None, _ROWID):
            self.without_key.add(table)
            if event.op in ("UPDATE", "DELETE") and event.image == "full" and event.before is None:
                self.without_old.add(table)


def read_all(messages: Iterable[RawMessage], draft: Draft) -> list[Reading]:
    """Decode the messages with every format, and return one `Reading` for each format and set of options.

    `draft` makes the source settings for a format and its options. Only one message is in memory at a time.
    """
    readings = [
        Reading(format=known, options=options, context=context_of(draft(known.name, options)))
        for known in FORMATS.values()
        for options in known.drafts
    ]
    for message in messages:
        for reading in readings:
            reading.take(message)
    return readings


def best_of(readings: Iterable[Reading], where: str) -> Reading:
    """Return the reading with the highest score, if it decodes more than half of the messages; else raise Malformed.

    At least one message must have been read. `where` names the folder or the topics, for the error.
    """
    readings = list(readings)
    best = max(readings, key=lambda reading: reading.score)
    if 2 * best.decoded <= best.read:
        raise Malformed(
            f"no format that this version recognises ({', '.join(FORMATS)}) fits {where}; {_nearest(readings)}"
        )
    return best


def _nearest(readings: Iterable[Reading]) -> str:
    """Describe the format that fits best, and its most frequent error."""
    near = max(
        (each for each in readings if each.reasons), key=lambda reading: (reading.decoded, reading.near, reading.own)
    )
    ((reason, count),) = near.reasons.most_common(1)
    name = near.format.name
    nearest = f"{name} fits best" if near.decoded or near.near > 0 else f"no format is similar; as {name}"
    return (
        f"{nearest}: {near.decoded} of {near.read} messages decode, and {count} fail with: {reason}; "
        f"`retable show-message --format {name} FILE` shows what a message lacks"
    )


def bounded(messages: Iterable[RawMessage], count: int, size: int) -> Iterator[RawMessage]:
    """Yield the first messages, up to `count` messages or about `size` bytes (keys and values).

    The message that reaches the size is still yielded.
    """
    for message in messages:
        yield message
        count, size = count - 1, size - len(message.key or b"") - len(message.value or b"")
        if count <= 0 or size <= 0:
            return
