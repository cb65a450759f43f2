"""Finds tables and sources that are late by the settings `sla`, from the current watermarks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from retable.freshness.catalog import read_facts, tables_of
from retable.freshness.gate import Cause, SourceFacts, Verdict, cause_of, standing_of
from retable.gold.read import feeds
from retable.gold.state import GoldState
from retable.ledger.lake.catalog import Lake
from retable.settings.sources import Source
from retable.settings.tables import TableRules
from retable.settings.types import Notify

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LateTable:
    """A table that is not complete through the time that its SLA requires.

    - `table`: the gold name. It is None if the source itself is late: it has no gold table yet, or too many of its
      quarantined messages are of no table in gold.
    - `key`: names the cause; late tables with the same cause have the same key.
    - `due`: the time at which the first missing window should have been complete.
    - `verdict`: how far the table is complete, and why not further.
    - `severity`, `owner`, `notify`: the settings of the table or its source.
    """

    source: str
    table: str | None
    key: str
    due: datetime
    verdict: Verdict
    severity: str
    owner: str | None
    notify: tuple[Notify, ...]

    @property
    def name(self) -> str:
        """The name in incidents: `source/table`, or the source if `table` is None."""
        return _name(self.source, self.table)

    @property
    def cause(self) -> Cause:
        """The main cause why the table is late."""
        assert self.verdict.cause is not None
        return self.verdict.cause


@dataclass(frozen=True, slots=True)
class SlaInspection:
    """The result of `inspect_sla`: the late tables of a source, and the names of all inspected tables.

    A name in `watched` is the source, or `source/table`.
    """

    late: tuple[LateTable, ...] = ()
    watched: frozenset[str] = frozenset()


def due_through(now: datetime, sla: timedelta, every: timedelta) -> datetime:
    """Return the end of the newest window that must be complete at the time `now`.

    `sla` is the time that a window may take after its end, and `every` the length of a window.
    """
    ended = now - sla
    return ended - (ended - _EPOCH) % every


def find_late(lake: Lake, source: Source, now: datetime) -> list[LateTable]:
    """Return the tables of a source that are late at the time `now`.

    A table without an SLA, or a table that the settings leave out, is never late.
    """
    return [*inspect_sla(lake, source, now).late]


def inspect_sla(lake: Lake, source: Source, now: datetime) -> SlaInspection:
    """Return the tables of a source that are late at the time `now`, and the names of all inspected tables.

    The source itself is inspected too, if a table has an SLA. If nothing has an SLA, the result is empty.
    """
    tables = {
        gold: state for gold, state in tables_of(lake, source.name).items() if feeds(lake.settings, source, state)
    }
    rules = {gold: lake.settings.rules(state.table) for gold, state in tables.items()}
    slas = _slas(source, tables, rules)
    if not slas:
        return SlaInspection()
    facts = read_facts(lake, source, tables)
    if facts.own and source.sla is not None:
        slas[None] = source.sla
    found = (_late(source, facts, table, sla, rules.get(table or ""), now) for table, sla in slas.items())
    watched = {_name(source.name, table) for table in [None, *slas]}
    return SlaInspection(tuple(late for late in found if late is not None), frozenset(watched))


def _name(source: str, table: str | None) -> str:
    return source if table is None else f"{source}/{table}"


def _slas(
    source: Source, tables: Mapping[str, GoldState], rules: Mapping[str, TableRules]
) -> dict[str | None, timedelta]:
    """Return the SLA of each table that has an SLA. While the source has no table, return the SLA of the source."""
    slas: dict[str | None, timedelta] = {}
    for gold, state in tables.items():
        sla = rules[gold].sla or source.sla
        if sla is not None and state.state != "dropped":
            slas[gold] = sla
    return slas if tables or source.sla is None else {None: source.sla}


def _late(
    source: Source,
    facts: SourceFacts,
    table: str | None,
    sla: timedelta,
    rules: TableRules | None,
    now: datetime,
) -> LateTable | None:
    through = due_through(now, sla, source.every)
    standing = standing_of(facts, table, source.sla_grade)
    reached = standing.watermark
    begins_later = source.first is not None and through <= source.first
    if begins_later or (reached is not None and reached >= through):
        return None
    cause = cause_of(facts, table, through, source.sla_grade)
    lacking = through if reached is None else reached - (reached - _EPOCH) % source.every + source.every
    rules = rules or TableRules()
    return LateTable(
        source=source.name,
        table=table,
        key=key_of(source, cause),
        due=min(lacking, through) + sla,
        verdict=Verdict(table or source.name, through, standing, cause),
        severity=rules.severity or source.severity,
        owner=rules.owner or source.owner,
        notify=rules.notify or source.notify,
    )


def key_of(source: Source, cause: Cause) -> str:
    """Return the key of a cause of lateness. Late tables whose causes have the same key share one notification."""
    match cause.code:
        case "BASELINE" | "HELD" | "SUSPECT" | "PENDING" | "MAIN_MOVED" | "MOVED":
            return f"{cause.code}:{source.name}/{cause.table}"
        case "LEFT_OUT" | "RETIRED" | "UNKNOWN_TABLE":
            return f"{cause.code}:{source.name}/{cause.table}"
        case "LOST" | "QUARANTINED":
            return f"{cause.code}:{source.name}/{cause.window}"
        case "SILENT" | "PAUSED":
            return f"{cause.code}:{source.name}"
        case "NOT_RECORDED" | "NOT_LANDED":
            return f"UNREAD:{place_of(source)}"
        case "NOT_DECODED" | "NOT_REPLAYED":
            return f"UNDONE:{source.name}"


def place_of(source: Source) -> str:
    """Return the location of a source's messages: the brokers, or the folder. Sources of one location fail together."""
    return source.bootstrap if source.kind == "kafka" else str(source.path)
