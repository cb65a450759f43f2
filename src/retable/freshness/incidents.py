"""From what is late to incidents, pure: one for each cause, opened once and closed when nothing of it is late."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from retable.freshness.sla import Late
from retable.ledger.incidents import Incident

Event = Literal["late", "recovered"]
PATIENCE = timedelta(minutes=10)
"""After how long what was claimed, and not told, is claimed again: whoever claimed it has died."""

_BEHIND = ("UNREAD:", "UNDONE:")
_SEVERITIES = ("info", "warning", "error", "critical")


def judge_incidents(
    known: Sequence[Incident], late: Sequence[Late], watched: Collection[str], now: datetime
) -> list[Incident]:
    """Give the incidents that are new or changed. Only those whose sources were all `watched` can be over.

    A source that is behind stays one incident while it catches up, whichever stage it waits for. What is late by
    another cause than before gets its incident too, and the former one is over only when nothing of it is late.
    """
    current = {incident.id: incident for incident in known if incident.state == "open"}
    before = dict(current)
    for each in late:
        incident = _opened_for(current.values(), each) or _new(each, now)
        current[incident.id] = _joined(incident, each, now)
    names = {each.name for each in late}
    for incident in list(current.values()):
        sources = {name.partition("/")[0] for name in incident.names}
        if sources <= set(watched) and not names & set(incident.names):
            current[incident.id] = replace(incident, state="closed", recorded_at=now)
    return [incident for id_, incident in current.items() if before.get(id_) != incident]


def due_to_tell(incident: Incident, notifiers: Iterable[str], now: datetime) -> list[tuple[Event, str]]:
    """Give what nobody has told, or just undertook to: that it is late, or, to who knows that, that it is over."""
    if incident.state == "open":
        wanted: list[tuple[Event, str]] = [("late", notifier) for notifier in notifiers]
    else:
        wanted = [("recovered", name.partition(":")[2]) for name in incident.told if name.startswith("late:")]
    return [
        (event, notifier)
        for event, notifier in wanted
        if (key := claim_key(event, notifier)) not in incident.told
        and (key not in incident.claimed or now - incident.claimed[key] > PATIENCE)
    ]


def claim_key(event: Event, notifier: str) -> str:
    return f"{event}:{notifier}"


def _opened_for(current: Iterable[Incident], late: Late) -> Incident | None:
    def is_behind(key: str) -> bool:
        return key.startswith(_BEHIND)

    for incident in current:
        same_lag = is_behind(late.key) and is_behind(incident.key) and late.name in incident.names
        if incident.key == late.key or same_lag:
            return incident
    return None


def _new(late: Late, now: datetime) -> Incident:
    return Incident(
        source=late.source,
        id=f"{late.key}@{now:%Y%m%dT%H%M%S.%fZ}",
        key=late.key,
        state="open",
        severity=late.severity,
        owner=late.owner,
        words=late.verdict.words,
        next_step=late.cause.next_step,
        names={},
        claimed={},
        told={},
        opened_at=now,
        recorded_at=now,
    )


def _joined(incident: Incident, late: Late, now: datetime) -> Incident:
    """Add what is late by the same cause; the heaviest severity counts. What is known already changes nothing."""
    if late.name in incident.names:
        return incident
    heaviest = max(incident.severity, late.severity, key=_SEVERITIES.index)
    names = {**incident.names, late.name: late.due}
    return replace(incident, names=names, severity=heaviest, owner=incident.owner or late.owner, recorded_at=now)
