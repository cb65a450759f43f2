"""Read gold tables and their states with pyiceberg, without a JVM, so that reading starts fast in any process."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.table import DataScan, Table

from retable.errors import DamagedFile, NotFound, NotReady
from retable.gold.damage import LOST, lost_state, rows_by_name, unread_state, with_recorded_hold
from retable.gold.gold_metadata import state_of
from retable.gold.state import SEQUENCE_COLUMN, GoldState
from retable.ledger.cuts import Cuts, last_cut, read_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.read import read_ledger, read_tables
from retable.ledger.rows import TableRow
from retable.ledger.windows.recording import find_window
from retable.schema_history.shards.joined import is_sharded
from retable.settings.load import Settings
from retable.settings.sources import SourceSettings

_OWN = "_retable_"
MOST_IN_ORDER = 1_000_000
"""`read_rows_in_order` sorts a table in memory if it has at most this many rows."""

SHADOW = "shadow_"
"""Prefix of the source name of a shadow (tables that are built again next to gold, to compare them).

The name of the shadow's source follows it. The tables of a shadow are not in the lists of gold tables.
"""

OnDamage = Callable[[DamagedFile], None]

_SYSTEM = frozenset({"bronze", "silver", "statements", "quarantine", "ops"})


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column that a reader of gold sees. `name` and `type` are those of gold.

    `source_name` and `source_type` are as in the source. `default` is the text of the value in rows that are older than
    the column.
    """

    name: str
    type: str
    source_name: str
    source_type: str | None
    default: str | None
    is_key: bool


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A gold table as a reader sees it now. `name` is for example `gold_shop.orders`. `rows` is the number of rows."""

    name: str
    rows: int
    columns: tuple[PublishedColumn, ...]
    state: GoldState


def stop(error: DamagedFile) -> None:
    """Raise the error of a damaged table. This is the default `damaged` function when gold tables are listed."""
    raise error


def list_gold(lake: Lake, damaged: OnDamage = stop) -> list[PublishedTable]:
    """Return all gold tables with their numbers of rows. `damaged` is called with the error of each damaged table."""
    found = []
    for name, table, state in _walk(lake, damaged):
        try:
            found.append(PublishedTable(name, _count(lake, table), _columns(table, state), state))
        except DamagedFile as error:
            damaged(error)
    return found


def gold_states(lake: Lake, damaged: OnDamage = stop) -> dict[str, GoldState]:
    """Return the state of each gold table by its name. Only metadata is read.

    `damaged` is called with the error of each table whose metadata cannot be read.
    """
    return {name: state for name, _, state in _walk(lake, damaged)}


def known_states(lake: Lake) -> tuple[dict[str, GoldState], list[DamagedFile]]:
    """Return the states of all gold tables by name, and the errors of the tables whose metadata cannot be read.

    The result includes tables that the catalog lost and tables that cannot be read, if ops.tables has a row for them.
    The states have the holds that are recorded only in ops.tables, too.
    """
    unread: list[DamagedFile] = []
    found = gold_states(lake, unread.append)
    rows = read_tables(lake)
    by_identity, by_name = {(row.source, row.identity): row for row in rows}, rows_by_name(rows)
    states = {name: with_recorded_hold(s, by_identity.get((s.source, s.identity))) for name, s in found.items()}
    for error in unread:
        row = by_name.get(str(error.facts.get("table")))
        if row is not None and not is_sharded(row.identity):
            states[row.gold] = unread_state(row, error)
    states = lost_tables(lake, states.values(), unread) | states
    return dict(sorted(states.items())), unread


def lost_tables(lake: Lake, states: Iterable[GoldState], unread: Iterable[DamagedFile]) -> dict[str, GoldState]:
    """Return the states of lost tables by gold name.

    A table is lost if ops.tables has a row for it, but the table is neither in `states` (of the tables that were read)
    nor named by `unread` (the errors of the tables that could not be read).
    """
    there = {(state.source, state.identity) for state in states}
    named = {str(error.facts.get("table")) for error in unread}
    rows = (r for r in read_tables(lake) if (r.source, r.identity) not in there and r.gold not in named)
    return {row.gold: lost for row in rows if (lost := state_of_lost(lake, row)) is not None}


def state_of_lost(lake: Lake, row: TableRow) -> GoldState | None:
    """Return the state of a table that has a `row` in ops.tables but is not in the catalog.

    Return None if the table need not exist: the source dropped it, or the settings no longer include it.
    """
    source = lake.settings.sources.get(row.source)
    return lost_state(
        row, is_fed=source is not None and lake.settings.feeds(source, row.name, is_sharded(row.identity))
    )


def find_known(lake: Lake, name: str) -> GoldState:
    """Return the state of a gold table, also if the catalog lost it.

    If there is no such table, raise NotFound with the name of the most similar table.
    """
    try:
        return find_gold(lake, name)[1]
    except NotFound:
        if (lost := find_lost(lake, name)) is None:
            raise
        return lost


def find_lost(lake: Lake, name: str) -> GoldState | None:
    """Return the state of the lost table that ops.tables has under this gold name, or None if there is none."""
    row = rows_by_name(read_tables(lake)).get(name)
    return None if row is None else state_of_lost(lake, row)


def is_retired(lake: Lake, state: GoldState) -> bool:
    """Return whether the settings exclude a gold table, or do not have its source any more."""
    source = lake.settings.sources.get(state.source)
    return source is None or not feeds(lake.settings, source, state)


def feeds(settings: Settings, source: SourceSettings, state: GoldState) -> bool:
    """Return whether the settings still include a gold table of this source, so that it gets new changes."""
    return settings.feeds(source, state.table, is_sharded(state.identity))


def find_gold(lake: Lake, name: str) -> tuple[Table, GoldState]:
    """Load a gold table and its state. If there is none, raise NotFound with the name of the most similar table."""
    levels = [level.strip() for level in name.split(".")]
    table = lake.find(name) if len(levels) == 2 and all(levels) else None
    state = state_of(table.metadata) if table is not None else None
    if table is None or state is None:
        raise _unknown(lake, name)
    return table, state


def columns(lake: Lake, name: str) -> tuple[PublishedColumn, ...]:
    """Return the columns of a gold table in order, without Retable's own columns."""
    return _columns(*find_gold(lake, name))


