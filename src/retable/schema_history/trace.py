"""All statements of a source in the order of their positions, and the tables of which only rows tell."""

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
    """Trace statements in the order of their positions. The same statement twice (a redelivery) counts once.

    `known` are tables that are there though no statement made them, each with the position of its first row: a
    statement below that does not know it, and may give the name to another. None: it is there before all statements.
    `decisions` are what people decided.
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
