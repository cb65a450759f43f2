"""Quarantined messages and rows, and the quarantined rows that a person accepted as lost."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import FileScanTask, Table

from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import standing_files
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import QUARANTINE
from retable.ledger.read import read_actions, read_stages, scan
from retable.ledger.rows import ActionRow, Stage
from retable.model.event import TableName

ACCEPT = "quarantine accept"
"""The name of the action with which a person accepts a loss; its target is the ID of the quarantined row."""

LANDED = "landed whole in "
"""The start of an action's name; the name of a window follows. The action records that this window landed a line in
full. An earlier window has this line in quarantine, because it was cut off."""

_OF_TABLE = ("window", "database", "schema", "table")
_OF_ID = ("stage", "window", "topic", "partition", "offset", "row_index")


_ORDER = [(name, "ascending") for name in ("topic", "partition", "offset", "_row", "stage")]
_AT_ONCE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRow:
    """A message that could not be decoded, or one row of a message that could not be applied, with the reason.

    `stage` is the stage that failed: `decode` or `replay`. `row_index` is the number of the row in its message. If it
    is None, the whole message is in quarantine. `place` is the location of the problem in the message, such as
    `byte 12`; for the stage `replay` it is the ID of the gold table. `keys` are the keys of the message's rows, if they
    are known.
    """

    source: str
    stage: Stage
    window: str
    topic: str
    partition: int
    offset: int
    row_index: int | None
    code: str
    reason: str
    place: str | None
    decoder_version: str | None
    database: str | None
    schema: str | None
    table: str | None
    keys: list[str] | None
    quarantined_at: datetime

    @property
    def id(self) -> str:
        """The ID of the quarantined row in commands. It stays the same when the window is decoded again."""
        return _id(self.source, self.stage, self.window, self.topic, self.partition, self.offset, self.row_index)

    @property
    def table_name(self) -> TableName | None:
        if self.database is None or not self.table:
            return None
        return TableName(self.database, self.schema, self.table)


def list_quarantined(lake: Lake, source: str, window: str | None = None) -> list[QuarantineRow]:
    """Return the quarantined rows of a source, or only of one `window`, including accepted rows.

    They are ordered by window, topic, partition and offset.
    """
    return [row for each in count_quarantined(lake, source, window) for row in read_quarantined(lake, source, each)]


def count_quarantined(lake: Lake, source: str, window: str | None = None) -> dict[str, int]:
    """Return the number of quarantined messages and rows by window, in the order of the windows.

    `window`: count only this window.
    """
    table = lake.find(f"quarantine.{source}")
    if table is None:
        return {}
    counts: Counter[str] = Counter()
    for task in standing_files(lake, table, {} if window is None else {"window": window}):
        counts[_window_of(table, task)] += task.file.record_count
    return {name: counts[name] for name in sorted(counts) if counts[name]}


def read_quarantined(lake: Lake, source: str, window: str) -> Iterator[QuarantineRow]:
    """Yield the quarantined rows of one window, ordered by topic, partition and offset.

    Only a limited number of rows is in memory as Python objects at one time.
    """
    records = scan(lake, lake.find(f"quarantine.{source}"), window=window)
    records = records.append_column("_row", pc.fill_null(records["row_index"], 0))
    names = [field.name for field in fields(QuarantineRow) if field.name != "source"]
    for batch in records.sort_by(_ORDER).select(names).to_batches(max_chunksize=_AT_ONCE):
        for record in batch.to_pylist():
            yield QuarantineRow(**{name: _python(value) for name, value in record.items()}, source=source)


def read_accepted(lake: Lake, source: str) -> dict[str, ActionRow]:
    """Return the actions that close quarantined rows of a source, by the ID of the row.

    There are two kinds of such actions. Either a person accepted the loss of the row. Or the row is a line that was cut
    off, because its file was not complete yet, and a later window landed the whole line. An action of the second kind
    is returned only after that later window is replayed.
    """
    actions = read_actions(lake, source)
    landed = [row for row in actions if row.action.startswith(LANDED)]
    windows = [row.action.removeprefix(LANDED) for row in landed]
    replayed = read_stages(lake, source, min(windows))["replay"] if windows else {}
    whole = [row for row, window in zip(landed, windows, strict=True) if window in replayed]
    return {row.target: row for row in [*whole, *(row for row in actions if row.action == ACCEPT)]}


def read_open(lake: Lake, source: str) -> pa.Table:
    """Return the columns window, database, schema and table of every quarantined row of a source that is not closed.

    A row is closed if a person accepted its loss. A row about a line that was cut off is also closed if a later window
    landed the whole line and is replayed.
    """
    table = lake.find(f"quarantine.{source}")
    if table is None:
        return QUARANTINE.columns.empty_table().select(_OF_TABLE)
    accepted = read_accepted(lake, source)
    names = tuple(dict.fromkeys((*_OF_TABLE, *_OF_ID))) if accepted else _OF_TABLE
    with explained(lake.settings.lake):
        rows = table.scan(selected_fields=names).to_arrow()
    if accepted:
        is_open = [_id(source, **place) not in accepted for place in rows.select(_OF_ID).to_pylist()]
        rows = rows.filter(pa.array(is_open, pa.bool_()))
    return rows.select(_OF_TABLE)


def _id(source: str, stage: str, window: str, topic: str, partition: int, offset: int, row_index: int | None) -> str:
    return f"{source}/{window}/{stage}/{message_place(topic, partition, offset, row_index)}"


def message_place(topic: str, partition: int, offset: int, row_index: int | None = None) -> str:
    """Return where a message is, as `topic/partition@offset`, or where a row of it is, as `topic/partition@offset+row`.

    The ID of a quarantined row ends with this text. People copy the ID from a terminal, so control characters and
    invisible characters of the topic are escaped.
    """
    row = "" if row_index is None else f"+{row_index}"
    shown = "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode() for char in topic
    )
    return f"{shown}/{partition}@{offset}{row}"


def _window_of(table: Table, task: FileScanTask) -> str:
    names = [field.name for field in table.specs()[task.file.spec_id].fields]
    return str(task.file.partition[names.index("window")])


def _python(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value
