"""Decides, without I/O, whether a table is complete through a source time, and if not, what the main cause is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from retable.freshness.watermark import SourceLine, Watermarks
from retable.ledger.rows import Stage
from retable.model.evidence import GRADES, Grade, accepted

CauseCode = Literal[
    "UNKNOWN_TABLE",
    "RETIRED",
    "LEFT_OUT",
    "LOST",
    "BASELINE",
    "MAIN_MOVED",
    "MOVED",
    "HELD",
    "SUSPECT",
    "PENDING",
    "QUARANTINED",
    "NOT_LANDED",
    "NOT_DECODED",
    "NOT_REPLAYED",
    "NOT_RECORDED",
    "PAUSED",
    "SILENT",
]
_UNDONE: Mapping[Stage, CauseCode] = {"land": "NOT_LANDED", "decode": "NOT_DECODED", "replay": "NOT_REPLAYED"}


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a table or a source is not complete: a fixed code, a reason in words, and the next step for a person.

    `table` (a gold name), `partition` (as `topic/0`) and `window` say where the cause is; each is None if the cause is
    not limited to it. After the source time `since`, nothing is proven; it is None if this time is not known.
    """

    code: CauseCode
    reason: str
    next_step: str
    table: str | None = None
    partition: str | None = None
    window: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Blocker:
    """A cause that stops the watermark of one table, although the watermark of the table's source may be later.

    `before` has, by grade, the source's watermarks after the last window that is not blocked. The table is complete
    through these watermarks. `before` is empty if all windows are blocked. The time of the first change that gold lacks
    is not used: changes that follow it may be older, in another partition or in a long transaction.
    """

    cause: Cause
    before: Watermarks = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stuck:
    """The first window of a source that is not fully processed, and its first stage that is not done."""

    window: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """All facts for a verdict on tables of one source.

    - `line`: how far the source is replayed: its last window whose stages are all done, and the time that the messages
      up to this window prove.
    - `stuck`: the window after it, if that is recorded. `recorded`: the end of the last recorded window.
    - `ordered`: whether the evidence of one Kafka partition counts for all partitions.
    - `ahead`: for each partition, how many timestamps in the window of `line` are ahead of the clock.
    - `blockers`: the blockers of every requested table, by gold name.
    - `own`: the blockers of the source itself; empty unless the whole source was requested.
    - `paused`: why the settings pause the source; None if they do not.
    - `topic_a_table`: whether each table has its own topic, so that a canary row proves only its own table.
    """

    source: str
    line: SourceLine
    ordered: bool
    stuck: Stuck | None = None
    recorded: datetime | None = None
    ahead: Mapping[str, int] = field(default_factory=dict)
    blockers: Mapping[str, Sequence[Blocker]] = field(default_factory=dict)
    own: Sequence[Blocker] = ()
    paused: str | None = None
    topic_a_table: bool = False


