"""The result of a replay run, which is not recorded yet."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from retable.replay.inputs.plan import Tables
from retable.replay.references.suspects import Suspect
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a replay run for every table that it replayed.

    `silver` identifies the content of the window in silver. It is None for a rebuild, which replays only one table.
    `statements` has the window of each statement. `suspects` are rows of gold that the source cannot have any more.
    """

    window: str
    silver: str | None
    tables: Tables
    statements: Mapping[Statement, str]
    results: list[ReplayResult]
    suspects: list[Suspect] = field(default_factory=list)
