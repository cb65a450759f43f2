"""Finds what blocks the watermark of single tables: holds, suspect rows, updates of which only one of two messages has
arrived, quarantine over its budget."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Sequence as Seq
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from retable.freshness.gate import Blocker, Cause
from retable.freshness.watermark import Watermarks
from retable.gold.state import GoldState
from retable.ledger.baselines import Unfinished
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import read_open
from retable.ledger.read import CLOCKS_APART, read_actions, read_ledger, read_schema_changes, scan
from retable.ledger.rows import SuspectRow
from retable.model.event import TableName
from retable.model.sequence import parse_sequence
from retable.replay.inputs.baselines import read_unfinished
from retable.replay.references.open_suspects import open_suspects, remedy_of, words_of
from retable.replay.sent_elsewhere import RowsElsewhere
from retable.schema_history.history import Hold
from retable.schema_history.shards.joined import is_sharded
from retable.settings.sources import SourceSettings

ACCEPT_ROWS = "accept-rows"
"""The name of the action with which a person confirms that rows of gold are right."""

Before = Callable[[str], Watermarks]
"""A function that takes the name of a window and returns the watermarks of the source before that window."""


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The counts of one source's messages and rows that are in quarantine and that no person accepted as lost.

    `counts` has, for each window, the count of each source table. The key None counts messages and rows without a table
    name. `landed` has, for each window, the number of landed messages (messages in bronze). It is empty unless the
    setting `quarantine_budget` is a share of these messages.
    """

    counts: Mapping[str, Counter[TableName | None]]
    landed: Mapping[str, int]


def read_blockers(
    lake: Lake,
    source: SourceSettings,
    states: Mapping[str, GoldState],
    moved: Collection[RowsElsewhere],
    quarantine: Quarantine,
    before: Before,
) -> dict[str, list[Blocker]]:
    """Return the blockers of each gold table, by gold name. A table without a blocker has an empty list.

    `states` are the states of the gold tables, by gold name. `moved` describes rows that the current settings send to
    another table than the table that has them. `before` returns the source's watermarks before a window.
    """
    unfinished = read_unfinished(lake, source.name)
    suspects = open_suspects(lake, source)
    names = names_ever(lake, source.name) if quarantine.counts else {}
    seen = {name for counts in quarantine.counts.values() for name in counts if name is not None}

    def called(state: GoldState) -> set[TableName]:
        if not is_sharded(state.identity):
            return {state.table}
        return {*state.names, *(name for name in seen if lake.settings.target(name) == state.table)}

    return {
        gold: [
            *_begun(gold, state, unfinished),
            *_set_back(source.name, gold, state),
            *_sent(gold, moved),
            *_held(lake, source, gold, state, before),
            *_suspected(gold, suspects.get(state.identity, []), before),
            *_pending(lake, source, gold, state, before),
            *_quarantined(source, gold, {*called(state), *names.get(state.identity, ())}, quarantine, before),
        ]
        for gold, state in states.items()
    }


# --- baselines ---------------------------------------------------------------------------------------------------
def _begun(gold: str, state: GoldState, unfinished: Iterable[Unfinished]) -> Iterable[Blocker]:
    """If not all pieces of a baseline are replayed, the whole table is blocked."""
    for each in unfinished:
        if each.landed and each.table in state.names:
            yield Blocker(Cause("BASELINE", each.words, f"{each.command(gold)} continues it", table=gold))


# --- main --------------------------------------------------------------------------------------------------------
def _set_back(source: str, gold: str, state: GoldState) -> Iterable[Blocker]:
    """A table whose main branch was rolled back lacks rows, and it is unknown since when."""
    if state.is_set_back:
        reason = "the main branch of the table was rolled back or moved, so the table lacks rows that a run wrote"
        step = f"`retable plan {source}` shows a window to run again: that run writes all rows of the table again"
        yield Blocker(Cause("MAIN_MOVED", reason, step, table=gold))


# --- other settings ----------------------------------------------------------------------------------------------
def _sent(gold: str, moved: Iterable[RowsElsewhere]) -> Iterable[Blocker]:
    """A table lacks rows that the settings send to it, or has rows that the settings send to another table."""
    for each in moved:
        if gold in (each.gold, each.to):
            reason = f"the settings send the rows of {each.table} to {each.to}, but the rows are still in {each.gold}"
            step = f"`retable rebuild {gold} --reason ...` builds the table from the rows that belong to it now"
            yield Blocker(Cause("MOVED", reason, step, table=gold))
            return


