"""Read one statement in a dialect. If a part is not understood, the whole is Unsupported for the tables in it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from retable.ddl.cursor import Cursor
from retable.ddl.names import Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema_change import MovePartitions, NoChange, RenameTable, SchemaChange, Unsupported

LONGEST_STATEMENT = 200_000
"""Characters, which take about a second to read. A MySQL table with a thousand columns needs half of them."""

C = TypeVar("C", bound=Cursor)
N = TypeVar("N", bound=Names)

_BLANKS = " \t\r\n;\0"


@dataclass(frozen=True, slots=True)
class Context:
    """The message's database and schema, and the table in its fields, which is held if the statement names none."""

    database: str | None
    schema: str | None
    held: TableName | None


@dataclass(frozen=True, slots=True)
class Grammar(Generic[C, N]):
    """How a dialect reads a statement.

    `readings` gives the texts without comments that a server may have executed: one, or several if its version decides.
    `read` reads one statement of such a text.
    """

    readings: Callable[[str], Collection[str]]
    cursor: Callable[[str], C]
    names: Callable[[str | None, str | None, TableName | None], N]
    read: Callable[[C, N], tuple[SchemaChange, ...]]

    def parse(self, statement: str, context: Context) -> tuple[SchemaChange, ...]:
        """Read one statement of a log. If it is not understood, it is Unsupported for the tables that it names."""
        held = context.held
        statement = statement.rstrip("\0")
        if not statement.strip(_BLANKS):
            return (Unsupported(held, "the statement is empty"),)
        if len(statement) > LONGEST_STATEMENT:
            return (_too_long(statement, held),)
        try:
            texts = self.readings(statement)
        except UnsupportedChange as error:
            return (Unsupported(held, error.message),)
        if sum(map(len, texts)) > LONGEST_STATEMENT:
            return (_too_long(statement, held),)
        found = {self._parse_reading(text, context) for text in texts}
        if len(found) > 1:
            return (Unsupported(held, "the meaning of the version comments depends on the server's version"),)
        return found.pop()

    def _parse_reading(self, text: str, context: Context) -> tuple[SchemaChange, ...]:
        names = self.names(context.database, context.schema, context.held)
        try:
            cursor = self.cursor(text)
            if cursor.ended:
                return (NoChange("only a comment"),)
            changes = self._read_only_statement(cursor, names)
            names.check_home(about=1 if any(isinstance(change, RenameTable) for change in changes) else 0)
        except UnsupportedChange as error:
            moves = error.facts.get("moves_partitions") and ";" not in text.rstrip(_BLANKS)
            refused = MovePartitions if moves else Unsupported
            return tuple(refused(table, error.message) for table in names.held or (context.held,))
        return changes

    def _read_only_statement(self, cursor: C, names: N) -> tuple[SchemaChange, ...]:
        """Read a text that must have one statement. If it has several, read all of them to find the tables to hold."""
        changes = self.read(cursor, names)
        several = False
        while not cursor.finish():
            several = True
            cursor.begin_clause()
            self.read(cursor, names)
        if several:
            raise UnsupportedChange("the text contains several statements")
        return changes


def _too_long(statement: str, held: TableName | None) -> Unsupported:
    return Unsupported(
        held, f"the statement has {len(statement)} characters; statements of more than {LONGEST_STATEMENT} are not read"
    )
