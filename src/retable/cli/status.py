"""How far each source is: its windows, its watermark, its tables, what is held or quarantined."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of
from retable.cli.clock import now
from retable.cli.output import NeedsAttention, print_json, print_table
from retable.cli.why import standing_json
from retable.freshness.blockers import beyond_budget
from retable.freshness.catalog import read_facts
from retable.freshness.gate import Standing, judge, spell
from retable.freshness.sla import find_late
from retable.gold.read import gold_states
from retable.gold.state import GoldState
from retable.ledger.catalog import Lake
from retable.ledger.quarantine import read_open
from retable.ledger.read import read_ledger
from retable.ledger.windows import read_windows
from retable.source_settings import SourceSettings

_STAGES = ("land", "decode", "replay")


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One source: `done` counts windows by stage, `last` and `next` are the replayed and the waiting window.

    `standing` is how far all of its tables are complete; `excess` counts what is quarantined beyond the budget.
    """

    name: str
    recorded: int
    done: Counter[str]
    last: str | None
    next: str | None
    tables: Counter[str]
    held: list[str]
    quarantined: int
    excess: int
    standing: Standing


def status(
    ctx: typer.Context,
    as_json: Json = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="End with 2 when a table is held or late by its SLA, or quarantine is beyond its budget."
        ),
    ] = False,
) -> None:
    """Print how far each source is, and what needs a person; `retable why SOURCE` says why one is not further.

    The watermark is the source time up to which every table of the source is complete, by rows or something better;
    where nothing but the end of the messages tells it, its grade is `drained`. A watchdog outside of Airflow runs
    `--check`: where Airflow is dead, no window is recorded any more, and every SLA is missed.
    """
    lake = lake_of(ctx)
    states, moment = gold_states(lake), now()
    found = [_status(lake, lake.settings.sources[name], states, moment) for name in sorted(lake.settings.sources)]
    if as_json:
        print_json([_json(source, moment) for source in found])
    else:
        print_table(_HEADERS, (_line(source, moment) for source in found))
    held, quarantined = sum(len(source.held) for source in found), sum(source.excess for source in found)
    sources = lake.settings.sources.values() if check else ()
    words = [late.verdict.words for source in sources for late in find_late(lake, source, moment)]
    if held or quarantined:
        words.append(
            f"{held} tables are held and {quarantined} messages or rows quarantined: `retable hold list`, "
            f"`retable quarantine list`"
        )
    if check and words:
        raise NeedsAttention("\n".join(words))


def _status(lake: Lake, source: SourceSettings, states: dict[str, GoldState], now: datetime) -> SourceStatus:
    windows = [window.name for window in read_windows(lake, source.name)]
    whole = {(row.stage, row.window) for row in read_ledger(lake, source.name) if row.table is None}
    replayed = [name for name in windows if ("replay", name) in whole]
    waiting = [name for name in windows if ("replay", name) not in whole]
    mine = {name: state for name, state in states.items() if state.source == source.name}
    facts = read_facts(lake, source, mine, now)
    proven, drained = (judge([facts], now, grade).standing for grade in ("row", "drained"))
    return SourceStatus(
        source.name,
        len(windows),
        Counter({stage: sum((stage, name) in whole for name in windows) for stage in _STAGES}),
        max(replayed, default=None),
        min(waiting, default=None),
        Counter(state.state for state in mine.values()),
        sorted(name for name, state in mine.items() if state.hold is not None),
        read_open(lake, source.name).num_rows,
        beyond_budget(lake, source),
        drained if proven.watermark is None else proven,
    )


_HEADERS = (
    *("SOURCE", "WINDOWS", "REPLAYED", "LAST REPLAYED", "NEXT"),
    *("WATERMARK", "GRADE", "LAG", "TABLES", "HELD", "QUARANTINED"),
)


def _line(source: SourceStatus, now: datetime) -> list[object]:
    watermark, grade = source.standing.watermark, source.standing.grade
    shown = [None, None, None] if watermark is None else [spell(watermark), grade, _spell_lag(now - watermark)]
    done = [source.name, source.recorded, source.done["replay"], source.last, source.next]
    return [*done, *shown, source.tables.total(), len(source.held), source.quarantined]


def _spell_lag(lag: timedelta) -> str:
    """A length of time in its two biggest units, as 2d 3h or 3h 20m."""
    minutes = max(lag, timedelta(0)) // timedelta(minutes=1)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m")]
    return " ".join([f"{count}{unit}" for count, unit in parts if count][:2]) or "0m"


def _json(source: SourceStatus, now: datetime) -> dict[str, object]:
    return {
        "source": source.name,
        "windows": {
            "recorded": source.recorded,
            "landed": source.done["land"],
            "decoded": source.done["decode"],
            "replayed": source.done["replay"],
            "last_replayed": source.last,
            "next": source.next,
        },
        **standing_json(source.standing.watermark, source.standing.grade, now),
        "tables": {state: source.tables[state] for state in ("live", "held", "dropped")},
        "held": source.held,
        "quarantined": source.quarantined,
    }
