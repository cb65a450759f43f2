"""Combines late tables into incidents, one for each cause. An incident closes when none of its tables is late.

No I/O.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from retable.freshness.sla import LateTable
from retable.ledger.incidents import Incident

Event = Literal["late", "recovered", "unwatched"]
PATIENCE = timedelta(minutes=10)
"""How long a process may take to send a notification that it claimed (reserved for itself).

After this time the process counts as dead, and another process may claim and send the notification."""

_BEHIND = ("UNREAD:", "UNDONE:")
_SEVERITIES = ("info", "warning", "error", "critical")


def judge_incidents(
    known: Sequence[Incident], late: Sequence[LateTable], watched: Mapping[str, Collection[str]], now: datetime
) -> list[Incident]:
    """Return the new incidents, and the incidents that changed. `known` are the recorded incidents.

    `late` are the tables that are late now. `watched` has, for each inspected source, the names that have an SLA. A
    name is the source, or `source/table`. A name that lost its SLA is removed from its incident. An incident without
    names becomes `unwatched`, not closed. An incident closes only if all of its sources were inspected.

    A source that is behind keeps one incident while it catches up, even if the unfinished stage changes. A name that is
    late by a new cause is added to the incident of that cause. The old incident closes only when none of its names is
    late.
    """
    current = {incident.id: incident for incident in known if incident.state == "open"}
    before = dict(current)
    for each in late:
        incident = _opened_for(current.values(), each) or _new(each, now)
        current[incident.id] = _joined(incident, each, now)
    names = {each.name for each in late}
    current = {id_: _judged(incident, names, watched, now) for id_, incident in current.items()}
    return [incident for id_, incident in current.items() if before.get(id_) != incident]


def due_to_tell(incident: Incident, notifiers: Iterable[str], now: datetime) -> list[tuple[Event, str]]:
    """Return the notifications to send about an incident: pairs of event and notifier.

    Left out are notifications that were sent, or that another process has claimed (reserved for itself) within the last
    ten minutes. The end of an incident is sent only to notifiers that got its start.
    """
    if incident.state == "open":
        wanted: list[tuple[Event, str]] = [("late", notifier) for notifier in notifiers]
    else:
        end: Event = "recovered" if incident.state == "closed" else "unwatched"
        wanted = [(end, name.partition(":")[2]) for name in incident.told if name.startswith("late:")]
    return [
        (event, notifier)
        for event, notifier in wanted
        if (key := claim_key(event, notifier)) not in incident.told
        and (key not in incident.claimed or now - incident.claimed[key] > PATIENCE)
    ]


def claim_key(event: Event, notifier: str) -> str:
    """Return the key of a notification in the fields `claimed` and `told` of an incident."""
    return f"{event}:{notifier}"


def sources_of(incident: Incident) -> set[str]:
    """Return the names of the sources that an incident concerns."""
    return {name.partition("/")[0] for name in incident.names}


def _judged(
    incident: Incident, late: Collection[str], watched: Mapping[str, Collection[str]], now: datetime
) -> Incident:
    """Return an open incident in its new state: open, closed or unwatched."""
    names = {name: due for name, due in incident.names.items() if _may_be_late(name, watched)}
    if not names:
        return replace(incident, state="unwatched", recorded_at=now)
    left = incident if names == incident.names else replace(incident, names=names, recorded_at=now)
    if sources_of(left) <= watched.keys() and names.keys().isdisjoint(late):
        return replace(left, state="closed", recorded_at=now)
    return left


def _may_be_late(name: str, watched: Mapping[str, Collection[str]]) -> bool:
    source = name.partition("/")[0]
    return source not in watched or name in watched[source]


def _opened_for(current: Iterable[Incident], late: LateTable) -> Incident | None:
    def is_behind(key: str) -> bool:
        return key.startswith(_BEHIND)

    for incident in current:
        same_lag = is_behind(late.key) and is_behind(incident.key) and late.name in incident.names
        if incident.key == late.key or same_lag:
            return incident
    return None


def _new(late: LateTable, now: datetime) -> Incident:
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


def _joined(incident: Incident, late: LateTable, now: datetime) -> Incident:
    """Add a table that is late by the same cause. The highest severity counts. A known table changes nothing."""
    if late.name in incident.names:
        return incident
    heaviest = max(incident.severity, late.severity, key=_SEVERITIES.index)
    names = {**incident.names, late.name: late.due}
    return replace(incident, names=names, severity=heaviest, owner=incident.owner or late.owner, recorded_at=now)