@dataclass(frozen=True, slots=True)
class FreshnessStanding:
    """The source time through which a table or a source is complete, and the best grade of the evidence for this time.

    If nothing is proven, both are None.
    """

    watermark: datetime | None
    grade: Grade | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to the question whether all requested tables are complete through the source time `through`.

    `name` is the table or source with the earliest watermark, and `standing` has this watermark. `cause` says why it is
    earlier than `through`; it is None if all tables are complete.
    """

    name: str
    through: datetime
    standing: FreshnessStanding
    cause: Cause | None

    @property
    def is_fresh(self) -> bool:
        """Whether all requested tables are complete through the time."""
        return self.cause is None

    @property
    def words(self) -> str:
        """The verdict as a sentence. If a table is late, it ends with the reason, `; ` and the next step."""
        how_far = "nothing is proven yet"
        if self.standing.watermark is not None:
            how_far = f"complete through {format_time(self.standing.watermark)} ({self.standing.grade})"
        if self.cause is None:
            return f"{self.name} is fresh: {how_far}"
        reason = self.cause.reason
        return f"{self.name} is late: {how_far}, not {format_time(self.through)}: {reason}; {self.cause.next_step}"


def judge(facts: Sequence[SourceFacts], through: datetime, lowest: Grade) -> Verdict:
    """Return one verdict on all tables in `facts`: that of the table with the earliest watermark.

    A source as a whole is judged like a table if its facts have no table, or if the source itself has a blocker
    (`SourceFacts.own`). `through` is the source time up to which the tables must be complete. `lowest` is the lowest
    grade of evidence that counts.
    """
    asked = [(each, table) for each in facts for table in _names(each)]
    assert asked
    standings = [(standing_of(each, table, lowest), each, table) for each, table in asked]
    standing, worst, table = min(standings, key=lambda found: _order(found[0].watermark))
    late = standing.watermark is None or standing.watermark < through
    cause = cause_of(worst, table, through, lowest) if late else None
    return Verdict(table or worst.source, through, standing, cause)


def standing_of(facts: SourceFacts, table: str | None, lowest: Grade) -> FreshnessStanding:
    """Return how far a table is complete by evidence of the grade `lowest` or a better grade.

    If `table` is None, return how far the source is complete. The blockers of its tables do not count then.
    """
    reached: dict[Grade, datetime] = {}
    for grade in accepted(lowest):
        marks = [facts.line.watermarks.get(grade), *(each.before.get(grade) for each in _blockers(facts, table))]
        least = min(marks, key=_order)
        if least is not None:
            reached[grade] = least
    best = max(reached.values(), default=None)
    return FreshnessStanding(
        best, next((grade for grade in GRADES if best is not None and reached.get(grade) == best), None)
    )


def cause_of(facts: SourceFacts, table: str | None, through: datetime, lowest: Grade) -> Cause:
    """Return the main cause why a table is not complete through a time: the cause that must be removed first.

    If `table` is None, it is the cause for the source itself. `lowest` is the lowest grade of evidence that counts.
    """
    blocking = [each for each in _blockers(facts, table) if _blocks(facts, each, lowest)]
    if blocking:
        return min(blocking, key=lambda each: _order(each.before.get(lowest))).cause
    return _cause_of_source(facts, through, lowest)


def other_causes(facts: Sequence[SourceFacts], verdict: Verdict, lowest: Grade) -> list[Cause]:
    """Return all other causes why tables or sources in `facts` are late, each once, without the verdict's cause."""
    found: list[Cause] = []
    for each in facts:
        for table in _names(each):
            blocking = [
                one for one in _blockers(each, table) if _order(one.before.get(lowest)) < _order(verdict.through)
            ]
            found += [one.cause for one in sorted(blocking, key=lambda one: _order(one.before.get(lowest)))]
        if _order(each.line.watermarks.get(lowest)) < _order(verdict.through):
            found.append(_cause_of_source(each, verdict.through, lowest))
    return [cause for cause in dict.fromkeys(found) if cause != verdict.cause]


def _cause_of_source(facts: SourceFacts, through: datetime, lowest: Grade) -> Cause:
    if facts.stuck is not None:
        return _undone(facts, facts.stuck, lowest)
    if facts.paused is not None:
        return _paused(facts, facts.paused)
    if facts.recorded is None or facts.recorded < through:
        return _not_recorded(facts)
    return _closed_early(facts) if lowest == "drained" else _silent(facts, through, lowest)


def _names(facts: SourceFacts) -> list[str | None]:
    return [*facts.blockers, *([None] if facts.own or not facts.blockers else [])]


def _blockers(facts: SourceFacts, table: str | None) -> Sequence[Blocker]:
    return facts.own if table is None else facts.blockers[table]


def _blocks(facts: SourceFacts, blocker: Blocker, lowest: Grade) -> bool:
    return _order(blocker.before.get(lowest)) < _order(facts.line.watermarks.get(lowest))


def _order(at: datetime | None) -> tuple[bool, datetime]:
    """Return a sort key. None, which means no watermark, comes before all watermarks."""
    return at is not None, at or datetime.min.replace(tzinfo=UTC)


