"""The result of a replay run, before `RunRecord` records it in the ledger."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from retable.replay.inputs.plan import Tables
from retable.replay.references.suspects import Suspect
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay run for every table that it replayed, before it is recorded.

    `window` is the replayed window or, for a rebuild, the newest replayed one. `silver` is a digest of the window's
    content in silver; it is None for a rebuild, which replays only one table. `tables` are the schema histories of all
    tables. `statements` has the window of each statement. `suspects` are rows of gold that the source cannot have any
    more, because it deleted rows that they refer to.
    """

    window: str
    silver: str | None
    tables: Tables
    statements: Mapping[Statement, str]
    results: list[ReplayResult]
    suspects: list[Suspect] = field(default_factory=list)
