"""Read one DDL statement with the grammar of a dialect.

If any clause is not understood, the whole statement is Unsupported for each table that it names.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Generic, TypeVar

from retable.ddl.cursor import Cursor
from retable.ddl.names import Names
from retable.errors import UnsupportedChange
from retable.model.event import TableName
from retable.model.schema_change import MovePartitions, NoChange, RenameTable, SchemaChange, Unsupported

LONGEST_STATEMENT = 200_000
"""The maximum length of a statement in characters. Retable reads this length in about a second. The CREATE TABLE of a
MySQL table with a thousand columns has half this length."""

C = TypeVar("C", bound=Cursor)
N = TypeVar("N", bound=Names)

_BLANKS = " \t\r\n;\0"


@dataclass(frozen=True, slots=True)
class Context:
    """The database and schema that the message of a statement names.

    `held` is the table of the message. Replay holds (stops) it if the statement is not understood and names no table.
    """

    database: str | None
    schema: str | None
    held: TableName | None


@dataclass(frozen=True, slots=True)
class Grammar(Generic[C, N]):
    """The functions with which a dialect reads a statement.

    - `readings` returns a statement without comments. It returns several texts if the statement has comments that only
      some versions of the server execute.
    - `cursor` returns a cursor, which reads a text word by word.
    - `names` returns the reader of table names. Its arguments are the database, schema and table of the message.
    - `read` reads one statement with a cursor and a reader of names, and returns its schema changes.
    """

    readings: Callable[[str], Collection[str]]
    cursor: Callable[[str], C]
    names: Callable[[str | None, str | None, TableName | None], N]
    read: Callable[[C, N], tuple[SchemaChange, ...]]

    def parse(self, statement: str, context: Context) -> tuple[SchemaChange, ...]:
        """Return the schema changes that a statement means. `context` is what its message names.

        If the statement is not understood, the result is Unsupported for each table that it names, or MovePartitions
        if the statement moves partitions with their rows.
        """
        held = context.held
        statement = statement.rstrip("\0")
        if not statement.strip(_BLANKS):
            return (Unsupported(held, "the text of the statement is empty"),)
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
            return (
                Unsupported(
                    held,
                    "the meaning of the statement depends on which of its version comments (`/*!… */`) the server "
                    "executed; write the statement without such comments with `retable hold release --as`",
                ),
            )
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
        """Read a text that must contain one statement.

        If it contains several statements, read all of them to find the tables to hold, then raise UnsupportedChange.
        """
        changes = self.read(cursor, names)
        several = False
        while not cursor.finish():
            several = True
            cursor.begin_clause()
            self.read(cursor, names)
        if several:
            raise UnsupportedChange(
                "the text contains several statements, and Retable reads only one statement per message"
            )
        return changes


def _too_long(statement: str, held: TableName | None) -> Unsupported:
    return Unsupported(
        held, f"the statement has {len(statement)} characters; Retable reads at most {LONGEST_STATEMENT} characters"
    )
