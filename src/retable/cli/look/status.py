"""How far each source is: its windows, its watermark, its tables, what is held or quarantined."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of, newest_lake
from retable.cli.clock import now
from retable.cli.look.why import standing_json
from retable.cli.output import NeedsAttention, print_json, print_table, say
from retable.freshness.blockers import beyond_budget
from retable.freshness.catalog import read_facts
from retable.freshness.gate import FreshnessStanding, format_time, judge
from retable.freshness.sla import find_late
from retable.gold.names import gold_table
from retable.gold.read import is_retired, known_states
from retable.gold.state import GoldState
from retable.ledger.baselines import Unfinished
from retable.ledger.counts import open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import read_open
from retable.ledger.read import read_stages
from retable.ledger.retained import KEPT_LAYERS, KeptLayer, kept_from
from retable.ledger.rows import Stage
from retable.ledger.windows.recording import count_empty, read_ordinals
from retable.model.window import opening
from retable.replay.inputs.baselines import read_unfinished
from retable.replay.inputs.moved_rows import tables_to_rebuild
from retable.replay.references.suspects import open_suspects, words_of
from retable.settings.sources import SourceSettings

app = typer.Typer()

_REBUILD = "`retable rebuild {} --reason ...` moves the rows to where they go now"
_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """One source: `recorded` windows, of which `empty` had no messages; `done` counts them by stage.

    `last` and `next` are the replayed and the waiting window; if none waits, `opens` is when the next one can be
    recorded, if that is still to come. `standing` is how far all of its tables are complete;
    `excess` counts what is quarantined beyond the budget. A table that the settings leave out is `retired`, whatever
    its state. `suspect` says what is wrong with tables with rows that their source cannot have any more. `clashes`
    counts, by table, the keys that have rows in several of its source tables. `stale` says why tables need a rebuild,
    because the settings now send rows to or from them. `paused` is why no new window is recorded. `unfinished` says how
    to continue interrupted baselines. `kept_from` is the oldest whole window after retention.
    """

    name: str
    recorded: int
    empty: int
    done: Counter[str]
    last: str | None
    next: str | None
    opens: datetime | None
    tables: Counter[str]
    held: list[str]
    suspect: dict[str, str]
    clashes: dict[str, int]
    stale: dict[str, str]
    quarantined: int
    excess: int
    standing: FreshnessStanding
    paused: str | None
    unfinished: list[str]
    kept_from: dict[KeptLayer, str]


@app.command()
def status(
    ctx: typer.Context,
    as_json: Json = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 2 if a table is held, stale, suspect or late by its SLA, or quarantine exceeds its budget.",
        ),
    ] = False,
) -> None:
    """Print how far each source is, and what needs a person. `retable why SOURCE` explains a delay.

    The watermark is the source time up to which every table of the source is complete. Its grade names the evidence.
    Run `--check` from a monitor outside of Airflow: if Airflow is down, it reports missed SLAs.
    """
    lake = newest_lake(ctx) if check else lake_of(ctx)
    (states, damaged), moment = known_states(lake), now()
    found = [_status(lake, lake.settings.sources[name], states, moment) for name in sorted(lake.settings.sources)]
    if as_json:
        print_json([_json(source, moment) for source in found])
    else:
        print_table(_HEADERS, (_line(source, moment) for source in found))
        for source in found:
            if source.paused is not None:
                say(f"{source.name} is paused: {source.paused}")
            suspect = (f"{name} is suspect: {what}" for name, what in source.suspect.items())
            stale = (f"{name} is stale: {why}; {_REBUILD.format(name)}" for name, why in source.stale.items())
            for line in (*source.unfinished, *stale, *suspect, *(_clashing(*each) for each in source.clashes.items())):
                say(line)
            if source.kept_from:
                kept = ", ".join(f"{layer} from {window} on" for layer, window in source.kept_from.items())
                say(f"{source.name} is kept: {kept}")
    for error in damaged:
        say(f"damaged: {error.message}")
    held, quarantined = sum(len(source.held) for source in found), sum(source.excess for source in found)
    sources = lake.settings.sources.values() if check and not damaged else ()
    words = [late.verdict.words for source in sources for late in find_late(lake, source, moment)]
    if held or quarantined:
        words.append(
            f"{held} tables are held and {quarantined} messages or rows are quarantined: `retable hold list`, "
            f"`retable quarantine list`"
        )
    words += [line for source in found for line in source.unfinished]
    words += [f"{name} is stale: {_REBUILD.format(name)}" for source in found for name in source.stale]
    words += [f"{name} is suspect: `retable why {name}`" for source in found for name in source.suspect]
    words += [f"{error.facts['table']}: a file is damaged" for error in damaged]
    if check and words:
        raise NeedsAttention("\n".join(words))


def _status(lake: Lake, source: SourceSettings, states: dict[str, GoldState], now: datetime) -> SourceStatus:
    windows, done = read_ordinals(lake, source.name), read_stages(lake, source.name)
    replayed = [name for name in windows if name in done["replay"]]
    waiting = [name for name in windows if name not in done["replay"]]
    mine = {name: state for name, state in states.items() if state.source == source.name}
    taken = {name: state for name, state in mine.items() if not is_retired(lake, state)}
    suspects = open_suspects(lake, source)
    facts = read_facts(lake, source, taken)
    proven, drained = (judge([facts], now, grade).standing for grade in ("row", "drained"))
    return SourceStatus(
        name=source.name,
        recorded=len(windows),
        empty=count_empty(lake, source.name),
        done=Counter({stage: sum(name in done[stage] for name in windows) for stage in _STAGES}),
        last=max(replayed, default=None),
        next=min(waiting, default=None),
        opens=_opens(source, list(windows), now),
        tables=Counter(state.state if name in taken else "retired" for name, state in mine.items()),
        held=sorted(name for name, state in taken.items() if state.hold is not None),
        suspect={
            name: words_of(suspects[state.identity]) for name, state in taken.items() if state.identity in suspects
        },
        stale=tables_to_rebuild(lake.settings, source, mine, open_ledger(lake, source.name).applied),
        clashes={name: state.clashes for name, state in taken.items() if state.clashes},
        quarantined=read_open(lake, source.name).num_rows,
        excess=beyond_budget(lake, source),
        standing=drained if proven.watermark is None else proven,
        paused=source.paused,
        unfinished=[
            f"{name}: {each.words}; {each.command(name)} continues it" for name, each in _unfinished(lake, source)
        ],
        kept_from={layer: window for layer in KEPT_LAYERS if (window := kept_from(lake, layer, source.name))},
    )


def _opens(source: SourceSettings, windows: list[str], now: datetime) -> datetime | None:
    return opening(windows[-1], source.every, now) if windows and source.paused is None else None


def _clashing(gold: str, clashes: int) -> str:
    return (
        f"{gold}: {clashes:,} of its keys have rows in several of the tables that go into it; with `shard_in_key` "
        f"readers see the table of each row"
    )


def _unfinished(lake: Lake, source: SourceSettings) -> list[tuple[str, Unfinished]]:
    return [(gold_table(lake.settings.lake, each.table), each) for each in read_unfinished(lake, source.name)]


_HEADERS = (
    *("SOURCE", "WINDOWS", "REPLAYED", "LAST REPLAYED", "NEXT"),
    *("WATERMARK", "GRADE", "LAG", "TABLES", "HELD", "QUARANTINED"),
)


def _line(source: SourceStatus, now: datetime) -> list[object]:
    watermark, grade = source.standing.watermark, source.standing.grade
    shown = [None, None, None] if watermark is None else [format_time(watermark), grade, _format_lag(now - watermark)]
    empty = f" ({source.empty} empty)" if source.empty else ""
    coming = source.next or (None if source.opens is None else f"from {format_time(source.opens)}")
    done = [source.name, f"{source.recorded}{empty}", source.done["replay"], source.last, coming]
    return [*done, *shown, source.tables.total(), len(source.held), source.quarantined]


def _format_lag(lag: timedelta) -> str:
    """A length of time in its two biggest units, as 2d 3h or 3h 20m."""
    minutes = max(lag, timedelta(0)) // timedelta(minutes=1)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m")]
    return " ".join([f"{count}{unit}" for count, unit in parts if count][:2]) or "0m"


def _json(source: SourceStatus, now: datetime) -> dict[str, object]:
    return {
        "source": source.name,
        "paused": source.paused,
        "windows": {
            "recorded": source.recorded,
            "empty": source.empty,
            "landed": source.done["land"],
            "decoded": source.done["decode"],
            "replayed": source.done["replay"],
            "last_replayed": source.last,
            "next": source.next,
            "next_opens": None if source.opens is None else format_time(source.opens),
        },
        **standing_json(source.standing.watermark, source.standing.grade, now),
        "tables": {state: source.tables[state] for state in ("live", "held", "dropped", "retired")},
        "held": source.held,
        "suspect": source.suspect,
        "clashes": source.clashes,
        "stale": source.stale,
        "unfinished_baselines": source.unfinished,
        "quarantined": source.quarantined,
        "kept_from": source.kept_from,
    }
