"""The gate's eyes and memory: facts out of the catalog through pyiceberg, promises into `ops.watermarks`."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from retable.config import SourceSettings
from retable.decode.registry import find_format
from retable.freshness.blockers import read_blockers
from retable.freshness.gate import SourceFacts, Stuck, Verdict, judge, standing_of
from retable.freshness.watermark import Line, Watermarks, from_rows, partition_name, to_rows
from retable.gold.read import find_gold
from retable.gold.state import GoldState, from_properties
from retable.ledger.catalog import Lake
from retable.ledger.read import Bounds, read_evidence, read_ledger, read_tables, read_watermarks
from retable.ledger.rows import Stage, WatermarkRow
from retable.ledger.windows import read_windows
from retable.ledger.write import append_rows
from retable.model.evidence import GRADES, Grade
from retable.model.window import Window, window_name, window_start

_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
_LATELY = timedelta(days=1)
"""How far back the newest promise of a source is looked for before all of them are read."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a source is: the promised line first, then one line for each replayed window behind it."""

    lines: tuple[Line, ...]
    stuck: Stuck | None
    recorded: datetime | None
    ahead: Mapping[str, int]

    @property
    def line(self) -> Line:
        return self.lines[-1]


def ask(lake: Lake, names: Iterable[str], through: datetime, lowest: Grade, now: datetime) -> Verdict:
    """Judge gold tables by name, or all tables of a source by its name; NotFound where there is neither."""
    # Progress comes first: what gold says of itself is then never older than the windows that count.
    found = [(source, read_progress(lake, source, now), tables) for source, tables in _asked(lake, names)]
    facts = [_facts(lake, source, progress, _states(lake, source, tables)) for source, progress, tables in found]
    return judge(facts, through, lowest)


def is_fresh(lake: Lake, names: Iterable[str], through: datetime, lowest: Grade, now: datetime) -> bool:
    """Say what `ask` says, for less: of a source that is not proven so far no table is looked at."""
    found = _asked(lake, names)
    lines = [read_progress(lake, source, now).line for source, _ in found]
    return all(_reaches(line, lowest, through) for line in lines) and ask(lake, names, through, lowest, now).is_fresh


def source_of(lake: Lake, name: str) -> SourceSettings:
    """Give the source that a gold table, or a source's own name, speaks of."""
    return lake.settings.source(find_gold(lake, name)[1].source if "." in name else name)


def read_facts(lake: Lake, source: SourceSettings, tables: Mapping[str, GoldState], now: datetime) -> SourceFacts:
    """Read all that a verdict on these tables of a source needs."""
    return _facts(lake, source, read_progress(lake, source, now), tables)


def tables_of(lake: Lake, source: str) -> dict[str, GoldState]:
    """Give what the gold tables of a source say of themselves, by gold name."""
    states: dict[str, GoldState] = {}
    for row in read_tables(lake, source):
        table = lake.find(row.gold)
        state = None if table is None else from_properties(table.properties)
        if state is not None and state.identity == row.identity:
            states[row.gold] = state
    return states


def record(lake: Lake, source: SourceSettings, now: datetime) -> SourceFacts:
    """Append the promises that are new since they were last recorded, in one commit; give the facts behind them.

    A promise that stands is never taken back: a table's row is only written where it goes further.
    """
    promised = _promised(lake, source.name, now)
    progress = _progress(lake, source, promised)
    facts = _facts(lake, source, progress, tables_of(lake, source.name))
    rows = [row for line in progress.lines[1:] for row in to_rows(source.name, line, now)]
    for table, blockers in facts.blockers.items():
        known = [row for row in promised if row.table == table]
        if blockers and not known:
            known = read_watermarks(lake, source.name, table=table)
        rows += _further(facts, table, known, now)
    append_rows(lake, rows)
    return facts


def read_progress(lake: Lake, source: SourceSettings, now: datetime) -> Progress:
    """Read how far a source is: from its newest promise on, so what lies behind that costs nothing."""
    return _progress(lake, source, _promised(lake, source.name, now))


def reached_at(lake: Lake, source: SourceSettings, through: datetime, lowest: Grade, now: datetime) -> str | None:
    """Give the first window up to which the source was proven through a time: its cut holds all that is older."""
    rows = read_watermarks(lake, source.name, {"watermark": through}, grade=lowest)
    windows = [row.window for row in rows if row.table is None]
    if not windows:
        lines = read_progress(lake, source, now).lines
        windows = [line.window for line in lines if line.window and _reaches(line, lowest, through)]
    return min(windows, default=None)


