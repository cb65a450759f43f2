"""`retable status`: prints the windows, watermark and tables of each source, and what is held or quarantined."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of, newest_lake
from retable.cli.clock import now
from retable.cli.look.why import standing_json
from retable.cli.output import NeedsAttention, print_json, print_line, print_table, say
from retable.freshness.blockers import beyond_budget
from retable.freshness.catalog import read_facts
from retable.freshness.gate import FreshnessStanding, format_time, judge, standing_of
from retable.freshness.sla import LateTable, find_late
from retable.gold.names import gold_table
from retable.gold.read import is_retired, known_states
from retable.gold.state import GoldState, hold_json
from retable.ledger.baselines import Unfinished
from retable.ledger.counts import open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import read_open
from retable.ledger.read import read_stages
from retable.ledger.retained import KEPT_LAYERS, KeptLayer, kept_from
from retable.ledger.rows import Stage
from retable.ledger.windows.recording import count_empty, read_ordinals
from retable.model.evidence import Grade
from retable.model.window import opening
from retable.printable import amount
from retable.replay.inputs.baselines import read_unfinished
from retable.replay.references.open_suspects import open_suspects, words_of
from retable.replay.sent_elsewhere import tables_to_rebuild
from retable.schema_history.history import Hold
from retable.settings.sources import SourceSettings

app = typer.Typer()

_REBUILD = "`retable rebuild {} --reason ...` moves the rows to where they go now"
_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
_MOST_NAMES = 5
_NOTHING = FreshnessStanding(None, None)


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The status of one gold table.

    `state` is `live`, `held`, `dropped` or `retired` (the settings no longer include the table). `standing` says up to
    which source time it is complete. `hold` is why and where it is held, or None.
    """

    state: str
    standing: FreshnessStanding
    hold: Hold | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """The status of one source, as the command prints it.

    - `recorded`: the number of its recorded windows.
    - `empty`: the number of its windows without messages.
    - `done`: for each stage (`land`, `decode`, `replay`), the number of windows for which this stage is finished.
    - `last`: the newest replayed window, or None. `next`: the oldest window that is not replayed, or None.
    - `opens`: the time at which the next window can be recorded; None if this is not in the future.
    - `standing`: the source time up to which all tables are complete. `paused`: why the source is paused, or None.
    - `tables`: the status of each gold table, by name. A table that the settings no longer include is `retired`.
    - `held`: the names of the held tables.
    - `suspect`: the tables with rows that their source may have deleted or changed without a message, each with a text.
    - `clashes`: if several source tables share a gold table, the number of keys for which more than one has a row. It
      contains only the gold tables with such keys.
    - `stale`: the gold tables that need a rebuild, each with the reason. The settings now send the rows of a source
      table to another gold table, so one gold table lacks these rows, and one still has them.
    - `quarantined`: the number of messages and rows in quarantine that no person accepted as lost.
    - `excess`: the same number, only for windows in which quarantine exceeds the setting `quarantine_budget`.
    - `unfinished`: a text for each interrupted baseline, with the command that continues it.
    - `kept_from`: for each layer from which retention drops rows, the oldest window that is kept in full.
    """

    name: str
    recorded: int
    empty: int
    done: Counter[str]
    last: str | None
    next: str | None
    opens: datetime | None
    tables: dict[str, TableStatus]
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
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]", help="Show only this source, and each of its tables. Not given: all sources."
        ),
    ] = None,
    as_json: Json = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Exit with 2 if a table is held, suspect, late by its SLA, or needs a rebuild, or if quarantine "
            "exceeds its budget. `retable plan` shows which windows the settings made stale.",
        ),
    ] = False,
) -> None:
    """Print how far each source is, and what needs a person. `retable why SOURCE` explains a delay.

    The watermark is the source time up to which every table of the source is complete. Its grade names the evidence.
    Run `--check` from a monitor outside of Airflow: if Airflow is down, it reports missed SLAs.
    """
    lake = newest_lake(ctx) if check else lake_of(ctx)
    (states, damaged), moment = known_states(lake), now()
    sources = [lake.settings.sources[name] for name in sorted(lake.settings.sources)]
    if source is not None:
        sources = [lake.settings.source(source)]
    found = [_status(lake, each, states, moment) for each in sources]
    if as_json:
        print_json([_json(source, moment) for source in found])
    else:
        print_table(_HEADERS, (_line(each, moment) for each in found))
        if source is not None and (tables := found[0].tables):
            print_line("")
            print_table(_TABLE_HEADERS, (_table_line(name, each, moment) for name, each in sorted(tables.items())))
        for each in found:
            _say_more(each)
    for error in damaged:
        say(f"damaged: {error.message}")
    held, quarantined = sum(len(each.held) for each in found), sum(each.excess for each in found)
    checked = sources if check and not damaged else ()
    words = [line for each in checked for line in _late_words(find_late(lake, each, moment))]
    if held or quarantined:
        words.append(
            f"{amount(held, 'table is', 'tables are')} held and "
            f"{amount(quarantined, 'message or row is', 'messages or rows are')} quarantined: `retable hold list`, "
            f"`retable quarantine list`"
        )
    words += [line for each in found for line in each.unfinished]
    words += [f"{name} is stale: {_REBUILD.format(name)}" for each in found for name in each.stale]
    words += [f"{name} is suspect: `retable why {name}`" for each in found for name in each.suspect]
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
    standing = _proven(lambda grade: judge([facts], now, grade).standing)
    return SourceStatus(
        name=source.name,
        recorded=len(windows),
        empty=count_empty(lake, source.name),
        done=Counter({stage: sum(name in done[stage] for name in windows) for stage in _STAGES}),
        last=max(replayed, default=None),
        next=min(waiting, default=None),
        opens=_opens(source, list(windows), now),
        tables={
            name: TableStatus(state.state, _proven(partial(standing_of, facts, name)), state.hold)
            if name in taken
            else TableStatus("retired", _NOTHING, None)
            for name, state in mine.items()
        },
        held=sorted(name for name, state in taken.items() if state.hold is not None),
        suspect={
            name: words_of(suspects[state.identity]) for name, state in taken.items() if state.identity in suspects
        },
        stale=tables_to_rebuild(lake.settings, source, mine, open_ledger(lake, source.name).applied),
        clashes={name: state.clashes for name, state in taken.items() if state.clashes},
        quarantined=read_open(lake, source.name).num_rows,
        excess=beyond_budget(lake, source),
        standing=standing,
        paused=source.paused,
        unfinished=[
            f"{name}: {each.words}; {each.command(name)} continues it" for name, each in _unfinished(lake, source)
        ],
        kept_from={layer: window for layer in KEPT_LAYERS if (window := kept_from(lake, layer, source.name))},
    )


