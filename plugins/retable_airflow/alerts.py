"""Sends alerts about broken SLAs: one alert for each cause, and one more when the cause is gone.

A table is late if its *watermark* is too old at the time of the check. The state of a task does not matter. Incidents
are stored in `ops.incidents`, so each alert is sent once, also after restarts and from several processes.
"""

import asyncio
import html
import inspect
import json
import logging
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airflow.configuration import conf
from airflow.sdk import BaseNotifier

from retable.errors import InvalidSetting
from retable.model.event import TableName
from retable.printable import printable
from retable_airflow.lakes import Reference, lake_of

if TYPE_CHECKING:
    from retable.freshness.incidents import Event
    from retable.freshness.sla import SlaInspection
    from retable.ledger.incidents import Incident
    from retable.ledger.lake.catalog import Lake
    from retable.settings.types import Notify

_log = logging.getLogger(__name__)
_GIVEN = {
    **dict.fromkeys(("subject", "title"), "{{ alert.subject }}"),
    **dict.fromkeys(("text", "message", "body", "content", "description"), "{{ alert.text }}"),
    "html_content": "{{ alert.html }}",
}
"""Default values for the parameters of a notifier, by the name of the parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert about late tables, for a notifier. In the templates of notifiers it is the variable `alert`.

    `event` says what happened to the tables: they became `late`, `recovered`, or lost their SLA (`unwatched`).
    `incident` is the ID of the incident (one cause that makes tables late), and `cause` the kind of the cause. `names`
    are the late tables or sources. `late_seconds` is the time since they should have been complete. `why` is the reason
    together with what to do; `next_step` is only what to do. `link` is the address of the source's DAG in Airflow.
    """

    event: "Event"
    incident: str
    source: str
    names: list[str]
    severity: str
    owner: str | None
    late_seconds: int
    cause: str
    why: str
    next_step: str
    link: str

    @property
    def subject(self) -> str:
        """The alert in one line: its severity, the tables, how late they are, and their owner."""
        first, *more = self.names
        what = printable(first) if not more else f"{printable(first)} and {len(more)} more"
        span, whose = _spell(timedelta(seconds=self.late_seconds)), f" ({printable(self.owner)})" if self.owner else ""
        if self.event == "recovered":
            return f"[recovered] {what}: complete again, after {span}{whose}"
        if self.event == "unwatched":
            return f"[no longer watched] {what}: late by {span} when it lost its SLA{whose}"
        return f"[{self.severity}] {what}: late by {span}{whose}"

    @property
    def text(self) -> str:
        """The whole alert as plain text of several lines."""
        lines = [self.subject, f"It was: {self.why}", self.link]
        if self.event == "late":
            shown = textwrap.shorten(", ".join(self.names), 500, placeholder=" …")
            lines = [self.subject, self.why, f"Late: {shown}", self.link]
        return "\n".join(printable(line) for each in lines for line in each.split("\n"))

    @property
    def html(self) -> str:
        """The whole alert as HTML."""
        return f"<pre>{html.escape(self.text)}</pre>"

    def facts(self) -> dict[str, object]:
        """Return all fields of the alert, its subject and its text, as a dictionary for JSON."""
        named = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return named | {"subject": self.subject, "text": self.text}


@dataclass(frozen=True, slots=True)
class _Claim:
    incident: "Incident"
    event: "Event"
    notifier: str


def watch(settings: Reference | None, source: str | None = None, now: datetime | None = None) -> list[Alert]:
    """Check the SLAs of all sources, or of the source `source`. Send the alerts that are due, and return the sent ones.

    An alert is due when a table becomes late, is complete again, or loses its SLA while it is late. If a notifier
    fails, its error is in the log, and the next check sends the alert again. `now` is the time of the check; None means
    the present time.
    """
    with lake_of(settings) as lake:
        sources = [source] if source else sorted(lake.settings.sources)
        return _Watch(lake, sources, now or datetime.now(UTC)).run()


