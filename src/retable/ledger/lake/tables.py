"""The columns, partitions and properties of the system tables: bronze, silver, statements, quarantine and ops.

Retable appends to a system table, or overwrites whole partitions. All partition fields are identity transforms.
"""

from dataclasses import dataclass, field

import pyarrow as pa

from retable.errors import NotFound
from retable.ledger.lake.identity import LAYOUT
from retable.ledger.lake.warehouse import LAKE_TABLE

LAYOUT_PROPERTY = "retable.layout"
"""The property of an ops table with its layout version: a number that Retable raises when the form of rows changes."""

COMMITTED = "committed"
"""The column of an ops table with the sequence number of the commit that added the row. If it is null, the row was
added by the commit that added its file."""

_TIME = pa.timestamp("us", tz="UTC")
_TEXTS = pa.list_(pa.string())
_COUNTS = pa.map_(pa.string(), pa.int64())
_TEXT_BY_TEXT = pa.map_(pa.string(), pa.string())
_POSITION = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
_SEQUENCE = pa.struct({"epoch": pa.int32(), "hi": pa.decimal128(38, 0), "lo": pa.int64()})
_SOURCE_TABLE = {"database": pa.string(), "schema": pa.string(), "table": pa.string()}


@dataclass(frozen=True, slots=True)
class SystemTable:
    """The definition with which a system table is created: its columns, its partition columns and its properties."""

    columns: pa.Schema
    partitions: tuple[str, ...]
    properties: dict[str, str] = field(default_factory=dict)


def _texts(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, pa.string())


BRONZE = SystemTable(
    pa.schema(
        {
            "window": pa.string(),
            **_POSITION,
            "timestamp_ms": pa.int64(),
            "key": pa.binary(),
            "value": pa.binary(),
            "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
            "problem": pa.string(),
            "landed_at": _TIME,
        }
    ),
    ("window",),
    # A window is one partition, so distributing by partition would land it with a single task. If a table that
    # pyiceberg made names no codec, Spark compresses its files with gzip, in Java.
    {
        "write.distribution-mode": "none",
        "write.spark.fanout.enabled": "true",
        "write.parquet.compression-codec": "zstd",
    },
)

SILVER = SystemTable(
    pa.schema(
        {
            **_texts("window", "kind", "source_format", "source_system"),
            **_SOURCE_TABLE,
            **_texts("op", "op_raw", "image"),
            "keys": _TEXTS,
            **_texts("keys_origin", "before", "after", "table_changes"),
            "partial_before": pa.bool_(),
            "partial_after": pa.bool_(),
            "sequence": _SEQUENCE,
            **_texts("sequence_scope", "part", "tx_id"),
            "event_time_ms": pa.int64(),
            "process_time_ms": pa.int64(),
            "ddl_text": pa.string(),
            "column_types": _TEXT_BY_TEXT,
            "problems": _TEXTS,
            **_POSITION,
            "row_index": pa.int32(),
            "key_hash": pa.int64(),
            "old_key_hash": pa.int64(),
        }
    ),
    ("window", "kind"),
    # A task reads the rows of some keys; they are stored together, so it skips the other row groups.
    {"write.parquet.row-group-limit": "4096"},
)

STATEMENTS = SystemTable(
    pa.schema(
        {
            **_SOURCE_TABLE,
            **_texts("window"),
            "offset": pa.int64(),
            **_texts("source_format", "source_system", "op", "op_raw", "ddl_text"),
            "sequence": _SEQUENCE,
            **_texts("part"),
            "event_time_ms": pa.int64(),
            **_texts("tx_id", "dialect", "reader", "meaning"),
        }
    ),
    (),
    {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "16"},
)

SAME_STATEMENTS = "retable.same-statements"
"""The property of a snapshot of silver that has the same DDL statements as the snapshot before it. Such a snapshot only
rewrote files or dropped rows."""

QUARANTINE = SystemTable(
    pa.schema(
        {
            **_texts("stage", "window"),
            **_POSITION,
            "row_index": pa.int32(),
            **_texts("code", "reason", "place", "decoder_version"),
            **_SOURCE_TABLE,
            "keys": _TEXTS,
            "quarantined_at": _TIME,
        }
    ),
    ("stage", "window"),
)

# pyiceberg repeats an append to ops if another process committed first. It does not repeat an append that depends on
# the rows that the writer read (`append_to_loaded`).
_REPEATED = {"commit.retry.num-retries": "20", "commit.retry.max-wait-ms": "2000"}


# Each commit adds a manifest, and a reader opens all of them: 600 cost a second, merged ones 0.04 s.
_MERGED = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "16"}


# After upkeep, a year of windows is in one file. With small row groups, a read of one window opens few of them.
_GROUPED = {"write.parquet.row-group-limit": "16384"}


def _ops(columns: dict[str, pa.DataType]) -> SystemTable:
    columns = {**columns, COMMITTED: pa.int64()}
    properties = {**_MERGED, **_REPEATED, **_GROUPED, LAYOUT_PROPERTY: str(LAYOUT)}
    return SystemTable(pa.schema(columns), ("source",), properties)