def _proven(standing: Callable[[Grade], FreshnessStanding]) -> FreshnessStanding:
    """Return the standing that messages prove. If they prove nothing, return what drained windows prove."""
    proven = standing("row")
    return standing("drained") if proven.watermark is None else proven


def _late_words(late: Sequence[LateTable]) -> Iterator[str]:
    """Yield one line for each cause: the verdict on one late table, and the names of other tables that it delays."""
    for _, same in groupby(sorted(late, key=lambda each: each.key), key=lambda each: each.key):
        first, *others = same
        names = ", ".join(each.name for each in others[:_MOST_NAMES])
        more = f" and {len(others) - _MOST_NAMES} more" * (len(others) > _MOST_NAMES)
        yield first.verdict.words + (f" (also late by this: {names}{more})" if others else "")


def _say_more(source: SourceStatus) -> None:
    """Print what needs a person, and from which window on retention keeps the source."""
    if source.paused is not None:
        say(f"{source.name} is paused: {source.paused}")
    suspect = (f"{name} is suspect: {what}" for name, what in source.suspect.items())
    stale = (f"{name} is stale: {why}; {_REBUILD.format(name)}" for name, why in source.stale.items())
    for line in (*source.unfinished, *stale, *suspect, *(_clashing(*each) for each in source.clashes.items())):
        say(line)
    if source.kept_from:
        kept = ", ".join(f"{layer} from {window} on" for layer, window in source.kept_from.items())
        say(f"{source.name} is kept: {kept}")


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


_TABLE_HEADERS = ("TABLE", "STATE", "WATERMARK", "GRADE", "LAG", "HELD")


def _line(source: SourceStatus, now: datetime) -> list[object]:
    empty = f" ({source.empty} empty)" if source.empty else ""
    coming = source.next or (None if source.opens is None else f"from {format_time(source.opens)}")
    done = [source.name, f"{source.recorded}{empty}", source.done["replay"], source.last, coming]
    return [*done, *_standing(source.standing, now), len(source.tables), len(source.held), source.quarantined]


def _table_line(name: str, table: TableStatus, now: datetime) -> list[object]:
    held = None if table.hold is None else f"{table.hold.code} at {table.hold.place or 'its first row'}"
    return [name, table.state, *_standing(table.standing, now), held]


def _standing(standing: FreshnessStanding, now: datetime) -> list[object]:
    watermark = standing.watermark
    return [None] * 3 if watermark is None else [format_time(watermark), standing.grade, _format_lag(now - watermark)]


def _format_lag(lag: timedelta) -> str:
    """Format a length of time in its two largest units, as 2d 3h or 3h 20m."""
    minutes = max(lag, timedelta(0)) // timedelta(minutes=1)
    parts = [(minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "m")]
    return " ".join([f"{count}{unit}" for count, unit in parts if count][:2]) or "0m"


def _json(source: SourceStatus, now: datetime) -> dict[str, object]:
    states = Counter(table.state for table in source.tables.values())
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
        "tables": {state: states[state] for state in ("live", "held", "dropped", "retired")},
        "gold_tables": [
            {
                "name": name,
                "state": table.state,
                **standing_json(table.standing.watermark, table.standing.grade, now),
                "hold": None if table.hold is None else hold_json(table.hold),
            }
            for name, table in sorted(source.tables.items())
        ],
        "held": source.held,
        "suspect": source.suspect,
        "clashes": source.clashes,
        "stale": source.stale,
        "unfinished_baselines": source.unfinished,
        "quarantined": source.quarantined,
        "kept_from": source.kept_from,
    }
