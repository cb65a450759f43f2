"""One schema event of silver with what its text means."""

from dataclasses import dataclass, field

from retable.model.event import TableName
from retable.model.schema_change import SchemaChange
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Statement:
    """One schema event of silver with what its text means.

    A source may cut one statement into several (a RENAME of three tables), which then stand at one position: there
    `offset` orders them.
    """

    position: Sequence
    part: str | None
    table: TableName | None
    text: str
    changes: tuple[SchemaChange, ...]
    event_time_ms: int | None = None
    offset: int = field(default=0, compare=False)
