"""Reads the facts that decide how complete tables are, and writes watermark records to `ops.watermarks`.

It uses pyiceberg, so it needs no Spark.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from retable.errors import DamagedFile, NotFound
from retable.formats.registry import find_format
from retable.freshness.blockers import read_blockers, read_quarantine, read_unpublished
from retable.freshness.consistent_snapshots import first_whole
from retable.freshness.gaps import read_gaps
from retable.freshness.gate import Blocker, Cause, SourceFacts, Verdict, judge, other_causes
from retable.freshness.progress import SourceProgress, decoded_anew, read_progress, watermarks_before
from retable.freshness.watermark import SourceLine, Watermarks, to_rows
from retable.gold.damage import rows_by_name, unread_state, with_recorded_hold
from retable.gold.gold_metadata import state_of
from retable.gold.names import gold_table
from retable.gold.read import feeds, find_gold, find_known, gold_states, state_of_lost
from retable.gold.state import GoldState
from retable.ledger.counts import open_ledger
from retable.ledger.cuts import last_cut, read_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import CLOCKS_APART, read_ledger, read_tables, read_watermarks
from retable.ledger.rows import LedgerRow, TableRow
from retable.ledger.write import append_rows
from retable.model.evidence import Grade
from retable.replay.sent_elsewhere import RowsElsewhere, find_moved
from retable.schema_history.shards.joined import is_sharded
from retable.settings.sources import SourceSettings


def ask(lake: Lake, names: Iterable[str], through: datetime, lowest: Grade) -> Verdict:
    """Return whether all of these tables are complete through a time, and if not, why.

    A name in `names` is a gold table, or a source, which means all of its tables. `through` is the source time up to
    which the tables must be complete, `lowest` the lowest grade of evidence that counts. NotFound if a name is neither
    a gold table nor a source.
    """
    return judge(_asked_facts(lake, names), through, lowest)


def ask_why(lake: Lake, name: str, through: datetime, lowest: Grade) -> tuple[Verdict, list[Cause]]:
    """Return the verdict on a gold table, or on all tables of a source, as `ask` does, and all other causes.

    The verdict has only one cause. The other causes also make these tables late.
    """
    facts = _asked_facts(lake, [name])
    verdict = judge(facts, through, lowest)
    return verdict, other_causes(facts, verdict, lowest)


def _asked_facts(lake: Lake, names: Iterable[str]) -> list[SourceFacts]:
    # Read the progress first, so that the state of gold is never older than the windows that count.
    found = [(source, read_progress(lake, source), tables) for source, tables in _asked(lake, names)]
    return [
        _facts(lake, source, progress, _states(lake, source, tables), whole=not tables)
        for source, progress, tables in found
    ]


def read_line(lake: Lake, source: SourceSettings) -> SourceLine:
    """Return how far a source is processed, and the watermarks that its evidence proves.

    This reads no gold table, so it costs less than a verdict.
    """
    return read_progress(lake, source).line


def source_of(lake: Lake, name: str) -> SourceSettings:
    """Return the settings of a source. `name` is the name of the source, or of one of its gold tables.

    NotFound if there is no such source or table.
    """
    if "." not in name:
        return lake.settings.source(name)
    source = _fed_by(lake, name)
    if source not in lake.settings.sources:
        raise NotFound(
            f"the table {name} came from the source {source}, which is not in the settings any more, so the table gets "
            f"no more changes; to continue it, add `[sources.{source}]` to the settings again",
            table=name,
            source=source,
        )
    return lake.settings.source(source)


def read_facts(lake: Lake, source: SourceSettings, tables: Mapping[str, GoldState]) -> SourceFacts:
    """Read the facts from which `judge` decides whether a source and its gold tables are complete.

    `tables` are the states of the gold tables to judge, by gold name.
    """
    return _facts(lake, source, read_progress(lake, source), tables)


def tables_of(lake: Lake, source: str) -> dict[str, GoldState]:
    """Return the state of each gold table of a source that `ops.tables` records, by gold name."""
    states: dict[str, GoldState] = {}
    for row in read_tables(lake, source):
        state = _recorded_state(lake, row)
        if state is not None:
            states[row.gold] = state
    return states


def record(lake: Lake, source: SourceSettings, now: datetime) -> SourceFacts:
    """Append the new watermark records of a source and its tables to `ops.watermarks`, in one commit.

    Return the facts from which the records were made. A new record has a watermark only if it is later than the
    recorded one, so a watermark never goes back. Nothing is recorded while a window was decoded again and waits for its
    replay. `now` is the time of the records.
    """
    progress = read_progress(lake, source)
    states = tables_of(lake, source.name)
    taken = {name: state for name, state in states.items() if feeds(lake.settings, source, state)}
    facts = _facts(lake, source, progress, taken)
    if decoded_anew(lake, source.name, progress) is not None:
        return facts
    rows = [row for line in progress.lines[1:] for row in to_rows(source.name, line, now)]
    rows += progress.tables.next_rows(facts, progress.lines[0], now)
    left = {name: state for name, state in states.items() if name not in taken and progress.tables.is_free(name)}
    if left:
        rows += progress.tables.next_rows(_facts(lake, source, progress, left), progress.lines[0], now)
    append_rows(lake, rows)
    return facts


def reached_at(lake: Lake, names: Iterable[str], through: datetime, lowest: Grade) -> dict[str, str | None]:
    """Return, for each source of these names, the window whose consistent cut has all changes before `through`.

    A consistent cut is one snapshot of every gold table. A name is a gold table, or a source, which means all of its
    tables. The result is the first such window, or None if the tables are not yet complete through that time. `lowest`
    is the lowest grade of evidence that counts.
    """
    return {
        source.name: _reached_at(lake, source, tables or [*_taken(lake, source)], through, lowest)
        for source, tables in _asked(lake, names)
    }


# --- reading -----------------------------------------------------------------------------------------------------
def _asked(lake: Lake, names: Iterable[str]) -> list[tuple[SourceSettings, list[str]]]:
    """Return the sources of these names, each with its requested tables. An empty list means all of its tables."""
    tables: dict[str, list[str]] = {}
    for name in names:
        source = source_of(lake, name).name
        before = tables.get(source)
        tables[source] = [] if name == source or before == [] else [*(before or []), name]
    return [(lake.settings.source(source), asked) for source, asked in tables.items()]


def _fed_by(lake: Lake, name: str) -> str:
    """The source of a gold table. If its metadata is lost or damaged, the source that ops.tables has."""
    try:
        return find_known(lake, name).source
    except DamagedFile:
        row = rows_by_name(read_tables(lake)).get(name)
        if row is None:
            raise
        return row.source


def _states(lake: Lake, source: SourceSettings, tables: Sequence[str]) -> dict[str, GoldState]:
    recorded = rows_by_name(read_tables(lake, source.name)) if tables else {}
    found = {}
    for name in tables:
        row = recorded.get(name)
        state = None if row is None else _recorded_state(lake, row)
        found[name] = find_gold(lake, name)[1] if state is None else state
    return found or _taken(lake, source)


def _recorded_state(lake: Lake, row: TableRow) -> GoldState | None:
    """Return the state of a table by its record in ops.tables. Return None if the table exists under another name."""
    try:
        table = lake.find(row.gold)
    except DamagedFile as error:
        return unread_state(row, error)
    state = None if table is None else state_of(table.metadata)
    if state is not None and state.identity == row.identity:
        return with_recorded_hold(state, row)
    lost = state_of_lost(lake, row)
    # A running or dead run may have given it another name than the recorded one.
    is_elsewhere = lost is not None and any(
        (each.source, each.identity) == (row.source, row.identity)
        for each in gold_states(lake, lambda _: None).values()
    )
    return None if is_elsewhere else lost


def _taken(lake: Lake, source: SourceSettings) -> dict[str, GoldState]:
    """The gold tables of a source that the settings take. Retired tables do not delay the source."""
    return {name: state for name, state in tables_of(lake, source.name).items() if feeds(lake.settings, source, state)}


def _facts(
    lake: Lake, source: SourceSettings, progress: SourceProgress, tables: Mapping[str, GoldState], *, whole: bool = True
) -> SourceFacts:
    """Return the facts. If `whole` is false, the blockers of the source itself are left out."""

    def before(window: str) -> Watermarks:
        return watermarks_before(lake, source, progress, window)

    quarantine = read_quarantine(lake, source)
    blockers = read_blockers(lake, source, tables, _moved(lake, source), quarantine, before)
    taken = {table: state for table, state in tables.items() if feeds(lake.settings, source, state)}
    for table, found in read_gaps(lake, source, taken, progress, before).items():
        blockers[table] += found
    for table in tables.keys() - taken:
        blockers[table].append(_retired(lake, source, table, tables[table], progress))
    anew = decoded_anew(lake, source.name, progress)
    if anew is not None:
        blockers = {
            table: [*found, Blocker(_again(source.name, anew), before(anew))] for table, found in blockers.items()
        }
    return SourceFacts(
        source=source.name,
        line=progress.line,
        ordered=find_format(source.format).partitions_in_order,
        stuck=progress.stuck,
        recorded=progress.recorded,
        ahead=progress.ahead,
        blockers=blockers,
        own=read_unpublished(lake, source, quarantine, before) if whole else (),
        paused=source.paused,
        topic_a_table=find_format(source.format).topic_per_table,
    )


def _moved(lake: Lake, source: SourceSettings) -> list[RowsElsewhere]:
    """Rows that the settings now send to another table. Only a table of several can have such rows."""
    if not any(is_sharded(row.identity) for row in read_tables(lake, source.name)):
        return []
    return find_moved(lake.settings, source, tables_of(lake, source.name), open_ledger(lake, source.name).applied)


def _retired(lake: Lake, source: SourceSettings, table: str, state: GoldState, progress: SourceProgress) -> Blocker:
    """A table that the settings leave out stays complete up to its last watermark records."""
    promised: Watermarks = progress.tables.watermarks(table)
    if progress.tables.is_free(table):
        promised = {**promised, **progress.lines[0].watermarks}
    if not is_sharded(state.identity) and (target := lake.settings.target(state.table)) is not None:
        to = gold_table(lake.settings.lake, target)
        reason = f"the settings send {state.table} to {to}: this table stays as it is"
        return Blocker(Cause("RETIRED", reason, f"read {to}", table=table), promised)
    cause = Cause(
        "RETIRED",
        f"the settings leave {state.table} out of {source.name}: its changes are counted, but no longer stored",
        f"change `include` and `exclude` of sources.{source.name} so that they take it again; then "
        f"`retable plan {source.name}` shows which windows to run again",
        table=table,
    )
    return Blocker(cause, promised)


def _again(source: str, window: str) -> Cause:
    return Cause(
        "NOT_REPLAYED",
        f"the window {window} of {source} was decoded again with different contents, and not replayed since then",
        f"`retable replay {source} --window {window}`, or clear the task replay of that window",
        window=window,
    )


def reaches(line: SourceLine, lowest: Grade, through: datetime) -> bool:
    """Return whether evidence of the grade `lowest` or better proves that a source is complete through a time."""
    reached = line.watermarks.get(lowest)
    return reached is not None and reached >= through


def _reached_at(
    lake: Lake, source: SourceSettings, tables: Sequence[str], through: datetime, lowest: Grade
) -> str | None:
    progress = read_progress(lake, source)
    promised = read_watermarks(lake, source.name, {"watermark": through}, of_tables=False, grade=lowest)
    proven = [line.window for line in progress.lines if line.window and reaches(line, lowest, through)]
    windows, last = sorted({*(row.window for row in promised), *proven}), progress.line.window
    if not windows or last is None:
        return None
    of_tables = [progress.tables.first_through(table, through, lowest, windows) or last for table in tables]
    window = max([windows[0], *of_tables])
    cuts = read_cuts(lake, source.name).recorded_at
    since = last_cut([*cuts], window)
    least = {"recorded_at": cuts[since] - CLOCKS_APART} if since else None
    ledger = read_ledger(lake, source.name, at_least=least, stage="replay", tables=tables)

    def holding(row: LedgerRow) -> str:
        # A row of an older version has no cut; then the clocks decide.
        return row.cut or next((name for name, at in cuts.items() if at >= row.recorded_at), last)

    return first_whole(window, last, [*cuts], [(row.window, holding(row)) for row in ledger])