# --- words -------------------------------------------------------------------------------------------------------
def format_time(at: datetime | None) -> str:
    """Format a time as ISO 8601 in UTC. None becomes `nothing`."""
    if at is None:
        return "nothing"
    return at.astimezone(UTC).isoformat(timespec="milliseconds" if at.microsecond else "seconds").replace("+00:00", "Z")


def _undone(facts: SourceFacts, stuck: Stuck, lowest: Grade) -> Cause:
    done = {"land": "recorded but not landed", "decode": "landed but not decoded", "replay": "decoded but not replayed"}
    return Cause(
        _UNDONE[stuck.stage],
        f"the window {stuck.window} of {facts.source} is {done[stuck.stage]}",
        f"if no run works on the window, its stage {stuck.stage} failed: read the log of that task of "
        f"replay_changes__{facts.source}, or `retable run {facts.source}`",
        window=stuck.window,
        since=facts.line.watermarks.get(lowest),
    )


def _paused(facts: SourceFacts, why: str) -> Cause:
    return Cause(
        "PAUSED",
        f"the settings pause {facts.source}: {why}",
        f"remove `paused` from sources.{facts.source}, then `retable run {facts.source}`, or clear the skipped runs of "
        f"replay_changes__{facts.source}",
        window=facts.line.window,
        since=facts.recorded,
    )


def _not_recorded(facts: SourceFacts) -> Cause:
    what = f"no window of {facts.source} was ever recorded"
    if facts.recorded:
        what = f"the last window of {facts.source} ends at {format_time(facts.recorded)}"
    return Cause(
        "NOT_RECORDED",
        f"the data of that time has not landed yet: {what}",
        f"the next run of replay_changes__{facts.source}, or `retable run {facts.source}`, records what has arrived",
        window=facts.line.window,
        since=facts.recorded,
    )


def _closed_early(facts: SourceFacts) -> Cause:
    return Cause(
        "NOT_RECORDED",
        f"the window {facts.line.window} of {facts.source} was recorded before its end, "
        f"{format_time(facts.recorded)}, so messages of that time may still arrive",
        f"the next window contains them: `retable run {facts.source}` records it after that time",
        window=facts.line.window,
        since=facts.line.watermarks.get("drained"),
    )


def _silent(facts: SourceFacts, through: datetime, lowest: Grade) -> Cause:
    silent = facts.line.silent(lowest, through, facts.ordered)
    *others, last = (grade for grade in accepted(lowest) if grade != "drained")
    kinds = f"{', '.join(others)} or {last}" if others else last
    if not silent:
        reason = f"no {kinds} of {facts.source} has arrived yet"
        return Cause("SILENT", reason, _speak(facts, through), window=facts.line.window)
    name, since = silent[0]
    when = f"since {format_time(since)}" if since else "since its first message"
    more = f", and the same is true of {len(silent) - 1} more partitions" if len(silent) > 1 else ""
    ahead = facts.ahead.get(name, 0)
    unbelieved = f" ({ahead:,} timestamps in this partition are ahead of the clock and prove nothing)" if ahead else ""
    return Cause(
        "SILENT",
        f"the partition {name} has no evidence {when}: no {kinds} with the time {format_time(through)} or later"
        f"{more}{unbelieved}",
        _speak(facts, through),
        partition=name,
        window=facts.line.window,
        since=since,
    )


def _speak(facts: SourceFacts, through: datetime) -> str:
    """Return the next step for a source without evidence. It names the grade `drained` only if this grade suffices."""
    words = (
        "wait for the next message of that partition; if the source seldom changes, let it update a canary row every "
        "minute (`canary` in the settings)"
    )
    if facts.topic_a_table:
        words = (
            "wait for the next row of that table; if tables seldom change, let the connector send all of them to one "
            "topic with one partition: a canary row every minute then proves all"
        )
    drained = facts.line.watermarks.get("drained")
    return words if drained is None or drained < through else f"{words}, or accept the grade `drained`"