class LateRun(BaseNotifier):
    """Airflow's callback for a run that missed its deadline: checks the SLAs of the source, and sends due alerts.

    If the source's tables are complete although the run is slow, no alert is sent.
    """

    template_fields: Sequence[str] = ()

    def __init__(self, settings: str, source: str, **more: Any) -> None:
        super().__init__(**more)
        self.settings = settings
        self.source = source

    def notify(self, context: Any) -> None:
        """Check the SLAs of the source, and send alerts."""
        watch(self.settings, self.source)

    async def async_notify(self, context: Any) -> None:
        """Check the SLAs in a thread, because the event loop of the triggerer must not wait for a catalog."""
        await asyncio.to_thread(watch, self.settings, self.source)


class _Watch:
    def __init__(self, lake: "Lake", sources: list[str], now: datetime) -> None:
        from retable.ledger.read import read_tables

        self._lake = lake
        self._sources = sources
        self._now = now
        self._tables = {f"{row.source}/{row.gold}": row for row in read_tables(lake)}

    def run(self) -> list[Alert]:
        from retable.freshness.sla import inspect_sla
        from retable.ledger.incidents import change_incidents

        sources = [self._lake.settings.source(name) for name in self._sources]
        looks = {source.name: inspect_sla(self._lake, source, self._now) for source in sources}
        late = [each for look in looks.values() for each in look.late]
        for each in late:
            _log.warning(each.verdict.words)
        claims: list[_Claim] = []

        def claim(known: "list[Incident]") -> "list[Incident]":
            claims[:], changed = self._claims(known, looks)
            return changed

        change_incidents(self._lake, claim)
        return self._tell(claims)

    def _claims(
        self, known: "list[Incident]", looks: "dict[str, SlaInspection]"
    ) -> "tuple[list[_Claim], list[Incident]]":
        """Return the alerts that this process must send, and the new and changed incidents.

        The caller commits the incidents together with the claims, so that no other process sends these alerts.
        """
        from retable.freshness.incidents import claim_key, due_to_tell, judge_incidents, sources_of

        late = [each for look in looks.values() for each in look.late]
        gone = {source for each in known for source in sources_of(each)} - self._lake.settings.sources.keys()
        watched = {name: look.watched for name, look in looks.items()} | dict.fromkeys(gone, frozenset())
        changed = {incident.id: incident for incident in judge_incidents(known, late, watched, self._now)}
        claims = []
        for incident in [*(each for each in known if each.id not in changed), *changed.values()]:
            routes = self._routes(incident)
            for event, notifier in due_to_tell(incident, routes, self._now):
                if notifier in routes:
                    claims.append(_Claim(incident, event, notifier))
                    newest = changed.get(incident.id, incident)
                    claimed = {**newest.claimed, claim_key(event, notifier): self._now}
                    changed[incident.id] = replace(newest, claimed=claimed, recorded_at=self._now)
        return claims, list(changed.values())

    def _tell(self, claims: Sequence[_Claim]) -> list[Alert]:
        """Send the claimed alerts, record the results, and return the sent alerts. Failed alerts lose their claim."""
        from retable.freshness.incidents import claim_key
        from retable.ledger.incidents import change_incidents

        told: dict[tuple[str, str], bool] = {}
        alerts = []
        for claim in claims:
            alert = _alert(claim, self._now)
            route = self._routes(claim.incident)[claim.notifier]
            sent = _send(route, alert)
            told[claim.incident.id, claim_key(claim.event, claim.notifier)] = sent
            alerts += [alert] if sent else []
        now = datetime.now(UTC)

        def settle(known: "list[Incident]") -> "list[Incident]":
            found = [(each, {key: sent for (of, key), sent in told.items() if of == each.id}) for each in known]
            return [_settled(each, mine, now) for each, mine in found if mine]

        if told:
            change_incidents(self._lake, settle)
        return alerts

    def _routes(self, incident: "Incident") -> "dict[str, Notify]":
        """Return the notifiers, by their ID, that the settings name for the tables and sources of an incident."""
        settings = self._lake.settings
        found: dict[str, Notify] = {}
        for name in incident.names:
            source, row = settings.sources.get(name.partition("/")[0]), self._tables.get(name)
            own = () if row is None else settings.rules(TableName(row.database, row.schema, row.table)).notify
            found |= {_id(each): each for each in own or (source.notify if source else ())}
        return found


