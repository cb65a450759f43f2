"""Decode bronze (the table of raw messages) again, without Spark and without silver, to verify gold."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import pyarrow as pa
from pyiceberg.expressions import EqualTo, LessThan, Reference
from pyiceberg.expressions.literals import literal

from retable.decode.context import context_of
from retable.decode.imported import imported_keys, known_keys
from retable.decode.silver import events_to_batch, rows_to_events
from retable.decode.statements import read_statements as statements_of_silver
from retable.errors import MessageError
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.gold.store import RowDict
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.retained import is_dropped
from retable.ledger.windows.recording import as_recorded
from retable.model.event import ChangeEvent, TableName
from retable.model.message import RawMessage
from retable.model.window import Window
from retable.replay.inputs.silver import system_of, taken, to_statement
from retable.schema_history.statement import Statement
from retable.settings.sources import SourceSettings
from retable.verify.spill import Spill

_TABLES = 4096
"""The number of tables for which the settings are cached."""

_COLUMNS = ("topic", "partition", "offset", "timestamp_ms", "key", "value", "headers", "problem")


@dataclass(slots=True)
class DecodedBronze:
    """The result of decoding bronze again. The row events are not in it: they are written to a file.

    `statements` are the schema events (DDL statements) as rows of silver, in order. `counts` are the counts by window,
    under the names that the ledger uses: messages are `decoded`, `ignored` or `quarantined`; `events` counts all
    events, `rows` the row changes, and `excluded` those row changes whose table the settings exclude.
    """

    statements: list[RowDict] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)


class Decoder:
    """Decodes the messages of one source from bronze again, with the source's current settings."""

    def __init__(self, lake: Lake, source: SourceSettings) -> None:
        self._lake = lake
        self._source = source
        self._takes = lru_cache(_TABLES)(source.takes)
        self._keys_of = lru_cache(_TABLES)(known_keys(lake.settings, imported_keys(lake, source.name)))

    def decode(
        self, windows: Sequence[Window], names: Collection[TableName], stored: Collection[str], events: Spill
    ) -> DecodedBronze:
        """Decode these windows in order, and return their statements and counts.

        Row changes of the tables `names` are written to the file `events`, but only those in the windows `stored`.
        These are the windows whose rows gold should have.
        """
        found = DecodedBronze()
        for window in windows:
            counts = found.counts[window.name] = Counter()
            statements: list[ChangeEvent] = []
            for decoded in self._events(window, counts):
                statements += [event for event in decoded if event.kind == "schema"]
                rows = [event for event in decoded if event.kind == "row" and self._counted(event, counts)]
                mine = [event for event in rows if event.table_name in names]
                if mine and window.name in stored:
                    events.write(events_to_batch(window.name, mine))
            statements.sort(key=lambda event: event.address.offset)
            found.statements += events_to_batch(window.name, statements).to_pylist()
        return found

    def _counted(self, event: ChangeEvent, counts: Counter[str]) -> bool:
        """Count a row change. Return whether the settings include its table."""
        counts["rows"] += 1
        is_taken = event.table_name is None or self._takes(event.table_name)
        counts["excluded"] += not is_taken
        return is_taken

    def _events(self, window: Window, counts: Counter[str]) -> Iterator[list[ChangeEvent]]:
        """Return the events of a window's messages, in batches, and count messages and events in `counts`."""
        source = as_recorded(self._source, window)
        context = context_of(source, self._keys_of, int(window.recorded_at.timestamp() * 1000))
        condition = EqualTo(term=Reference("window"), value=literal(window.name))
        with explained(self._lake.settings.lake):
            bronze = self._lake.load(f"bronze.{self._source.name}")
            for batch in bronze.scan(row_filter=condition, selected_fields=_COLUMNS).to_arrow_batch_reader():
                events = [event for message in _messages(batch) for event in self._decoded(message, context, counts)]
                counts["events"] += len(events)
                yield events

    def _decoded(self, message: RawMessage, context: DecodeContext, counts: Counter[str]) -> list[ChangeEvent]:
        """Count a message and return its events. If it cannot be decoded, return no events."""
        try:
            events = decode_message(message, context)
        except MessageError as error:
            table = error.facts.get("table")
            is_left_out = isinstance(table, TableName) and not self._takes(table)
            counts["ignored" if is_left_out else "quarantined"] += 1
            return []
        counts["decoded"] += 1
        return events


def read_statements(
    records: Sequence[RowDict], source: SourceSettings, imported: str | None = None
) -> tuple[dict[Statement, str], str]:
    """Return a dict of the statements, in order, and the SQL dialect of the source, such as `mysql`.

    The dict has, for each statement, the name of its window.
    Changes of tables that the settings exclude are removed from the statements.

    `records` are schema events as rows of silver. `imported` is the dialect of an imported schema dump. It is used only
    if neither the settings nor the events name the dialect.
    """
    default = source.source_system or imported
    system = system_of(records, default)
    found: dict[Statement, str] = {}
    for record in records:
        statement = taken(to_statement(record, default, system), source.takes)
        found.setdefault(statement, str(record["window"]))
    return found, system


def dropped_statements(lake: Lake, source: str, kept: str | None) -> list[RowDict]:
    """Return the schema events of the windows that bronze no longer has, as rows of silver, in order.

    Silver keeps all statements for ever. `kept` is the oldest window that bronze has; None means that it has all.
    """
    records = [] if kept is None else statements_of_silver(lake, source, kept)
    older = [record for record in records if is_dropped(str(record["window"]), kept)]
    return sorted(older, key=lambda record: (str(record["window"]), int(str(record["offset"]))))


def read_baseline_rows(
    lake: Lake, source: str, windows: Collection[str], names: Collection[TableName], events: Spill
) -> None:
    """Write the rows of baselines (full copies of tables) for the tables `names` to the file `events`.

    They are read from silver, because bronze does not have them. Silver has each piece of a baseline as a window;
    `windows` names those that gold should have.
    """
    table = lake.find(f"silver.{source}") if windows else None
    if table is None:
        return
    with explained(lake.settings.lake):
        pieces = LessThan(term=Reference("window"), value=literal(FIRST_WINDOW))
        for batch in table.scan(row_filter=pieces).to_arrow_batch_reader():
            rows = [row for row in _events_of(batch, windows) if row[1].table_name in names]
            for window in sorted({name for name, _ in rows}):
                events.write(events_to_batch(window, [event for name, event in rows if name == window]))


def _events_of(batch: pa.RecordBatch, windows: Collection[str]) -> Iterator[tuple[str, ChangeEvent]]:
    """Return the events of a batch of silver that are in these windows, each with its window."""
    table = pa.Table.from_batches([batch])
    for name, event in zip(table["window"].to_pylist(), rows_to_events(table), strict=True):
        if name in windows:
            yield name, event


def _messages(batch: pa.RecordBatch) -> Iterator[RawMessage]:
    for topic, partition, offset, timestamp, key, value, headers, problem in zip(
        *(batch.column(name).to_pylist() for name in _COLUMNS), strict=True
    ):
        pairs = tuple((header["key"], header["value"]) for header in headers or ())
        yield RawMessage(topic, partition, offset, timestamp, key, value, pairs, problem)