def snapshot_of_cut(lake: Lake, name: str, window: str) -> int | None:
    """Return the snapshot id of a gold table in the newest consistent cut (one snapshot of every table) of a window.

    Return None if the table had no snapshot then. If the window has no rows, its cut is the cut of the window before
    it. Raise NotReady if the window has no cut, and NotFound if the table was created later.
    """
    _, state = find_gold(lake, name)
    cuts = read_cuts(lake, state.source)
    last = _window_of_cut(lake, state.source, window, cuts)
    if last is None:
        raise _no_cut(state.source, window)
    row = cuts.at(last).get(state.identity)
    if row is None:
        raise NotFound(
            f"{name} is not in the cut of {window}: the table was created in a later window", table=name, window=window
        )
    return row.snapshot_id


def read_cut(lake: Lake, source: str, window: str) -> dict[str, int | None]:
    """Return a consistent cut: the snapshot id of each gold table by name, after all changes of a window.

    Usually this is the window's own cut. If the window was replayed after later windows, it is the cut of a later
    window. A snapshot id is None if the table had no row then. Raise NotReady if there is no such cut.
    """
    cuts = read_cuts(lake, source)
    later = (each for each in cuts.windows if each > window)
    at = _window_of_cut(lake, source, window, cuts) or next(later, None)
    if at is None:
        raise _no_cut(source, window)
    # A dropped table may have the same name as a newer one; the newer one must win.
    rows = sorted(cuts.at(at).values(), key=lambda row: row.state != "dropped")
    return {row.table: row.snapshot_id for row in rows}


def read_as_of(lake: Lake, name: str, cut: Mapping[str, int | None]) -> pa.Table:
    """Return the rows of a gold table in a cut (`read_cut`). Raise NotFound if the cut does not have the table."""
    if name not in cut:
        raise NotFound(f"{name} is not in this cut; the cut has {', '.join(sorted(cut)) or 'no tables'}", table=name)
    nothing_yet = cut[name] is None
    with explained(lake.settings.lake):
        return _scan(lake, name, cut[name], limit=0 if nothing_yet else None).to_arrow()


def _window_of_cut(lake: Lake, source: str, window: str, cuts: Cuts) -> str | None:
    """Return the window whose cut is valid for `window`: this window or, if it had no rows, an earlier window.

    Return None if there is no such cut.
    """
    find_window(lake, source, window)
    last = last_cut(cuts.windows, window)
    own = last == window or _changed_nothing(lake, source, last or "", window)
    return last if own else None


def _no_cut(source: str, window: str) -> NotReady:
    return NotReady(
        f"the window {window} of {source} has no cut: either it is not replayed, or it was replayed after a later "
        f"window, or its cut was removed (setting `keep_cuts`); `retable status` shows the replayed windows",
        window=window,
    )


def _changed_nothing(lake: Lake, source: str, after: str, window: str) -> bool:
    """Return whether `window` is replayed, and no window after `after` up to `window` had rows."""
    since = {"window": after} if after else None
    rows = read_ledger(lake, source, at_least=since, until=window, stage="replay", of_tables=False)
    later = {row.window: row.counts.get("rows", 0) for row in rows if after < row.window <= window}
    return window in later and not any(later.values())