def _settled(incident: "Incident", told: Mapping[str, bool], now: datetime) -> "Incident":
    claimed = {key: at for key, at in incident.claimed.items() if key not in told}
    sent = {key: now for key, ended_well in told.items() if ended_well}
    return replace(incident, claimed=claimed, told=incident.told | sent, recorded_at=now)


def _id(notify: "Notify") -> str:
    """Return an ID for a notifier with its arguments. The ID does not show the arguments."""
    arguments = json.dumps(notify.arguments, sort_keys=True, default=str)
    return f"{notify.notifier}#{sha256(arguments.encode()).hexdigest()[:8]}"


def _alert(claim: _Claim, now: datetime) -> Alert:
    incident = claim.incident
    link = f"{conf.get('api', 'base_url', fallback='').rstrip('/')}/dags/replay_changes__{incident.source}"
    names = sorted(name.partition("/")[2] or name for name in incident.names)
    late = now - min(incident.names.values())
    return Alert(
        event=claim.event,
        incident=incident.id,
        source=incident.source,
        names=names,
        severity=incident.severity,
        owner=incident.owner,
        late_seconds=max(0, late // timedelta(seconds=1)),
        cause=incident.key.partition(":")[0],
        why=incident.words,
        next_step=incident.next_step,
        link=link,
    )


def _send(notify: "Notify", alert: Alert) -> bool:
    try:
        make_notifier(notify)({"alert": alert})
    except Exception:  # noqa: BLE001  # a notifier may raise any error; the other notifiers are still called
        _log.exception("not sent, and the next check sends it again: %s by %s", alert.subject, notify.notifier)
        return False
    _log.info("sent: %s by %s", alert.subject, notify.notifier)
    return True


def make_notifier(notify: "Notify") -> BaseNotifier:
    """Return the Airflow notifier for an entry of the setting `notify`.

    If the entry does not set a text of the notifier, such as `subject`, the notifier gets a template for it, such as
    `{{ alert.subject }}`. An alert may contain text from messages, which Airflow must not render as a template. So
    Airflow gets only this template, and the alert as its variable. InvalidSetting if the class cannot be imported or is
    not a notifier.
    """
    module, _, name = notify.notifier.rpartition(".")
    try:
        kind = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InvalidSetting(
            f"notify names {notify.notifier}, which cannot be imported: {error}; install its provider next to Airflow"
        ) from error
    if not (isinstance(kind, type) and issubclass(kind, BaseNotifier)):
        raise InvalidSetting(
            f"notify names {notify.notifier}, which is not a subclass of airflow.sdk.BaseNotifier; name the class of a "
            f"notifier"
        )
    templated = set(getattr(kind, "template_fields", ()))
    wanted = set(_parameters(kind)) & templated - set(notify.arguments)
    given = {name: template for name, template in _GIVEN.items() if name in wanted}
    make: Callable[..., BaseNotifier] = kind
    return make(**given, **notify.arguments)


def _parameters(kind: type) -> Iterable[str]:
    for each in inspect.getmro(kind):
        if "__init__" in vars(each):
            yield from inspect.signature(each).parameters


def _spell(span: timedelta) -> str:
    minutes = max(span, timedelta()) // timedelta(minutes=1)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m")]
    return " ".join([f"{count}{unit}" for count, unit in parts if count][:2]) or "0m"
