"""One schema event of silver with what its text means."""

from dataclasses import dataclass, field

from retable.model.event import TableName
from retable.model.schema_change import SchemaChange
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One schema event of silver with what its text means; `tx_id` is the transaction that it was, if the source tells.

    A source may cut one statement into several (a RENAME of three tables), which then stand at one position: there
    `offset` orders them. One that `declares` is of a snapshot, which tells of tables whose rows it may not capture.
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
    """Which statements come again at another position: as one before them, with its text, source time and transaction.

    That is where only the queue tells positions; where the source tells them, a statement has one.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], Statement] = {}

    def first_of(self, statement: Statement) -> Statement | None:
        """The statement that this one is again; None where it is the first, or nothing tells."""
        if statement.part is None or not statement.text or statement.event_time_ms is None:
            return None
        same = (statement.part, statement.table, statement.text, statement.event_time_ms, statement.tx_id)
        first = self._first.setdefault(same, statement)
        return None if first is statement else first


def doubt(first: Statement, name: TableName) -> str:
    """Why nothing goes on at a RENAME that comes again while a table has its old name."""
    return (
        f"the same statement stood at {first.position}: where it comes again, rows before it may have, too, and "
        f"nothing tells which table {name} meant there"
    )
