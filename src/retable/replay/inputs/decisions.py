"""The decisions of people about a source's statements and rows, as the lake stores them."""

from datetime import datetime
from typing import cast

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_decisions
from retable.ledger.rows import DecisionRow
from retable.model.sequence import parse_sequence
from retable.schema_history.decisions import Decision, DecisionKind


def decisions_of(lake: Lake, source: str) -> tuple[Decision, ...]:
    """Return the decisions of people about one source, oldest first."""
    return tuple(
        Decision(
            row.identity,
            parse_sequence(row.position),
            row.part or None,
            cast(DecisionKind, row.decision),
            row.statement,
        )
        for row in read_decisions(lake, source)
    )


def decision_row(source: str, decision: Decision, now: datetime) -> DecisionRow:
    place = (str(decision.position), decision.part or "")
    return DecisionRow(source, decision.identity, *place, decision.kind, decision.statement, now)