# --- holds -------------------------------------------------------------------------------------------------------
def _held(lake: Lake, source: SourceSettings, gold: str, state: GoldState, before: Before) -> Iterable[Blocker]:
    """A hold blocks its table from its position on. A hold without a position blocks the whole table."""
    hold = state.hold
    if hold is None:
        return
    window = None if hold.position is None else _held_since(lake, source.name, gold, state.identity, hold)
    cause = Cause(
        "HELD",
        f"the table is held at {hold.place or 'its first row'} ({hold.code}): {hold.words}",
        hold.remedy.replace("TABLE", gold),
        table=gold,
        window=window,
    )
    yield Blocker(cause) if window is None else Blocker(cause, before(window))


def _held_since(lake: Lake, source: str, gold: str, identity: str, hold: Hold) -> str | None:
    """The first window with a row that the hold delays, or with the held statement.

    The ledger is read from the run that first recorded the hold. The hold delayed nothing before that run.
    """
    known = scan(lake, lake.find("ops.tables"), source=source).to_pylist()
    mine = [row for row in known if row["identity"] == identity and row["hold"] is not None]
    since = [row["recorded_at"] for row in mine if json.loads(row["hold"])["position"] == str(hold.position)]
    bound = {"recorded_at": since[0] - CLOCKS_APART} if since else None
    columns = ["window", "recorded_at", "counts"]
    ledger = lake.find("ops.ledger")
    rows = scan(lake, ledger, bound, columns=columns, source=source, stage="replay", table=gold).to_pylist()
    held = {row["window"]: bool(dict(row["counts"]).get("held")) for row in _since(rows, since)}
    windows = {window for window, is_held in held.items() if is_held}
    windows |= {
        change.window
        for change in read_schema_changes(lake, source)
        if change.identity == identity and change.position == str(hold.position)
    }
    return min(windows, default=None)


def _since(rows: Seq[dict[str, Any]], since: Seq[datetime]) -> Seq[dict[str, Any]]:
    """The rows from the run that recorded something at the first of these times, in the order of commits.

    If that run has no row here, it died before it wrote the ledger. Then the times of the rows decide.
    """
    if not since:
        return rows
    first = next((at for at, row in enumerate(rows) if row["recorded_at"] == since[0]), None)
    return [row for row in rows if row["recorded_at"] >= since[0]] if first is None else rows[first:]


# --- foreign keys ------------------------------------------------------------------------------------------------
def _suspected(gold: str, suspects: Seq[SuspectRow], before: Before) -> Iterable[Blocker]:
    """The table has rows that its source cannot have any more, because of a foreign key."""
    if suspects:
        window = min(row.window for row in suspects)
        cause = Cause("SUSPECT", words_of(suspects), remedy_of(gold), table=gold, window=window)
        yield Blocker(cause, before(window))


# --- halves ------------------------------------------------------------------------------------------------------
def _pending(lake: Lake, source: SourceSettings, gold: str, state: GoldState, before: Before) -> Iterable[Blocker]:
    pending = open_halves(lake, source.name, state)
    if not pending:
        return
    window = min(pending.values())
    waiting = [parse_sequence(text) for text, where in pending.items() if where == window]
    cause = Cause(
        "PENDING",
        f"only half of an update has arrived, at {min(waiting)} in the window {window}",
        f"wait until the message with the other half is replayed; if the source lost that message, load the table "
        f"again at the source, or, if the row in gold is correct, `retable accept-rows {gold} --reason ...`",
        table=gold,
        window=window,
    )
    yield Blocker(cause, before(window))


def open_halves(lake: Lake, source: str, state: GoldState) -> dict[str, str]:
    """Return the updates of a table of which only one of two messages has arrived, and that no person accepted.

    The keys are the sequences (positions in the source's log) of these messages, the values their windows.
    """
    if not state.pending:
        return {}
    accepted = {action.target for action in read_actions(lake, source) if action.action == ACCEPT_ROWS}
    return {at: window for at, window in state.pending.items() if half_of(state, at) not in accepted}


def half_of(state: GoldState, sequence: str) -> str:
    """Return the name of a pending half (the one message of an update that has arrived).

    The name is `<identity of the table> half <sequence>`; `sequence` is the position of that message. If a person
    accepts the half with `retable accept-rows`, this name is recorded in the field `target`.
    """
    return f"{state.identity} half {sequence}"


