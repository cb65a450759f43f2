"""Looks into a folder of messages: what a line is, which format, what the names say, which tables come."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from retable.decode.context import context_of
from retable.decode.registry import FORMATS, Format, decode_message
from retable.errors import Malformed, MessageError, NotFound
from retable.land.files import list_objects
from retable.land.layouts import read_messages
from retable.ledger.plan import FoundObject
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.window import SourceObject
from retable.source_settings import FilesSource

Layout = Literal["kafka_dump", "lines"]

_OBJECTS, _MESSAGES = 5, 200
_HOURS = (
    r"(?<!\d)(\d{4}-\d{2}-\d{2}[T_ -]\d{2})",
    r"(?<!\d)(\d{8}[T_-]\d{2})",
    r"(?<!\d)(\d{10})(?!\d)",
    r"(?<!\d)(\d{4}/\d{2}/\d{2}/\d{2})(?!\d)",
    r"(?<!\d)(\d{4}-\d{2}-\d{2}/[a-z]+=\d{2})(?!\d)",
    r"(?<!\d)(\d{4}/[a-z]+=\d{2}/[a-z]+=\d{2}/[a-z]+=\d{2})(?!\d)",
)
_DAYS = (r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)", r"(?<!\d)(\d{8})(?!\d)", r"(?<!\d)(\d{4}/\d{2}/\d{2})(?!\d)")
_FIRST_YEAR, _LAST_YEAR = 2000, 2100
_ROWID = ("rowid",)
"""What stands in for a key of Oracle that nobody named; a row that moves gets another."""


@dataclass(frozen=True, slots=True)
class Hours:
    """How the names of objects tell their hour: a pattern for the settings, the length of a window, the last hour."""

    pattern: str
    every: Literal["1h", "1d"]
    last: datetime

    @property
    def end(self) -> datetime:
        return self.last + (timedelta(hours=1) if self.every == "1h" else timedelta(days=1))


@dataclass(frozen=True, slots=True)
class Sample:
    """What a folder seems to hold. `read` messages were looked at, and `decoded` of them are of `format`.

    `options` are the settings that only this format reads and that these messages need.
    """

    layout: Layout
    format: str
    options: Mapping[str, str]
    read: int
    decoded: int
    hours: Hours | None
    tables: Counter[TableName]
    without_key: frozenset[TableName]
    without_system: bool


@dataclass(frozen=True, slots=True)
class _Trial:
    """How many messages of a folder decode as a format, and how many of those its own writer would write so."""

    layout: Layout
    format: Format
    options: Mapping[str, str]
    read: int
    decoded: list[list[ChangeEvent]]
    own: int

    @property
    def score(self) -> tuple[float, int]:
        return len(self.decoded) / max(self.read, 1), self.own


def take_sample(path: Path) -> Sample:
    """Look at a few objects of a folder; NotFound says that it holds none, Malformed that no format fits."""
    objects = list_objects(_draft(path, "lines", next(iter(FORMATS)), {}))
    if not objects:
        raise NotFound(f"{path} holds no objects yet; put some messages there, so that their format can be recognised")
    drafts = [
        (layout, known, options)
        for layout in get_args(Layout)
        for known in FORMATS.values()
        for options in known.drafts
    ]
    best = max((_try(path, objects, *draft) for draft in drafts), key=lambda trial: trial.score)
    name, read, decoded = best.format.name, best.read, best.decoded
    if not read:
        raise NotFound(f"the objects in {path} hold no messages yet; put some there, so that they can be recognised")
    if 2 * len(decoded) <= read:
        tried = dict.fromkeys(known.name for _, known, _ in drafts)
        raise Malformed(
            f"{path} holds no format that this version recognises ({', '.join(tried)}): {len(decoded)} of {read} "
            f"messages decode as {name}; see with `retable show-message --format {name} FILE` what is wrong with one"
        )
    events = [event for message in decoded for event in message]
    rows = [(event, event.table_name) for event in events if event.kind == "row"]
    untyped = any(event.column_types is None for event, _ in rows)
    return Sample(
        best.layout,
        name,
        {**best.options, **(best.format.untyped if untyped else {})},
        read,
        len(decoded),
        find_hours([item.key for item in objects]),
        Counter(table for _, table in rows if table is not None),
        frozenset(table for event, table in rows if table is not None and event.keys in (None, _ROWID)),
        any(event.source_system is None for event, _ in rows),
    )


def find_hours(keys: Sequence[str]) -> Hours | None:
    """Find the pattern by which every name tells its hour, or at least its day; None where the names do not."""
    patterns: list[tuple[str, Literal["1h", "1d"]]] = [(pattern, "1h") for pattern in _HOURS]
    for pattern, every in [*patterns, *((pattern, "1d") for pattern in _DAYS)]:
        times = [_time(match[1]) if (match := re.search(pattern, key)) else None for key in keys]
        known = [time for time in times if time is not None]
        if known and len(known) == len(keys):
            return Hours(pattern, every, max(known))
    return None


def _time(text: str) -> datetime | None:
    digits = re.sub(r"\D", "", text).ljust(10, "0")
    try:
        time = datetime.strptime(digits, "%Y%m%d%H").replace(tzinfo=UTC)
    except ValueError:
        return None
    return time if _FIRST_YEAR <= time.year < _LAST_YEAR else None


def _try(
    path: Path, objects: list[FoundObject], layout: Layout, source_format: Format, options: Mapping[str, str]
) -> _Trial:
    """Decode the sampled messages that decode."""
    source = _draft(path, layout, source_format.name, options)
    step = max(1, len(objects) // _OBJECTS)
    messages = [
        message for item in objects[::step][:_OBJECTS] for message in islice(_messages(source, item), _MESSAGES)
    ]
    decoded, own = [], 0
    for message in messages:
        try:
            decoded.append(decode_message(message, context_of(source)))
        except MessageError:
            continue
        own += source_format.is_own(message.value or b"")
    return _Trial(layout, source_format, options, len(messages), decoded, own)


def _messages(source: FilesSource, item: FoundObject) -> Iterator[RawMessage]:
    return filter(None, read_messages(source, SourceObject(0, item.key, "", item.size)))


def _draft(path: Path, layout: Layout, source_format: str, options: Mapping[str, str]) -> FilesSource:
    facts = {"name": "sample", "kind": "files", "format": source_format, "path": path, "layout": layout}
    return FilesSource.model_validate({**facts, **options})
