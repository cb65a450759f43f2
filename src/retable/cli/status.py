"""How far each source is: its windows, its tables, what is held or quarantined."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of
from retable.cli.output import NeedsAttention, print_json, print_table
from retable.gold.read import gold_states
from retable.gold.state import GoldState
from retable.ledger.catalog import Lake
from retable.ledger.faults import explained
from retable.ledger.read import read_ledger
from retable.ledger.windows import read_windows

_STAGES = ("land", "decode", "replay")


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """One source: `done` counts windows by stage, `last` and `next` are the replayed and the waiting window."""

    name: str
    recorded: int
    done: Counter[str]
    last: str | None
    next: str | None
    tables: Counter[str]
    held: list[str]
    quarantined: int


def status(
    ctx: typer.Context,
    as_json: Json = False,
    check: Annotated[
        bool, typer.Option("--check", help="End with 2 when a table is held or anything is quarantined.")
    ] = False,
) -> None:
    """Print how far each source is, and what needs a person."""
    lake = lake_of(ctx)
    states = gold_states(lake)
    found = [_status(lake, name, states) for name in sorted(lake.settings.sources)]
    if as_json:
        print_json([_json(source) for source in found])
    else:
        print_table(
            ["SOURCE", "WINDOWS", "REPLAYED", "LAST REPLAYED", "NEXT", "TABLES", "HELD", "QUARANTINED"],
            (
                [s.name, s.recorded, s.done["replay"], s.last, s.next, s.tables.total(), len(s.held), s.quarantined]
                for s in found
            ),
        )
    held, quarantined = sum(len(source.held) for source in found), sum(source.quarantined for source in found)
    if check and (held or quarantined):
        raise NeedsAttention(
            f"{held} tables are held and {quarantined} messages or rows quarantined: `retable hold list`, "
            f"`retable quarantine list`"
        )


def _status(lake: Lake, source: str, states: dict[str, GoldState]) -> SourceStatus:
    windows = [window.name for window in read_windows(lake, source)]
    whole = {(row.stage, row.window) for row in read_ledger(lake, source) if row.table is None}
    replayed = [name for name in windows if ("replay", name) in whole]
    waiting = [name for name in windows if ("replay", name) not in whole]
    mine = {name: state for name, state in states.items() if state.source == source}
    return SourceStatus(
        source,
        len(windows),
        Counter({stage: sum((stage, name) in whole for name in windows) for stage in _STAGES}),
        max(replayed, default=None),
        min(waiting, default=None),
        Counter(state.state for state in mine.values()),
        sorted(name for name, state in mine.items() if state.hold is not None),
        _count_quarantined(lake, source),
    )


def _count_quarantined(lake: Lake, source: str) -> int:
    table = lake.find(f"quarantine.{source}")
    if table is None:
        return 0
    with explained(lake.settings.lake):
        return table.scan().count()


def _json(source: SourceStatus) -> dict[str, object]:
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
        "tables": {state: source.tables[state] for state in ("live", "held", "dropped")},
        "held": source.held,
        "quarantined": source.quarantined,
    }