# --- reading -----------------------------------------------------------------------------------------------------
def _asked(lake: Lake, names: Iterable[str]) -> list[tuple[SourceSettings, list[str]]]:
    """The sources that these names speak of, each with the tables asked for; none stands for all of them."""
    tables: dict[str, list[str]] = {}
    for name in names:
        source = source_of(lake, name).name
        before = tables.get(source)
        tables[source] = [] if name == source or before == [] else [*(before or []), name]
    return [(lake.settings.source(source), asked) for source, asked in tables.items()]


def _states(lake: Lake, source: SourceSettings, tables: Sequence[str]) -> dict[str, GoldState]:
    return {name: find_gold(lake, name)[1] for name in tables} or tables_of(lake, source.name)


def _facts(lake: Lake, source: SourceSettings, progress: Progress, tables: Mapping[str, GoldState]) -> SourceFacts:
    def before(window: str) -> Watermarks:
        return _before(lake, source, progress, window)

    return SourceFacts(
        source.name,
        progress.line,
        find_format(source.format).ordered_partitions,
        progress.stuck,
        progress.recorded,
        progress.ahead,
        read_blockers(lake, source, tables, before),
    )


def _promised(lake: Lake, source: str, now: datetime) -> list[WatermarkRow]:
    """The promises made lately, of the source and of its tables; all there are where it was quiet."""
    lately: Bounds = {"recorded_at": now - _LATELY}
    rows = read_watermarks(lake, source, lately)
    return rows if any(row.table is None for row in rows) else read_watermarks(lake, source)


def _progress(lake: Lake, source: SourceSettings, promised: Sequence[WatermarkRow]) -> Progress:
    """Continue the newest line over the windows behind it, as far as every stage of them is done."""
    own = [row for row in promised if row.table is None]
    last = max((row.window for row in own), default=None)
    lines = [from_rows([row for row in own if row.window == last]) if last else Line()]
    windows = read_windows(lake, source.name, last)
    behind = [window for window in windows if last is None or window.name > last]
    done = _done(lake, source.name, behind)
    evidence = read_evidence(lake, source.name, at_least={"window": last} if last else None)
    ordered = find_format(source.format).ordered_partitions
    stuck = None
    for window in behind:
        undone = next((stage for stage in _STAGES if stage not in done[window.name]), None)
        if undone is not None:
            stuck = Stuck(window.name, undone)
            break
        mine = [row for row in evidence if row.window == window.name]
        lines.append(lines[-1].extended(window, mine, ordered))
    ahead = {partition_name(row): row.ahead for row in evidence if row.window == lines[-1].window and row.ahead}
    return Progress(tuple(lines), stuck, windows[-1].end if windows else None, ahead)


def _done(lake: Lake, source: str, windows: Sequence[Window]) -> dict[str, set[Stage]]:
    """The stages that are done of each window."""
    done: dict[str, set[Stage]] = defaultdict(set)
    if windows:
        for row in read_ledger(lake, source, at_least={"window": windows[0].name}):
            if row.table is None:
                done[row.window].add(row.stage)
    return done


def _before(lake: Lake, source: SourceSettings, progress: Progress, window: str) -> Watermarks:
    """The watermarks up to the window before: a line at hand, or the promise that was made then."""
    name = window_name(window_start(window) - source.every)
    if progress.line.window is None or name >= progress.line.window:
        return progress.line.watermarks
    at_hand = next((line.watermarks for line in progress.lines if line.window == name), None)
    if at_hand is not None:
        return at_hand
    rows = read_watermarks(lake, source.name, window=name)
    return {row.grade: row.watermark for row in rows if row.table is None and row.watermark is not None}


def _reaches(line: Line, lowest: Grade, through: datetime) -> bool:
    reached = line.watermarks.get(lowest)
    return reached is not None and reached >= through


def _further(facts: SourceFacts, table: str, known: Sequence[WatermarkRow], now: datetime) -> list[WatermarkRow]:
    """The promises of a table that go further than those known."""
    line, rows = facts.line, []
    because = next((blocker.cause.reason for blocker in facts.blockers[table]), None)
    for grade in GRADES:
        reached = standing_of(facts, table, grade).watermark
        former = max((row.watermark for row in known if row.grade == grade and row.watermark is not None), default=None)
        if reached is not None and line.window is not None and (former is None or reached > former):
            rows.append(WatermarkRow(facts.source, table, grade, line.window, reached, line.epoch, {}, because, now))
    return rows
