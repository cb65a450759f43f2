"""Recognises what messages are: each is read under every format, and what is counted is all that is kept of it."""

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
"""Make settings of a source out of the name of a format and its options."""

_ROWID = ("rowid",)
"""What stands in for a key of Oracle that nobody named; a row that moves gets another."""


@dataclass(slots=True, kw_only=True)
class Reading:
    """How messages read as one format, under options that only it reads.

    Of `read` messages `decoded` are of the format, `own` as its own writer writes them. `strangers` counts the others
    by topic, `reasons` by what is wrong with them, and `near` sums which part of the format's fields each has, -1 of
    one that is not even of the layout. Of rows: the tables, those `without_key`, those of them whose updates or deletes
    came `without_old` rows, whether all came with types (`typed`), and whether all named the database behind the source
    (`system_told`).
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
        """The better reading has the higher one: more messages decode, and more of them are the format's own."""
        return self.decoded / max(self.read, 1), self.own

    @property
    def needed(self) -> Mapping[str, str]:
        """The options that these messages need."""
        defaults = self.format.options()
        untyped = {} if self.typed else {name: str(getattr(defaults, name)) for name in self.format.untyped}
        return {**self.options, **untyped}

    def take(self, message: RawMessage) -> None:
        """Read one message more."""
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
    """Read messages under every format and its options; only one of them is in memory at a time."""
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
    """Give the best reading; Malformed where not even half of the messages are of any format. Some message was read."""
    readings = list(readings)
    best = max(readings, key=lambda reading: reading.score)
    if 2 * best.decoded <= best.read:
        raise Malformed(
            f"{where} holds no format that this version recognises ({', '.join(FORMATS)}); {_nearest(readings)}"
        )
    return best


def _nearest(readings: Iterable[Reading]) -> str:
    """Which format comes nearest, and what is wrong with most messages of it."""
    near = max(
        (each for each in readings if each.reasons), key=lambda reading: (reading.decoded, reading.near, reading.own)
    )
    ((reason, count),) = near.reasons.most_common(1)
    name = near.format.name
    nearest = f"{name} comes nearest" if near.decoded or near.near > 0 else f"none comes near; as {name}"
    return (
        f"{nearest}: {near.decoded} of {near.read} messages decode, and {count} fail with: {reason}; "
        f"`retable show-message --format {name} FILE` shows what one lacks"
    )


def bounded(messages: Iterable[RawMessage], count: int, size: int) -> Iterator[RawMessage]:
    """Give messages until there are so many, or so many bytes of them; one at least, if there is one."""
    for message in messages:
        yield message
        count, size = count - 1, size - len(message.key or b"") - len(message.value or b"")
        if count <= 0 or size <= 0:
            return
