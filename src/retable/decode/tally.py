"""The counts of a decoded window: of its messages, of its events, and of each source table."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from retable.decode.outcome import EXCLUDED, IGNORED, QUARANTINED
from retable.model.event import ROW_OPS, TableName
from retable.model.sequence import Sequence


@dataclass(frozen=True, slots=True)
class Group:
    """Outcomes that are alike: how many events, how many messages begin with one of them, from where to where."""

    outcome: str
    op: str | None
    table: TableName | None
    part: str
    rows: int
    messages: int
    lowest: Sequence | None
    highest: Sequence | None


@dataclass(frozen=True, slots=True)
class TableTally:
    """What a window holds of one table; `lowest` and `highest` by part, "" where sequences compare everywhere."""

    counts: Counter[str] = field(default_factory=Counter)
    lowest: dict[str, Sequence] = field(default_factory=dict)
    highest: dict[str, Sequence] = field(default_factory=dict)

    def add(self, group: Group) -> None:
        self.counts.update(_event_counts(group))
        if group.lowest is not None and group.highest is not None:
            self.lowest[group.part] = min(group.lowest, self.lowest.get(group.part, group.lowest))
            self.highest[group.part] = max(group.highest, self.highest.get(group.part, group.highest))


def tally_messages(groups: Iterable[Group], landed: int) -> dict[str, int]:
    """Count messages and events by the ledger's equations (docs/flow.md)."""
    counts = Counter({"landed": landed, "decoded": 0, "quarantined": 0, "erased": 0, "events": 0, "rows": 0})
    for group in groups:
        match group.outcome:
            case str(outcome) if outcome == QUARANTINED:
                counts["quarantined"] += group.rows
            case str(outcome) if outcome == IGNORED:
                counts["ignored:excluded"] += group.rows
            case _:
                counts["decoded"] += group.messages
                counts.update(_event_counts(group))
    return dict(counts)


def tally_tables(groups: Iterable[Group]) -> dict[str, TableTally]:
    """Count the events of each table, by its source's name."""
    tables: dict[str, TableTally] = defaultdict(TableTally)
    for group in groups:
        if group.op is not None and group.table is not None:
            tables[str(group.table)].add(group)
    return dict(tables)


def _event_counts(group: Group) -> dict[str, int]:
    if group.op not in ROW_OPS:
        return {"events": group.rows, f"notes:{group.op}": group.rows}
    excluded = {"excluded": group.rows} if group.outcome == EXCLUDED else {}
    return {"events": group.rows, "rows": group.rows, **excluded}
