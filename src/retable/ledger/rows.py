"""What the ops tables hold, one frozen row each, and what a stage reports."""

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
    """What a stage did with a window; with `table` set, with one table of it (its gold name).

    `lowest` and `highest` give, by part ("" where the sequence compares across the stream), the first and last
    sequence as text. `identity` says what was applied; of a decoded window, by which version of the decoder. A row is a
    report: no decision reads it that the table's own metadata can answer. One that is stored with `first` and `count`
    says the same of so many windows in a row, the last of which is `window`; readers get a row for each of them. `cut`
    is the first window whose cut holds what a replay left; None where an older Retable wrote it.
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
    """A DDL statement and what became of it.

    `identity` is the gold table's own, `position` the sequence as text. `meaning` is what the statement meant, and
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

    `first_window` is the first window with a row of it, and `lowest` gives its lowest sequence of each partition, as
    text; None: an older Retable did not say it.
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
        """The table as its source spells it, or as the settings name one that several go into."""
        return TableName(self.database, self.schema, self.table)


@dataclass(frozen=True, slots=True)
class ActionRow:
    """What a person did by hand, to what, and why."""

    source: str
    action: str
    target: str
    reason: str
    who: str
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """What a person decided about a statement or a row of one table: `skip`, `replace` (by `statement`) or `approve`.

    Every later replay, rebuild and verification takes it into account; who and why is in `ops.actions`.
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
    """A table of a source as a dump of its schema showed it at a position; of two at one position the newer counts.

    `meaning` is JSON text: the table's columns in order and its key. `statement` is what the dump says itself, `origin`
    where it came from. Every later tracing reads it.
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
    """A piece of a baseline that stands in silver under the name `window`; the `last` one makes all of them count.

    `piece` counts from 0, `dump` digests what the rows were read from, so that a run again goes on where one ended.
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
    """Rows of a gold table that its source cannot have any more, as a foreign key took what they refer to.

    `window`, `position` and `part` are those of the parent's change, the first of several; `columns`, by which the rows
    refer, and `lost`, the values to which they do, are JSON text. `settled`: no such row is left; `accepted`: a person
    said that they are right, and `ops.actions` has the reason.
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
    """What a decoded window proves of one partition of the queue: the latest stamp of each grade, in source time.

    `epoch` is the source epoch of the settings. `ahead` counts the stamps that lie ahead of the clock: no evidence.
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
    """A promise: by evidence of at least this `grade`, and of nothing behind `window`, all before `watermark` is there.

    With `table` None it is the source's, whatever stands in the way of single tables, and `evidence` gives the latest
    stamp of each partition; there is one row for each grade and replayed window. A table's has its gold name and, in
    `because`, what stands in the way.
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
    """What upkeep did with one table: how it was before and after, and what was `done`, each as counts by name.

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
    """What one run of a stage did to one window; `tables` has the counts of each table, `held` names the held ones.

    `wrote` is False where everything was there already.
    """

    source: str
    window: str
    stage: Stage
    counts: dict[str, int]
    tables: dict[str, dict[str, int]] = field(default_factory=dict)
    wrote: bool = True
    held: tuple[str, ...] = ()
    seconds: float = 0.0
