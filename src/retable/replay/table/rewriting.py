"""Rules that decide when all rows of a gold table must be written again, because changing single rows is not enough."""

from collections import Counter
from collections.abc import Callable

from retable.errors import LateChange, PartitionUnfit
from retable.fold.bounds import Bounds
from retable.fold.fold import Folded
from retable.fold.images import TableReader
from retable.formats.registry import find_format
from retable.gold.evolve import Evolution, RewriteNeeded, RowsMissing, plan_evolution
from retable.gold.state import KEEP_APPLIED, GoldState
from retable.gold.store import GoldTable
from retable.model.row_event import RowEvent
from retable.model.sequence import Sequence
from retable.replay.events.shares import EVENTS_AT_ONCE
from retable.replay.table.horizon import retention_floor
from retable.replay.table.next_state import new_truncations
from retable.replay.table.table_replay import ReplayPlan, TableReplay, counted_of
from retable.schema_history.history import TableHistory
from retable.schema_history.shards.columns import differs_by_shard

DROP_IT = "drop the gold table in the catalog; a rebuild then creates it again"
_READ_ONE_WAY = frozenset({"boolean", "int", "long"})
_SPELLED_ONE_WAY = frozenset({"decimal", "string"})
"""Values of these types are also read in only one way, except if options of the format decide how numbers are read."""


def evolution_of(work: TableReplay, table: GoldTable, reader: TableReader, names: dict[str, str]) -> Evolution:
    """Return the steps that change gold's columns to those of the table's newest schema.

    `names` are the gold names of columns by identity. Raise RewriteNeeded if all rows must be written again, LateChange
    if gold would lose a column or get a narrower type, or PartitionUnfit if gold is partitioned by a dropped column.
    """
    history = reader.history
    known = () if work.state is None else work.state.columns
    by_name = work.replaces_all or work.state is None
    try:
        evolution = plan_evolution(table.fields(), known, history.final.columns, names, by_name)
    except LateChange as narrower:
        if not history.shards:
            raise
        raise RewriteNeeded(narrower.message) from narrower
    applied = tuple(str(change.position) for change in history.changes if change.status == "applied")
    if work.state is not None and not work.replaces_all and evolution.drops and applied == work.state.changes:
        raise LateChange(
            f"late rows show another schema than the present one of gold; gold would lose the column "
            f"{evolution.drops[0]!r}"
        )
    if parting := table.parting().intersection(evolution.drops):
        raise PartitionUnfit(
            f"{work.gold} is partitioned by {min(parting)}, so Iceberg cannot drop this column; {DROP_IT}"
        )
    written = [name for name, column in evolution.adds if reader.defaults[column.id] is not None]
    if written and not (work.replaces_all or table.is_empty or table.has_defaults()):
        raise RewriteNeeded(f"format v2 does not support the defaults of {len(written)} new columns")
    _check_alike(work, evolution, history)
    return evolution


def rewritten_in_tasks(
    work: TableReplay, decide: Callable[[TableReplay], ReplayPlan | None]
) -> tuple[TableReplay, ReplayPlan] | None:
    """Let tasks fold all rows of a big table again. Return what was folded (`TableReplay`) and the plan.

    Return None if the driver must fold the rows: they are not many, or `decide` returns None. `decide` lets tasks fold
    the rows, and returns the plan. The rows of other windows may be counted again for the ledger. But a window is not
    counted if it has rejected rows and is not one of this run's windows. A later run replays and counts it.
    """
    batches = work.whole()
    plan = decide(anew := work.rewritten_from(batches)) if batches else None
    if plan is None:
        return None
    refused = {work.windows[reject.event.ordinal] for reject in plan.folded.rejects} - work.applied.keys()
    if refused:
        anew = work.rewritten_from(batches, refused)
    folded = plan.folded
    counted = {work.ordinals[window] for window in anew.applied}
    folded.verdicts = Counter({of: count for of, count in folded.verdicts.items() if of[0] in counted})
    folded.rejects = [reject for reject in folded.rejects if reject.event.ordinal in counted]
    return anew, plan


def may_rewrite(work: TableReplay) -> bool:
    """Return whether a window that needs all rows of the table writes them all again, by tasks.

    It does if they are too many for one process, and if silver has all of them.
    """
    if work.has_all or retention_floor(work.state, work.history) is not None or work.left_out():
        return False
    return sum(batch.source.num_rows for batch in work.whole()) > EVENTS_AT_ONCE


