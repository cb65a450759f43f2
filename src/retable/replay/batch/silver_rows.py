"""Name the columns of a row event in silver, and convert rows of silver to events."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pyarrow as pa

from retable.gold.store import RowDict
from retable.ledger.lake.tables import SILVER
from retable.model.event import TableName
from retable.model.row_event import Half, RowEvent
from retable.model.sequence import Sequence

ROW_ADDRESS = ("window", "topic", "partition", "offset", "row_index")
ROW_COLUMNS = (
    *("database", "schema", "table"),
    *ROW_ADDRESS,
    *("op", "image", "partial_after", "before", "after", "column_types", "keys", "sequence", "part"),
    *("key_hash", "old_key_hash"),
)
"""The columns of a row event that a replay reads."""

SKETCH_COLUMNS = ("database", "schema", "table", "window", "sequence", "part")
"""The columns that give the table, the window and the position of row events."""

TIME_COLUMNS = ("database", "schema", "table", "window", "sequence", "part", "event_time_ms")
"""The columns that give the position and the source time of row events."""

HALVES: dict[str, Half] = {"before_half": "before", "after_half": "after"}
"""The values of the column `image` for the two messages of an update, if the source writes an update as two messages.
Each value says whether the message has the row before or after the update."""


def with_all_columns(rows: pa.Table) -> pa.Table:
    """Return the rows with all columns of `ROW_COLUMNS`. The columns that were not read are added with null."""
    for name in ROW_COLUMNS:
        if name not in rows.column_names:
            rows = rows.append_column(name, pa.nulls(len(rows), SILVER.columns.field(name).type))
    return rows


def to_event(record: RowDict, ordinals: Mapping[str, int], counted: bool) -> RowEvent:
    """Convert a row of silver to an event.

    `ordinals` are the numbers of windows by name. `counted` says whether the run counts the event as one of its own
    rows. It is False for a row of another window that the fold only reads.
    """
    fields = cast(dict[str, Any], record)
    types = fields["column_types"]
    return RowEvent(
        fields["op"],
        fields["before"],
        fields["after"],
        None if types is None else dict(types),
        None if fields["keys"] is None else tuple(fields["keys"]),
        sequence_of(record),
        fields["part"],
        ordinals[fields["window"]],
        fields["topic"],
        fields["partition"],
        fields["offset"],
        fields["row_index"],
        fields["key_hash"],
        fields["old_key_hash"],
        counted,
        HALVES.get(fields["image"]),
        bool(fields["partial_after"]),
    )


def sequence_of(record: RowDict) -> Sequence:
    sequence = cast(dict[str, Any], record["sequence"])
    return Sequence(int(sequence["epoch"]), int(sequence["hi"]), int(sequence["lo"]))


def table_name(record: RowDict) -> TableName | None:
    database, schema, table = (cast(str | None, record[part]) for part in ("database", "schema", "table"))
    return TableName(database, schema, table) if database is not None and table else None


def by_name(records: Iterable[RowDict]) -> dict[TableName, list[RowDict]]:
    """Group row records by the table name in their messages. Records without a name are skipped."""
    found: dict[TableName, list[RowDict]] = defaultdict(list)
    for record in records:
        name = table_name(record)
        if name is not None:
            found[name].append(record)
    return found
