"""Looks into a folder of messages: what a line is, which format, what the names say, which tables come."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Literal, get_args

from retable.config import SourceSettings
from retable.decode.context import DecodeContext
from retable.decode.registry import FORMATS, decode_message
from retable.errors import Malformed, MessageError, NotFound
from retable.land.files import list_objects
from retable.land.layouts import read_messages
from retable.ledger.plan import FoundObject
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.window import SourceObject

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
    """What a folder seems to hold. `read` messages were looked at, and `decoded` of them are of `format`."""

    layout: Layout
    format: str
    read: int
    decoded: int
    hours: Hours | None
    tables: Counter[TableName]
    without_key: frozenset[TableName]
    without_system: bool


def take_sample(path: Path) -> Sample:
    """Look at a few objects of a folder; NotFound says that it holds none, Malformed that no format fits."""
    objects = list_objects(_draft(path, "lines", next(iter(FORMATS))))
    if not objects:
        raise NotFound(f"{path} holds no objects yet; put some messages there, so that their format can be recognised")
    tried = [(layout, name, *_decoded(path, objects, layout, name)) for layout in get_args(Layout) for name in FORMATS]
    layout, name, read, decoded = max(tried, key=lambda one: len(one[3]) / max(one[2], 1))
    if not read:
        raise NotFound(f"the objects in {path} hold no messages yet; put some there, so that they can be recognised")
    if 2 * len(decoded) <= read:
        raise Malformed(
            f"{path} holds no format that this version knows ({', '.join(FORMATS)}): {len(decoded)} of {read} messages "
            f"decode as {name}; see with `retable show-message --format {name} FILE` what is wrong with one message"
        )
    events = [event for message in decoded for event in message]
    rows = [(event, event.table_name) for event in events if event.kind == "row"]
    return Sample(
        layout,
        name,
        read,
        len(decoded),
        find_hours([item.key for item in objects]),
        Counter(table for _, table in rows if table is not None),
        frozenset(table for event, table in rows if table is not None and not event.keys),
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


def _decoded(
    path: Path, objects: list[FoundObject], layout: Layout, source_format: str
) -> tuple[int, list[list[ChangeEvent]]]:
    """Count the sampled messages, and decode those that decode."""
    step = max(1, len(objects) // _OBJECTS)
    messages = [
        message
        for item in objects[::step][:_OBJECTS]
        for message in islice(_messages(_draft(path, layout, source_format), item), _MESSAGES)
    ]
    decoded = []
    for message in messages:
        try:
            decoded.append(decode_message(message, DecodeContext(source_format)))
        except MessageError:
            continue
    return len(messages), decoded


def _messages(source: SourceSettings, item: FoundObject) -> Iterator[RawMessage]:
    return filter(None, read_messages(source, SourceObject(0, item.key, "", item.size)))


def _draft(path: Path, layout: Layout, source_format: str) -> SourceSettings:
    return SourceSettings(name="sample", kind="files", format=source_format, path=path, layout=layout)