def check_findable(work: TableReplay, reader: TableReader) -> None:
    """Raise RewriteNeeded if gold lacks rows, or has rows that this run cannot find by key to replace them.

    This is so after a rollback of gold, and after a change of settings that changes how keys are read.
    """
    if work.replaces_all or work.retired:
        return
    if work.state is None:
        return
    if work.state.is_set_back:
        raise _lost(work)("the main branch of the gold table was rolled back")
    if work.is_relabelled:
        raise RewriteNeeded("one of its source tables has another name now")
    if work.lifts_hold:
        return
    if work.history.shards and not reader.keys and new_truncations(work, reader.history):
        raise RewriteNeeded("one of its source tables was truncated, and no key identifies the rows of this table")
    if work.state.keys_are_set and not work.keys_are_set and is_rekeyed(work.state, reader):
        raise RewriteNeeded("the settings no longer set its key")
    if not _is_read_otherwise(work):
        return
    if not _is_key_read_one_way(reader):
        raise RewriteNeeded("its rows were read differently before, and no key identifies them")
    rows = {work.windows[ordinal]: counted.rows for ordinal, counted in counted_of(work).items()}
    for window, (_, before) in work.before.items():
        if rows.get(window, 0) < before.get("rows", 0):
            raise _lost(work)(
                f"in the window {window}, silver has {rows.get(window, 0)} rows of the table now, and had "
                f"{before['rows']} before"
            )


def _lost(work: TableReplay) -> type[RewriteNeeded]:
    """Return the error for rows that gold lacks: RowsMissing if silver lacks rows too, so a rewrite would lose them."""
    return RowsMissing if work.left_out() else RewriteNeeded


def _check_alike(work: TableReplay, evolution: Evolution, history: TableHistory) -> None:
    """Raise RewriteNeeded if the columns of several source tables are combined differently than in gold's rows."""
    if work.replaces_all or work.state is None or not history.shards:
        return
    there = {name for name, _ in evolution.renames} | set(evolution.order)
    known = {column.id: column.default for column in work.state.columns}
    if evolution.adds and evolution.drops:
        raise RewriteNeeded(f"another column replaced {evolution.drops[0]} in its source tables")
    final = history.final.columns
    adds = {column.id for _, column in evolution.adds}
    for at, column in enumerate(final):
        if column.id in adds and (differs_by_shard(column) or any(s.has_dropped(at) for s in history.shards)):
            raise RewriteNeeded(f"older rows of its source tables have values in {column.name}")
    if any(to in there for _, to in evolution.renames):
        raise RewriteNeeded("a column of its source tables got the name of another column")
    if changed := [column.name for column in final if known.get(column.id, column.default) != column.default]:
        raise RewriteNeeded(f"the default of {changed[0]} changed")


def check_refused(work: TableReplay, folded: Folded) -> None:
    """Raise RewriteNeeded if more rows are rejected (refused) than in the former replay of the same windows.

    Gold may then have rows that the former replay accepted.
    """
    if work.retired or not folded.rejects or not _is_read_otherwise(work):
        return
    refused = Counter(work.windows[reject.event.ordinal] for reject in folded.rejects if reject.event.counted)
    known = {window: before.get("rejected", 0) for window, (_, before) in work.before.items()}
    if any(count > known.get(window, 0) for window, count in refused.items()):
        raise RewriteNeeded("some of its rows are rejected now, and were read differently before")


def takes_new_key(work: TableReplay, history: TableHistory) -> bool:
    """Return whether a statement that gold does not have yet changes the primary key, so all rows are written again."""
    if work.has_all or work.state is None or work.keys_are_set or not history.rekeyed:
        return False
    return str(history.rekeyed[-1]) not in work.state.changes


def is_keyed_otherwise(work: TableReplay, events: list[RowEvent], bounds: Bounds, changed: Sequence) -> bool:
    """Return whether gold's rows do not have the newest key yet, or some new rows are older than the newest key.

    `changed` is the position of the last statement that changed the key. `bounds` decides which of `events` count.
    """
    if work.replaces_all or work.state is None:
        return False
    older = (event for event in events if event.counted and event.sequence <= changed)
    return str(changed) not in work.state.changes or any(bounds.verdict(event) is None for event in older)


def _is_read_otherwise(work: TableReplay) -> bool:
    """Return whether gold has rows of these windows that were read with other settings or decoded differently.

    The state of gold has only its newest windows. For older windows, use the ledger.
    """
    if work.has_all or work.state is None:
        return False
    known = work.state.applied
    forgotten = min(known) if len(known) >= KEEP_APPLIED else ""
    before = {
        window: identity for window, (identity, _) in work.before.items() if identity and window < forgotten
    } | known
    return any(before.get(window, identity) != identity for window, identity in work.applied.items())


def is_rekeyed(state: GoldState, reader: TableReader) -> bool:
    """Return whether the key columns of `reader` (by the present schema) differ from the key columns of gold's rows."""
    known = {column.name.lower(): column.id for column in state.columns}
    return {known.get(name.lower(), name) for name in state.keys} != {
        reader.columns[at].id for at in reader.key_columns
    }


def _is_key_read_one_way(reader: TableReader) -> bool:
    """Return whether the values of the key do not depend on the settings for time zones, dates, bytes and numbers."""
    columns = reader.history.final.columns
    may_vary = find_format(reader.source_format).options_decide_numbers
    one_way = _READ_ONE_WAY if may_vary else _READ_ONE_WAY | _SPELLED_ONE_WAY
    return bool(reader.keys) and all(columns[index].type.kind in one_way for index in reader.key_columns)