# --- quarantine --------------------------------------------------------------------------------------------------
def read_quarantine(lake: Lake, source: SourceSettings) -> Quarantine:
    """Count the messages and rows in quarantine that no person accepted.

    If the setting `quarantine_budget` is a share, also count the landed messages of each window.
    """
    rows = read_open(lake, source.name)
    counts: dict[str, Counter[TableName | None]] = defaultdict(Counter)
    for row in rows.group_by(rows.column_names).aggregate([([], "count_all")]).to_pylist():
        named = row["database"] is not None and row["table"]
        name = TableName(row["database"], row["schema"], row["table"]) if named else None
        counts[row["window"]][name] += row["count_all"]
    wanted = bool(counts) and source.quarantine_budget.share > 0
    least = {"window": min(counts, default="")}
    ledger = read_ledger(lake, source.name, at_least=least, stage="land", of_tables=False) if wanted else []
    landed = {row.window: row.counts.get("landed", 0) for row in ledger}
    return Quarantine(counts, landed)


def beyond_budget(lake: Lake, source: SourceSettings) -> int:
    """Return the number of messages and rows in quarantine, only in windows with more than `quarantine_budget` allows.

    The budget is for one table in one window. So a window counts if one table has too many messages and rows.
    Messages without a table name count for every table. Those that a person accepted as lost do not count.
    """
    quarantine = read_quarantine(lake, source)
    return sum(
        counts.total()
        for window, counts in quarantine.counts.items()
        if not source.quarantine_budget.allows(
            counts[None] + max((count for name, count in counts.items() if name is not None), default=0),
            quarantine.landed.get(window, 0),
        )
    )


def _quarantined(
    source: SourceSettings, gold: str, names: set[TableName], quarantine: Quarantine, before: Before
) -> Iterable[Blocker]:
    """The first window that exceeds the budget of this table. Rows without a table name count for every table."""
    for window, counts in sorted(quarantine.counts.items()):
        count = counts[None] + sum(counts[name] for name in names)
        if source.quarantine_budget.allows(count, quarantine.landed.get(window, 0)):
            continue
        yield Blocker(_beyond(source, f"{count:,} messages or rows of the table", window, gold), before(window))
        return


def read_unpublished(lake: Lake, source: SourceSettings, quarantine: Quarantine, before: Before) -> list[Blocker]:
    """Return the blocker of the source itself, or an empty list if there is no such blocker.

    Some tables were never in gold, although the settings include them. The source is not complete without them. So the
    source is blocked at the first window in which one such table has more messages and rows in quarantine than the
    setting `quarantine_budget` allows. Messages without a table name count, too, even if there is no such table. The
    tables in gold are not blocked. `before` takes a window, and returns the source's watermarks before it.
    """
    if not quarantine.counts:
        return []
    known = {name for names in names_ever(lake, source.name).values() for name in names}
    for window, counts in sorted(quarantine.counts.items()):
        goals = {name: lake.settings.target(name) or name for name in counts if name and source.takes(name)}
        new = {name: counts[name] for name, goal in goals.items() if goal not in known}
        most = max(new, key=lambda name: (new[name], str(name)), default=None)
        count = counts[None] + (new[most] if most else 0)
        if not source.quarantine_budget.allows(count, quarantine.landed.get(window, 0)):
            whose = f" of {most}, which gold does not have" if most else ""
            what = f"{count:,} messages or rows{whose}"
            return [Blocker(_beyond(source, what, window, None), before(window))]
    return []


def _beyond(source: SourceSettings, what: str, window: str, gold: str | None) -> Cause:
    return Cause(
        "QUARANTINED",
        f"{what}, or without the name of a table, are quarantined in the window {window}: more than the budget "
        f"{source.quarantine_budget}",
        f"`retable quarantine list --source {source.name} --window {window}` shows why; correct the settings, then "
        f"`retable quarantine redecode --source {source.name} --window {window}`; or accept the loss "
        f"with `retable quarantine accept`, or raise `quarantine_budget`",
        table=gold,
        window=window,
    )


def names_ever(lake: Lake, source: str) -> dict[str, set[TableName]]:
    """Return the names that each table of a source ever had in `ops.tables`, and the name that it had first.

    The keys are the tables' identities, which stay the same when a table is renamed. An identity begins with the first
    name, which `ops.tables` lacks if the table was made and renamed within one window.
    """
    names: dict[str, set[TableName]] = defaultdict(set)
    for row in scan(lake, lake.find("ops.tables"), source=source).to_pylist():
        mine = names[row["identity"]]
        mine.add(TableName(row["database"], row["schema"], row["table"]))
        match row["identity"].rpartition("@")[0].split("."):
            case [database, table]:
                mine.add(TableName(database, None, table))
            case [database, schema, table]:
                mine.add(TableName(database, schema, table))
            case _:
                # A name with a dot in it: its parts are not known.
                pass
    return names
