"""Trace all statements of a source in order, including tables that only rows show."""

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
    """Trace statements in the order of their positions. A redelivered statement counts once.

    `known` are tables that exist without a statement, each with the position of its first row (None: before all
    statements). A statement below that position does not know the table, and may give its name to another one.
    `decisions` are the decisions of people.
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
