"""The rows of the ops tables as frozen dataclasses, and the report of a stage."""

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
    """What a stage did with a window, or with one table of it if `table` (its gold name) is set.

    `lowest` and `highest` give the first and last sequence as text, by part ("" if the sequence compares across the
    stream). `identity` names what was applied; for a decoded window, the version of the decoder. A row is a report: a
    decision that the table's own metadata can answer does not read it. A row with `first` and `count` describes that
    many consecutive windows, the last of which is `window`; readers get a row for each of them. `cut` is the first
    window whose cut contains what a replay wrote; None if an older Retable wrote the row.
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
    """A DDL statement and its result.

    `identity` is that of the gold table, `position` the sequence as text. `meaning` is the parsed statement, and
    `columns` the map of names to field ids after it, both as JSON text.
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
    """The snapshot of one gold table in a consistent cut; a late window writes a higher `revision`."""

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
    """A gold table: its name, the source's spelling, its state; `hold` is JSON text, or None.

    `first_window` is the first window with a row of the table, and `lowest` gives the lowest sequence there of each
    partition, as text; None if an older Retable wrote the row.
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
        """The table as its source spells it, or as the settings name it if several source tables go into it."""
        return TableName(self.database, self.schema, self.table)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """A manual action of a person: what was done, to what, and why."""

    source: str
    action: str
    target: str
    reason: str
    who: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A person's decision about a statement or a row of one table: `skip`, `replace` (by `statement`) or `approve`.

    Every later replay, rebuild and verification applies it; `ops.actions` has who decided, and why.
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
    """A table of a source as a schema dump showed it at a position; of two rows at one position the newer counts.

    `meaning` is JSON text: the table's columns in order and its key. `statement` is the text of the dump, `origin` says
    where the dump came from. Every later tracing of the schema reads it.
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
    """A piece of a baseline in silver under the name `window`; none of the pieces counts before the `last` one.

    `piece` counts from 0; `dump` is a digest of what the rows were read from, so that another run can continue.
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

    `window`, `position` and `part` are those of the parent's change, the first one if there are several. `columns` are
    the referring columns and `lost` the values that they refer to, both as JSON text. `settled`: no such row is left;
    `accepted`: a person said that the rows are right, for the reason in `ops.actions`.
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
    """The evidence of a decoded window for one partition of the queue: the latest stamp of each grade, in source time.

    `epoch` is the source epoch of the settings. `ahead` counts the stamps ahead of the clock, which are no evidence.
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
    """A watermark record: evidence of at least `grade`, up to `window`, proves that all before `watermark` is there.

    With `table` None it is the record of the source, whatever blocks single tables, and `evidence` gives the latest
    stamp of each partition; there is one row for each grade and replayed window. The record of a table has its gold
    name and, in `because`, what blocks it.
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
    """What upkeep did with one table: its state before and after, and what was `done`, each as counts by name.

    `source` is None for the tables of ops.
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
    """The result of one run of a stage on one window; `tables` has the counts of each table, `held` the held tables.

    `wrote` is False if everything was there already.
    """

    source: str
    window: str
    stage: Stage
    counts: dict[str, int]
    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    wrote: bool = True
    held: tuple[str, ...] = ()
    seconds: float = 0.0
