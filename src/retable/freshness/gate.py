"""Judge facts, without I/O: is a table complete through a time, and if not, what is the one cause?"""

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
    """Why something is late: a stable code, a reason, and the next step.

    `since` is the source time from which on nothing is proven. `window` and `partition` are those of the cause, if any.
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
    """What blocks a table though the source is proven further.

    `before` are the source's watermarks up to the window before the blocker; they stay valid. `until` is the blocker's
    source time, if gold has all older changes of the table. The table is complete up to it too.
    """

    cause: Cause
    before: Watermarks = field(default_factory=dict)
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stuck:
    """The first window with a stage that is not done, and that stage."""

    window: str
    stage: Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFacts:
    """All facts for a verdict on tables of one source.

    `line` is the source as far as every stage is done; `stuck` the next window, if one is recorded. `recorded` is the
    end of the last recorded window. `ahead` counts, by partition, the stamps of the line's last window that are ahead
    of the clock. `blockers` has every requested table, by gold name. `own` blocks the source itself, and is empty
    unless the whole source was requested. `paused` is why the settings let no new window be recorded. `topic_a_table`:
    each table has its own topic, so a canary row proves only its own table.
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
    """How far something is complete (None: nothing is proven), and the best grade of evidence for it."""

    watermark: datetime | None
    grade: Grade | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether all requested tables are complete through a time. If not, the one cause, of `name`, which lags most."""

    name: str
    through: datetime
    standing: FreshnessStanding
    cause: Cause | None

    @property
    def is_fresh(self) -> bool:
        return self.cause is None

    @property
    def words(self) -> str:
        """The verdict in words. If it is late, the next step follows after `; `."""
        how_far = "nothing is proven yet"
        if self.standing.watermark is not None:
            how_far = f"complete through {format_time(self.standing.watermark)} ({self.standing.grade})"
        if self.cause is None:
            return f"{self.name} is fresh: {how_far}"
        reason = self.cause.reason
        return f"{self.name} is late: {how_far}, not {format_time(self.through)}: {reason}; {self.cause.next_step}"


def judge(facts: Sequence[SourceFacts], through: datetime, lowest: Grade) -> Verdict:
    """Give the verdict on all tables of these facts, and on sources that have no table, or a blocker."""
    asked = [(each, table) for each in facts for table in _names(each)]
    assert asked
    standings = [(standing_of(each, table, lowest), each, table) for each, table in asked]
    standing, worst, table = min(standings, key=lambda found: _order(found[0].watermark))
    late = standing.watermark is None or standing.watermark < through
    cause = cause_of(worst, table, through, lowest) if late else None
    return Verdict(table or worst.source, through, standing, cause)


def standing_of(facts: SourceFacts, table: str | None, lowest: Grade) -> FreshnessStanding:
    """Give how far a table (None: the source, whatever blocks its tables) is complete by a grade or a better one."""
    reached: dict[Grade, datetime] = {}
    for grade in accepted(lowest):
        marks = [facts.line.watermarks.get(grade), *(_stopped(each, grade) for each in _blockers(facts, table))]
        least = min(marks, key=_order)
        if least is not None:
            reached[grade] = least
    best = max(reached.values(), default=None)
    return FreshnessStanding(
        best, next((grade for grade in GRADES if best is not None and reached.get(grade) == best), None)
    )


def cause_of(facts: SourceFacts, table: str | None, through: datetime, lowest: Grade) -> Cause:
    """Give the first cause why a table or a source is not complete through a time: what has to happen first."""
    blocking = [each for each in _blockers(facts, table) if _blocks(facts, each, lowest)]
    if blocking:
        return min(blocking, key=lambda each: _order(_stopped(each, lowest))).cause
    return _cause_of_source(facts, through, lowest)


def other_causes(facts: Sequence[SourceFacts], verdict: Verdict, lowest: Grade) -> list[Cause]:
    """Give all further causes why something of these facts is late, each once, without the cause of the verdict."""
    found: list[Cause] = []
    for each in facts:
        for table in _names(each):
            blocking = [
                one for one in _blockers(each, table) if _order(_stopped(one, lowest)) < _order(verdict.through)
            ]
            found += [one.cause for one in sorted(blocking, key=lambda one: _order(_stopped(one, lowest)))]
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
    return _silent(facts, through, lowest)


def _names(facts: SourceFacts) -> list[str | None]:
    return [*facts.blockers, *([None] if facts.own or not facts.blockers else [])]


def _blockers(facts: SourceFacts, table: str | None) -> Sequence[Blocker]:
    return facts.own if table is None else facts.blockers[table]


def _stopped(blocker: Blocker, grade: Grade) -> datetime | None:
    """The time through which a table with this blocker is complete, if its source is proven so far."""
    return max((at for at in (blocker.before.get(grade), blocker.until) if at is not None), default=None)


def _blocks(facts: SourceFacts, blocker: Blocker, lowest: Grade) -> bool:
    return _order(_stopped(blocker, lowest)) < _order(facts.line.watermarks.get(lowest))


def _order(at: datetime | None) -> tuple[bool, datetime]:
    """No watermark sorts before all watermarks."""
    return at is not None, at or datetime.min.replace(tzinfo=UTC)


# --- words -------------------------------------------------------------------------------------------------------
def format_time(at: datetime | None) -> str:
    """Format a time as ISO 8601 in UTC."""
    if at is None:
        return "nothing"
    return at.astimezone(UTC).isoformat(timespec="milliseconds" if at.microsecond else "seconds").replace("+00:00", "Z")


def _undone(facts: SourceFacts, stuck: Stuck, lowest: Grade) -> Cause:
    done = {"land": "recorded but not landed", "decode": "landed but not decoded", "replay": "decoded but not replayed"}
    return Cause(
        _UNDONE[stuck.stage],
        f"the window {stuck.window} of {facts.source} is {done[stuck.stage]}",
        f"if no run works on it, its stage {stuck.stage} failed: read the log of that task of "
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


def _silent(facts: SourceFacts, through: datetime, lowest: Grade) -> Cause:
    silent = facts.line.silent(lowest, through, facts.ordered)
    *others, last = (grade for grade in accepted(lowest) if grade != "drained")
    kinds = f"{', '.join(others)} or {last}" if others else last
    if not silent:
        return Cause("SILENT", f"no {kinds} of {facts.source} was ever seen", _SPEAK, window=facts.line.window)
    name, since = silent[0]
    when = f"since {format_time(since)}" if since else "since its first message"
    more = f", and the same is true of {len(silent) - 1} more partitions" if len(silent) > 1 else ""
    ahead = facts.ahead.get(name, 0)
    unbelieved = f" ({ahead:,} timestamps in it are ahead of the clock and prove nothing)" if ahead else ""
    return Cause(
        "SILENT",
        f"the partition {name} has no evidence {when}: no {kinds} stamped {format_time(through)} or later"
        f"{more}{unbelieved}",
        _SPEAK_OF_ITS_TABLE if facts.topic_a_table else _SPEAK,
        partition=name,
        window=facts.line.window,
        since=since,
    )


_SPEAK = (
    "the next message of that partition proves it; if the source is quiet, let it update a canary row every minute "
    "(`canary` in the settings), or accept the grade `drained`"
)
_SPEAK_OF_ITS_TABLE = (
    "the next row of that table proves it; if tables are quiet, let the connector send all of them to one topic with "
    "one partition: a canary row every minute then proves all (docs/formats.md), or accept the grade `drained`"
)
