"""Count a decoded window: its messages, its events, and the events of each source table."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from retable.model.event import ROW_OPS, TableName
from retable.model.sequence import Sequence

STORED, EXCLUDED, IGNORED, QUARANTINED = "stored", "excluded", "ignored", "quarantined"


class CountKey(NamedTuple):
    """The properties by which events are counted. Events with the same key share one `Count`.

    `outcome` is `stored`, `excluded`, `ignored` or `quarantined`. A message without events has None in the fields that
    are not known. `part` is the Kafka partition in which sequences (positions in the source's log) compare, or "" if
    they compare across all partitions. `grade` is the kind of evidence that the events give (evidence.py).
    """

    outcome: str
    op: str | None
    table: TableName | None
    part: str
    topic: str
    partition: int
    grade: str | None = None


@dataclass(slots=True)
class Count:
    """Counts of events that have the same `CountKey`. `rows` is the number of events.

    `messages` is the number of messages whose first event is counted here. `lowest` and `highest` are the lowest and
    highest sequence of the events. `latest_ms` is their latest source time, in epoch milliseconds.
    """

    rows: int = 0
    messages: int = 0
    lowest: Sequence | None = None
    highest: Sequence | None = None
    latest_ms: int | None = None

    def add(self, first: bool, sequence: Sequence | None, stamp_ms: int | None) -> None:
        """Count one event. `first`: it is the first event of its message. `stamp_ms`: its source time, if known."""
        self.rows += 1
        self.messages += first
        self._reach(sequence, sequence, stamp_ms)

    def join(self, other: "Count") -> None:
        self.rows += other.rows
        self.messages += other.messages
        self._reach(other.lowest, other.highest, other.latest_ms)

    def _reach(self, lowest: Sequence | None, highest: Sequence | None, stamp_ms: int | None) -> None:
        if lowest is not None and (self.lowest is None or lowest < self.lowest):
            self.lowest = lowest
        if highest is not None and (self.highest is None or highest > self.highest):
            self.highest = highest
        if stamp_ms is not None and (self.latest_ms is None or stamp_ms > self.latest_ms):
            self.latest_ms = stamp_ms


Tally = Mapping[CountKey, Count]


def join_tallies(whole: dict[CountKey, Count], more: Tally) -> None:
    """Add the counts `more` to the counts `whole`."""
    for key, count in more.items():
        whole.setdefault(key, Count()).join(count)


@dataclass(frozen=True, slots=True)
class TableTally:
    """The counts of one table in a window.

    `counts` are by name, such as `events` and `rows`. `lowest` and `highest` are the lowest and the highest sequence of
    its events: one for each Kafka partition in which sequences compare, or for "" if they compare in the whole source.
    """

    counts: Counter[str] = field(default_factory=Counter)
    lowest: dict[str, Sequence] = field(default_factory=dict)
    highest: dict[str, Sequence] = field(default_factory=dict)

    def add(self, key: CountKey, count: Count) -> None:
        self.counts.update(_event_counts(key, count))
        if count.lowest is not None and count.highest is not None:
            self.lowest[key.part] = min(count.lowest, self.lowest.get(key.part, count.lowest))
            self.highest[key.part] = max(count.highest, self.highest.get(key.part, count.highest))


def tally_messages(tally: Tally, landed: int) -> dict[str, int]:
    """Return the counts of a window by name, for its row in the ledger.

    `landed` is the number of landed messages, which the tally does not have. Other names are, for example, `decoded`
    and `quarantined` (messages), `events`, and `rows` (row changes). The ledger checks that they add up, as in
    docs/concepts/flow.md.
    """
    counts = Counter({"landed": landed, "decoded": 0, "quarantined": 0, "erased": 0, "events": 0, "rows": 0})
    for key, count in tally.items():
        match key.outcome:
            case str(outcome) if outcome == QUARANTINED:
                counts["quarantined"] += count.rows
            case str(outcome) if outcome == IGNORED:
                counts["ignored:excluded"] += count.rows
            case _:
                counts["decoded"] += count.messages
                counts.update(_event_counts(key, count))
    return dict(counts)


def tally_tables(tally: Tally) -> dict[str, TableTally]:
    """Return the counts of the events of each table, by its name in the source."""
    tables: dict[str, TableTally] = defaultdict(TableTally)
    for key, count in tally.items():
        if key.op is not None and key.table is not None:
            tables[str(key.table)].add(key, count)
    return dict(tables)


def _event_counts(key: CountKey, count: Count) -> dict[str, int]:
    if key.op not in ROW_OPS:
        return {"events": count.rows, f"notes:{key.op}": count.rows}
    excluded = {"excluded": count.rows} if key.outcome == EXCLUDED else {}
    return {"events": count.rows, "rows": count.rows, **excluded}
