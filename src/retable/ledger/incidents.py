"""Incidents: what is late, and who was notified. `ops.incidents` changes by compare-and-set, so each is sent once.

An incident is one cause, however many tables it makes late. Its newest row is its current state.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

from pyiceberg.table import Table

from retable.errors import ConflictError
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import scan
from retable.ledger.write import append_to_loaded

_TABLE = "ops.incidents"
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One cause that makes tables late.

    `names` gives, by `source` or `source/table`, when each should have been complete. The keys of `claimed` and `told`
    are `late:`, `recovered:` or `unwatched:` and a notifier; the values are when a process claimed the notification,
    and when it had sent it. `closed`: the incident is over; `unwatched`: its tables only have no SLA any more.
    """

    source: str
    id: str
    key: str
    state: Literal["open", "closed", "unwatched"]
    severity: str
    owner: str | None
    words: str
    next_step: str
    names: dict[str, datetime]
    claimed: dict[str, datetime]
    told: dict[str, datetime]
    opened_at: datetime
    recorded_at: datetime


def change_incidents(lake: Lake, change: Callable[[list[Incident]], list[Incident]]) -> list[Incident]:
    """Record and give what `change` makes of the current incidents; if another process records first, change again."""
    lake.ensure(_TABLE)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        changed = change(_incidents(lake, table))
        if not changed or append_to_loaded(lake, table, [asdict(each) for each in changed]):
            return changed
    raise ConflictError(f"incidents: other runs recorded first, {_ATTEMPTS} times; try again")


def _incidents(lake: Lake, table: Table | None) -> list[Incident]:
    newest: dict[str, Incident] = {}
    for row in scan(lake, table).to_pylist():
        newest[row["id"]] = Incident(**{field.name: _python(row[field.name]) for field in fields(Incident)})
    return sorted(newest.values(), key=lambda incident: (incident.opened_at, incident.id))


def _python(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return {key: _python(each) for key, each in value} if isinstance(value, list) else value