def read_rows(
    lake: Lake, name: str, snapshot_id: int | None = None, limit: int | None = None, all_columns: bool = False
) -> Iterator[pa.RecordBatch]:
    """Return the rows of a gold table, now or in a snapshot, with the columns that the table had then.

    Columns of Retable (`_retable_…`) are returned only if `all_columns` is set. `limit` is the maximum number of rows;
    it is not defined which rows are returned then.
    """
    with explained(lake.settings.lake):
        yield from _scan(lake, name, snapshot_id, limit, all_columns).to_arrow_batch_reader()


def read_rows_in_order(
    lake: Lake, name: str, snapshot_id: int | None, limit: int | None, all_columns: bool
) -> Iterator[pa.RecordBatch]:
    """Return the rows as `read_rows` does, but in the order of the key. If there is a `limit`, return the first rows.

    If the table has no key, or more than MOST_IN_ORDER rows, the rows come in the order of the data files.
    """
    table, state = find_gold(lake, name)
    names = {column.gold: column.name for column in state.columns}
    snapshot = table.metadata.current_snapshot() if snapshot_id is None else table.metadata.snapshot_by_id(snapshot_id)
    count = 0 if snapshot is None or snapshot.summary is None else int(snapshot.summary.get("total-records") or 0)
    if count > MOST_IN_ORDER:
        yield from read_rows(lake, name, snapshot_id, limit, all_columns)
        return
    with explained(lake.settings.lake):
        rows = _scan(lake, name, snapshot_id, None, all_columns).to_arrow()
    if key := [(each, "ascending") for each in rows.column_names if names.get(each) in state.keys]:
        rows = rows.sort_by(key)
    yield from rows.slice(0, limit).to_batches()


def _scan(
    lake: Lake, name: str, snapshot_id: int | None, limit: int | None = None, all_columns: bool = False
) -> DataScan:
    table, _ = find_gold(lake, name)
    if snapshot_id is not None and table.metadata.snapshot_by_id(snapshot_id) is None:
        raise NotFound(
            f"{name}: the snapshot {snapshot_id} has expired, so its rows can no longer be read",
            table=name,
            snapshot=snapshot_id,
        )
    scan = table.scan(snapshot_id=snapshot_id, limit=limit)
    names = [field.name for field in scan.projection().fields]
    return scan.select(*(n for n in names if all_columns or not n.startswith(_OWN)))


def _walk(lake: Lake, damaged: OnDamage) -> Iterator[tuple[str, Table, GoldState]]:
    """Return the gold tables with their names and states. Tables that are dropped meanwhile are skipped."""
    for name, table in lake.outside(_SYSTEM):
        if isinstance(table, DamagedFile):
            damaged(table)
            continue
        state = state_of(table.metadata)
        if state is not None and not _is_shadow(lake, state):
            yield name, table, state


def _is_shadow(lake: Lake, state: GoldState) -> bool:
    return state.source.startswith(SHADOW) and state.source not in lake.settings.sources


def _unknown(lake: Lake, name: str) -> NotFound:
    if find_lost(lake, name) is not None:
        return NotFound(f"{name}: {LOST.reason}; {LOST.remedy.replace('TABLE', name)}", table=name)
    states = gold_states(lake)
    if not states:
        return NotFound(
            f"there is no gold table {name!r}: the lake has no gold tables yet; `retable run SOURCE` creates them"
        )
    spellings = {spelling.lower(): gold for gold, state in states.items() for spelling in (str(state.table), gold)}
    near = difflib.get_close_matches(name.lower(), spellings, 1)
    hint = f"did you mean {spellings[near[0]]!r}? " if near else ""
    return NotFound(f"there is no gold table {name!r}; {hint}`retable tables` lists all {len(states)}", table=name)


def _columns(table: Table, state: GoldState) -> tuple[PublishedColumn, ...]:
    known = {column.field_id: column for column in state.columns}
    keys = {key.lower() for key in state.keys}
    return tuple(
        PublishedColumn(
            field.name,
            str(field.field_type).replace(" ", ""),
            own.name,
            own.source_type,
            own.default,
            own.name.lower() in keys,
        )
        for field in table.schema().fields
        if (own := known.get(field.field_id)) is not None and not field.name.startswith(_OWN)
    )


def _count(lake: Lake, table: Table) -> int:
    """Count the rows. Data is read only if a file has deleted rows, and then only one narrow column."""
    with explained(lake.settings.lake):
        return table.scan(selected_fields=(f"{SEQUENCE_COLUMN}.epoch",)).count()
