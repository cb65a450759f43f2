"""Incidents: tables that are late, and the notifications about them.

An incident is one cause; it may make many tables late. Its newest row in `ops.incidents` is its current state. The
table changes by compare-and-set, so each notification is sent once.
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
    """One cause that makes tables late. `key` names the cause; `id` is the key with the time when the incident began.

    The state `closed` means that the incident is over. `unwatched` means that its tables have no SLA any more. `words`
    describes the incident, and `next_step` says what to do. `names` has the time when each source (`source`) or table
    (`source/table`) should have been complete.

    `claimed` and `told` are about the notifications. Their keys are an event (`late`, `recovered` or `unwatched`) and
    the name of a notifier, such as `late:mail`. `claimed` has the time when a process reserved the notification, to
    send it. `told` has the time when the notification had been sent.
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
    """Record the incidents that `change` returns, and return them.

    `change` gets the current incidents and returns new and changed incidents. If another process records first,
    `change` is called again. Raise ConflictError if that happens too often.
    """
    lake.ensure(_TABLE)
    for _ in range(_ATTEMPTS):
        table = lake.load(_TABLE)
        changed = change(_incidents(lake, table))
        if not changed or append_to_loaded(lake, table, [asdict(each) for each in changed]):
            return changed
    raise ConflictError(
        f"the incidents were not recorded: other runs recorded incidents first, {_ATTEMPTS} times; try again"
    )


def _incidents(lake: Lake, table: Table | None) -> list[Incident]:
    newest: dict[str, Incident] = {}
    for row in scan(lake, table).to_pylist():
        newest[row["id"]] = Incident(**{field.name: _python(row[field.name]) for field in fields(Incident)})
    return sorted(newest.values(), key=lambda incident: (incident.opened_at, incident.id))


def _python(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return {key: _python(each) for key, each in value} if isinstance(value, list) else value
