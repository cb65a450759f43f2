"""Apply all DDL statements of a source in order, to get the histories of its tables."""

from collections.abc import Iterable, Mapping

from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.schema_history.columns import SchemaRules
from retable.schema_history.decisions import Decision
from retable.schema_history.statement import Statement
from retable.schema_history.timeline import Timeline
from retable.schema_history.traced import InferredColumn


def trace(
    statements: Iterable[Statement],
    dialect: SchemaRules,
    inferred: Iterable[InferredColumn] = (),
    known: Mapping[TableName, Sequence | None] | None = None,
    decisions: Iterable[Decision] = (),
) -> Timeline:
    """Apply DDL statements in the order of their positions. A repeated statement is applied once.

    Return the timeline, which has the histories of the tables.

    `known` are tables that have rows but perhaps no CREATE TABLE, each with the position of its first row. If no
    table has the name at this position, a table begins there, and statements below the position do not affect it. If
    the position is None, the table exists before all statements. `inferred` are undeclared columns of row images.
    `decisions` are decisions of people about statements and rows.
    """
    known = known or {}
    timeline = Timeline(dialect, inferred, [name for name, first in known.items() if first is None], decisions)
    waiting = sorted(((first, str(name), name) for name, first in known.items() if first is not None), reverse=True)
    seen: set[tuple[Sequence, str | None, TableName | None, str]] = set()
    for statement in sorted(statements, key=lambda s: (s.position, s.part or "", s.offset)):
        while waiting and waiting[-1][0] < statement.position:
            first, _, name = waiting.pop()
            timeline.owner(name, first)
        same = (statement.position, statement.part, statement.table, statement.text)
        if same not in seen:
            seen.add(same)
            timeline.apply(statement)
    for first, _, name in reversed(waiting):
        timeline.owner(name, first)
    return timeline
