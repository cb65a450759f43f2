"""The rows of the ops tables as frozen dataclasses, and the report of a stage (land, decode or replay)."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from retable.model.event import TableName
from retable.model.evidence import Grade

Stage = Literal["land", "decode", "replay"]
TableState = Literal["live", "held", "dropped"]
SuspectState = Literal["open", "settled", "accepted"]
RecordedChangeStatus = Literal["applied", "nothing", "refused", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """What a stage did with a window. If `table` is set, the row is only about this table in the window.

    `table` is a gold name for a replay, and a name in the source for a decode. `lowest` and `highest` are the first and
    the last sequence (position in the source's log) of the rows, as text, by Kafka partition. If sequences can be
    compared across all partitions, the only key is "". `identity` is the version of the decoder for a decode of a whole
    window, and the digest of the window's content in silver for a replay. `cut` is the first window whose consistent
    cut contains what a replay wrote. It is None if an older Retable wrote the row.

    One row may stand for `count` consecutive windows without messages. Then `first` is the first of them, and `window`
    is the last. The functions of `read` return a separate row for each window.
    """

    source: str
    window: str
    stage: Stage
    table: str | None
    counts: dict[str, int]
    lowest: dict[str, str]
    highest: dict[str, str]
    snapshot_id: int | None
    identity: str | None
    run_id: str
    seconds: float
    bytes: int
    recorded_at: datetime
    first: str | None = None
    count: int | None = None
    cut: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaChangeRow:
    """A DDL statement and what a replay did with it.

    `identity` is the ID of the gold table. `position` is the sequence of the statement (its position in the source's
    log) as text, and `part` is its Kafka partition. `meaning` is the parsed statement as JSON text. `columns` are the
    field IDs of the columns after the statement, by column name, as JSON text.
    """

    source: str
    identity: str
    table: str
    position: str
    part: str
    event_time_ms: int | None
    window: str
    statement: str
    meaning: str
    status: RecordedChangeStatus
    reason: str | None
    columns: str | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRow:
    """The Iceberg snapshot of one gold table in the consistent cut (the state of all gold tables) after a window.

    `table` is the gold name, and `identity` is the ID of the table. If the cut of a window is recorded again, the new
    rows have a higher `revision`.
    """

    source: str
    window: str
    revision: int
    table: str
    identity: str
    snapshot_id: int | None
    state: TableState
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRow:
    """A gold table: its name in gold, its name in the source, and its state.

    `identity` is the ID of the table, which a rename does not change. If the state is `held`, `hold` says at which
    change the table stopped, and why, as JSON text. `first_window` is the first window with a row of the table.
    `lowest` is the lowest sequence in that window, as text, by Kafka partition. Both are None if an older Retable wrote
    the row.
    """

    source: str
    identity: str
    gold: str
    database: str
    schema: str | None
    table: str
    state: TableState
    hold: str | None
    recorded_at: datetime
    first_window: str | None = None
    lowest: dict[str, str] | None = None

    @property
    def name(self) -> TableName:
        """The table's name in its source. If several source tables go into it, this is the name in the settings."""
        return TableName(self.database, self.schema, self.table)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """An action: what a person or Retable itself (`who`) did, to what (`target`), and why."""

    source: str
    action: str
    target: str
    reason: str
    who: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A person's decision about a statement or a row of one table: `skip`, `replace` (by `statement`) or `approve`.

    `identity` is the ID of the table. `position` is the sequence of the statement or row, as text, and `part` is its
    Kafka partition. Every later replay, rebuild and verification applies the decision. `ops.actions` records who
    decided, and why.
    """

    source: str
    identity: str
    position: str
    part: str
    decision: str
    statement: str | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    """The schema of a source table, from a schema dump that a person imported.

    `position` is the sequence from which on the schema is valid, as text. If two rows have the same table and position,
    the newer row counts. `meaning` is JSON text with the columns, in order, and the key. `statement` is the text of the
    dump. `origin` says where the dump came from.
    """

    source: str
    database: str
    schema: str | None
    table: str
    position: str
    dialect: str
    statement: str
    meaning: str
    origin: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineRow:
    """One piece of a baseline (a full copy of a table). The rows of the piece are in silver.

    They are in the window `window`, a name that no real window has. `position` is the sequence at which the copy was
    taken, as text. The pieces count only after the `last` piece is written. `piece` is the number of the piece, from 0.
    `dump` is a digest of the copy from which the rows were read; with it, another run can continue an unfinished
    baseline.
    """

    source: str
    database: str
    schema: str | None
    table: str
    position: str
    part: str
    dump: str
    piece: int
    window: str
    rows: int
    last: bool
    origin: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectRow:
    """Rows of a gold table that its source cannot have any more, because a foreign key deleted or changed them.

    A foreign key of MySQL or MariaDB with CASCADE or SET NULL does this without an event in the log. `window`,
    `position` and `part` belong to the change of the parent row, or to the first of several such changes. `columns` are
    the columns of the foreign key. `lost` describes the values that the parent no longer has. Both are JSON text. The
    state is `settled` if gold has no such row any more, and `accepted` if a person confirmed that the rows are right.
    `ops.actions` has that person's reason.
    """

    source: str
    identity: str
    table: str
    columns: str
    constraint: str
    window: str
    position: str
    part: str
    rows: int
    lost: str
    state: SuspectState
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """The evidence of a decoded window for one Kafka partition: the latest source timestamp of each kind.

    The kinds (grades) are `heartbeat`, `canary` and `row`. `epoch` is the source epoch in the settings. `ahead` is the
    number of timestamps that are later than the clock of the run. Such timestamps are not evidence.
    """

    source: str
    window: str
    topic: str
    partition: int
    epoch: int
    heartbeat: datetime | None
    canary: datetime | None
    row: datetime | None
    ahead: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkRow:
    """A watermark record: the source time up to which a source or a gold table is complete.

    `watermark` is that time, or None if no time is proven. It is proven by evidence of at least this `grade` (kind of
    evidence) in the windows up to `window`. If `table` is None, the record is about the source. Such a record ignores
    what blocks single tables, and has in `evidence` the latest timestamp of each Kafka partition. There is one for each
    grade and replayed window. If `table` is set, it is a gold name. Then `because` says what blocks the table; it is
    None if nothing does. `epoch` is the source epoch.
    """

    source: str
    table: str | None
    grade: Grade
    window: str
    watermark: datetime | None
    epoch: int
    evidence: dict[str, datetime | None]
    because: str | None
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepRow:
    """What upkeep (compaction and cleaning) did with one table in a run.

    `before`, `after` and `done` are counts by name. `before` and `after` describe the table, such as its number of
    files. `done` describes the work. `source` is None for the ops tables.
    """

    source: str | None
    table: str
    before: dict[str, int]
    after: dict[str, int]
    done: dict[str, int]
    run_id: str
    seconds: float
    recorded_at: datetime


OpsRow = (
    LedgerRow
    | SchemaChangeRow
    | CutRow
    | TableRow
    | ActionRow
    | DecisionRow
    | ImportRow
    | BaselineRow
    | SuspectRow
    | EvidenceRow
    | WatermarkRow
    | UpkeepRow
)

OPS_TABLES: dict[type[OpsRow], str] = {
    LedgerRow: "ops.ledger",
    SchemaChangeRow: "ops.schema_changes",
    CutRow: "ops.cuts",
    TableRow: "ops.tables",
    ActionRow: "ops.actions",
    DecisionRow: "ops.decisions",
    ImportRow: "ops.imports",
    BaselineRow: "ops.baselines",
    SuspectRow: "ops.suspects",
    EvidenceRow: "ops.evidence",
    WatermarkRow: "ops.watermarks",
    UpkeepRow: "ops.upkeep",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReport:
    """The result of one run of a stage (land, decode or replay) on one window.

    `tables` has the counts of each table. `held` has the names of tables that are stopped (held). `wrote` is False if
    the window was already done with the same content, so nothing was written. A setting can make gold keep a column
    that a statement dropped, renamed or changed. `kept_columns` has one text for each such statement, which names the
    table and the columns.
    """

    source: str
    window: str
    stage: Stage
    counts: dict[str, int]
    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    wrote: bool = True
    held: tuple[str, ...] = ()
    seconds: float = 0.0
    kept_columns: tuple[str, ...] = ()