OPS = {
    "ops.windows": _ops(
        {
            "source": pa.string(),
            "ordinal": pa.int64(),
            "window": pa.string(),
            "start": _TIME,
            "end": _TIME,
            "objects": pa.list_(
                pa.struct({"number": pa.int64(), "key": pa.string(), "etag": pa.string(), "size": pa.int64()})
            ),
            "recorded_at": _TIME,
            "ranges": pa.list_(
                pa.struct(
                    {
                        **_texts("topic"),
                        "partition": pa.int32(),
                        **_texts("topic_id"),
                        "epoch": pa.int32(),
                        **dict.fromkeys(("begin", "end"), pa.int64()),
                    }
                )
            ),
            "epoch": pa.int32(),
            "count": pa.int64(),
        }
    ),
    "ops.ledger": _ops(
        {
            **_texts("source", "window", "stage", "table"),
            "counts": _COUNTS,
            "lowest": _TEXT_BY_TEXT,
            "highest": _TEXT_BY_TEXT,
            "snapshot_id": pa.int64(),
            **_texts("identity", "run_id"),
            "seconds": pa.float64(),
            "bytes": pa.int64(),
            "recorded_at": _TIME,
            **_texts("first"),
            "count": pa.int64(),
            **_texts("cut"),
        }
    ),
    "ops.schema_changes": _ops(
        {
            **_texts("source", "identity", "table", "position", "part"),
            "event_time_ms": pa.int64(),
            **_texts("window", "statement", "meaning", "status", "reason", "columns"),
            "recorded_at": _TIME,
        }
    ),
    "ops.cuts": _ops(
        {
            **_texts("source", "window"),
            "revision": pa.int64(),
            **_texts("table", "identity"),
            "snapshot_id": pa.int64(),
            "state": pa.string(),
            "recorded_at": _TIME,
        }
    ),
    "ops.tables": _ops(
        {
            **_texts("source", "identity", "gold"),
            **_SOURCE_TABLE,
            **_texts("state", "hold"),
            "recorded_at": _TIME,
            **_texts("first_window"),
            "lowest": _TEXT_BY_TEXT,
        }
    ),
    "ops.leases": _ops(
        {
            **_texts("source", "target", "purpose", "holder"),
            "until": _TIME,
            "recorded_at": _TIME,
            **_texts("window", "process"),
        }
    ),
    "ops.incidents": _ops(
        {
            **_texts("source", "id", "key", "state", "severity", "owner", "words", "next_step"),
            **dict.fromkeys(("names", "claimed", "told"), pa.map_(pa.string(), _TIME)),
            **dict.fromkeys(("opened_at", "recorded_at"), _TIME),
        }
    ),
    "ops.upkeep": _ops(
        {
            **_texts("source", "table"),
            **dict.fromkeys(("before", "after", "done"), _COUNTS),
            **_texts("run_id"),
            "seconds": pa.float64(),
            "recorded_at": _TIME,
        }
    ),
    "ops.actions": _ops({**_texts("source", "action", "target", "reason", "who"), "recorded_at": _TIME}),
    "ops.decisions": _ops(
        {**_texts("source", "identity", "position", "part", "decision", "statement"), "recorded_at": _TIME}
    ),
    "ops.imports": _ops(
        {
            "source": pa.string(),
            **_SOURCE_TABLE,
            **_texts("position", "dialect", "statement", "meaning", "origin"),
            "recorded_at": _TIME,
        }
    ),
    "ops.baselines": _ops(
        {
            "source": pa.string(),
            **_SOURCE_TABLE,
            **_texts("position", "part", "dump"),
            "piece": pa.int64(),
            "window": pa.string(),
            "rows": pa.int64(),
            "last": pa.bool_(),
            "origin": pa.string(),
            "recorded_at": _TIME,
        }
    ),
    "ops.suspects": _ops(
        {
            **_texts("source", "identity", "table", "columns", "constraint", "window", "position", "part"),
            "rows": pa.int64(),
            **_texts("lost", "state"),
            "recorded_at": _TIME,
        }
    ),
    "ops.evidence": _ops(
        {
            **_texts("source", "window", "topic"),
            "partition": pa.int32(),
            "epoch": pa.int32(),
            **dict.fromkeys(("heartbeat", "canary", "row"), _TIME),
            "ahead": pa.int64(),
            "recorded_at": _TIME,
        }
    ),
    "ops.watermarks": _ops(
        {
            **_texts("source", "table", "grade", "window"),
            "watermark": _TIME,
            "epoch": pa.int32(),
            "evidence": pa.map_(pa.string(), _TIME),
            "because": pa.string(),
            "recorded_at": _TIME,
        }
    ),
}

# The lake's record (retable.ledger.lake.identity) is in table properties; a table needs a column.
LAKE = SystemTable(pa.schema({"run": pa.int64()}), ())

_LAYERS = {"bronze": BRONZE, "silver": SILVER, "statements": STATEMENTS, "quarantine": QUARANTINE}


def system_table(name: str) -> SystemTable:
    """Return the definition of a system table by its name, such as `bronze.<source>` or `ops.ledger`.

    Raise NotFound if it is not the name of a system table.
    """
    layer = name.partition(".")[0]
    shape = LAKE if name == LAKE_TABLE else _LAYERS.get(layer) or OPS.get(name)
    if shape is None:
        known = ", ".join([*(f"{k}.<source>" for k in _LAYERS), *OPS])
        raise NotFound(f"{name!r} is not a system table; the system tables are {known}")
    return shape
