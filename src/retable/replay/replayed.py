"""The result of a run."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from retable.replay.inputs.plan import Tables
from retable.replay.references.suspects import Suspect
from retable.replay.table.table_replay import ReplayResult
from retable.schema_history.statement import Statement


@dataclass(frozen=True, slots=True)
class Replayed:
    """The result of a run, for every table that it looked at.

    `silver` is the content of the window in silver; a rebuild, which replays only one table, has none.
    """

    window: str
    silver: str | None
    tables: Tables
    statements: Mapping[Statement, str]
    results: list[ReplayResult]
    suspects: list[Suspect] = field(default_factory=list)
