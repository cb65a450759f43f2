"""What people decided about a source's statements and rows, as the lake keeps it."""

from datetime import datetime
from typing import cast

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_decisions
from retable.ledger.rows import DecisionRow
from retable.model.sequence import parse_sequence
from retable.schema_history.rulings import Ruling, RulingKind


def read_rulings(lake: Lake, source: str) -> tuple[Ruling, ...]:
    """The rulings of a source, oldest first."""
    return tuple(
        Ruling(
            row.identity, parse_sequence(row.position), row.part or None, cast(RulingKind, row.decision), row.statement
        )
        for row in read_decisions(lake, source)
    )


def ruling_row(source: str, ruling: Ruling, now: datetime) -> DecisionRow:
    place = (str(ruling.position), ruling.part or "")
    return DecisionRow(source, ruling.identity, *place, ruling.kind, ruling.statement, now)
