"""One schema event of silver, with its meaning."""

from dataclasses import dataclass, field

from retable.model.event import TableName
from retable.model.schema_change import SchemaChange
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One schema event of silver, with its meaning. `tx_id` is its transaction, if the source gives it.

    A source may cut one statement into several (a RENAME of three tables) at one position. `offset` orders them.
    `declares`: it is of a baseline, which also shows tables whose rows it may not capture.
    """

    position: Sequence
    part: str | None
    table: TableName | None
    text: str
    changes: tuple[SchemaChange, ...]
    event_time_ms: int | None = None
    tx_id: str | None = None
    offset: int = field(default=0, compare=False)
    declares: bool = field(default=False, compare=False)


class Redelivered:
    """Find statements that are delivered again at another position, with equal text, source time and transaction.

    This happens only if positions come from the queue. If they come from the source, a statement has one position.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], Statement] = {}

    def first_of(self, statement: Statement) -> Statement | None:
        """Give the earlier statement that this one repeats; None if it is the first, or if it is unknown."""
        if statement.part is None or not statement.text or statement.event_time_ms is None:
            return None
        same = (statement.part, statement.table, statement.text, statement.event_time_ms, statement.tx_id)
        first = self._first.setdefault(same, statement)
        return None if first is statement else first


def doubt(first: Statement, name: TableName) -> str:
    """Say why the table stops at a repeated RENAME while a table has the old name."""
    return (
        f"the same statement is also at {first.position}; rows before the repeated statement may be repeated too, and "
        f"it is not known which table {name} meant there"
    )
