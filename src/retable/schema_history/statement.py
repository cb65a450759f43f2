"""DDL statements of a source, and the search for statements that the source delivered twice."""

from dataclasses import dataclass, field

from retable.model.event import TableName
from retable.model.schema_change import SchemaChange
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One schema event (DDL statement) of silver, with the schema changes that it means.

    `part` is its source partition. `table` is the table that the event names. `tx_id` is its transaction, if the source
    names it. A source may send one statement as several events at one position, for example a RENAME of three tables;
    `offset` is then their order. `declares` says that a connector wrote the event for its full copy of the database.
    Such an event does not prove that the connector sends rows of the table: it may name tables that are not captured.
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
    """Finds statements that a source delivered again at another position.

    Two statements are the same if their text, source time and transaction are equal. Another position is possible only
    if positions are offsets of the queue. If positions come from the source database, a statement always has the same
    position.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], Statement] = {}

    def first_of(self, statement: Statement) -> Statement | None:
        """Return the earlier statement that this statement repeats.

        Return None if it repeats no statement, or if this cannot be known.
        """
        if statement.part is None or not statement.text or statement.event_time_ms is None:
            return None
        same = (statement.part, statement.table, statement.text, statement.event_time_ms, statement.tx_id)
        first = self._first.setdefault(same, statement)
        return None if first is statement else first


def doubt(first: Statement, name: TableName) -> str:
    """Return the reason of a hold (stop of a table) at a RENAME that the source delivered again.

    `first` is the earlier delivery of the RENAME. `name` is the old name in it. A table has this name again, so it is
    not known which table the rows with this name belong to.
    """
    return (
        f"this statement repeats the statement at {first.position}; the rows before it may be repeated, too, so it is "
        f"not known which table the name {name} meant in these rows"
    )
