"""When all rows of a table are written anew: gold may have some that no event of the run tells how to find."""

from collections import Counter

from retable.gold.evolve import RewriteNeeded, RowsMissing
from retable.gold.state import KEEP_APPLIED, GoldState
from retable.gold.work import Work, counted_of
from retable.model.sequence import Sequence
from retable.replay.fold import Bounds, Folded, RowEvent
from retable.replay.images import TableReader

_READ_ONE_WAY = frozenset({"boolean", "int", "long"})
_SPELLED_ONE_WAY = frozenset({"decimal", "string"})
"""What is read one way too, but from Debezium, whose `decimal_mode` and `time_mode` tell how it stands."""


def check_findable(work: Work, reader: TableReader) -> None:
    """RewriteNeeded where gold lacks rows, or has some that were read otherwise, and no key tells which they are."""
    if work.rebuilds or work.state is None or work.retired:
        return
    lost = RowsMissing if work.left_out else RewriteNeeded
    if work.state.is_set_back:
        raise lost("its main branch was set back")
    if work.resumes:
        return
    if work.state.keys_are_set and not work.keys_are_set and _is_rekeyed(work.state, reader):
        raise RewriteNeeded("its key is not that of the settings any more")
    if not _is_read_otherwise(work):
        return
    if not _is_key_read_one_way(reader):
        raise RewriteNeeded("its rows were read otherwise before, and no key tells which they are")
    now = counted_of(work)
    rows = {work.windows[ordinal]: counted.rows for ordinal, counted in now.items()}
    for window, (_, before) in work.before.items():
        if rows.get(window, 0) < before.get("rows", 0):
            raise lost(f"{window} has {rows.get(window, 0)} rows of it, and had {before['rows']}")


def check_refused(work: Work, folded: Folded) -> None:
    """RewriteNeeded where more rows are refused than before: gold may have them, as they were read otherwise."""
    if work.retired or not folded.rejects or not _is_read_otherwise(work):
        return
    refused = Counter(work.windows[reject.event.ordinal] for reject in folded.rejects if reject.event.counted)
    known = {window: before.get("rejected", 0) for window, (_, before) in work.before.items()}
    if any(count > known.get(window, 0) for window, count in refused.items()):
        raise RewriteNeeded("some of its rows are refused now, which were read otherwise before")


def is_keyed_otherwise(work: Work, events: list[RowEvent], bounds: Bounds, changed: Sequence) -> bool:
    """Whether gold's rows do not have the key yet that they got at `changed`, or rows came that are older."""
    if work.rebuilds or work.state is None:
        return False
    older = (event for event in events if event.counted and event.sequence <= changed)
    return str(changed) not in work.state.changes or any(bounds.verdict(event) is None for event in older)


def _is_read_otherwise(work: Work) -> bool:
    """Whether gold has rows of these windows by other settings, or as they were decoded before.

    Of windows that gold no longer remembers, the ledger does.
    """
    if work.rebuilds or work.resumes or work.state is None:
        return False
    known = work.state.applied
    forgotten = min(known) if len(known) >= KEEP_APPLIED else ""
    before = {window: told for window, (told, _) in work.before.items() if told and window < forgotten} | known
    return any(before.get(window, identity) != identity for window, identity in work.applied.items())


def _is_rekeyed(state: GoldState, reader: TableReader) -> bool:
    known = {column.name: column.id for column in state.columns}
    return {known.get(name, name) for name in state.keys} != {reader.columns[at].id for at in reader.key_columns}


def _is_key_read_one_way(reader: TableReader) -> bool:
    """Whether rows have their key whatever the settings say of zones, dates, bytes and numbers."""
    columns = reader.history.final.columns
    one_way = _READ_ONE_WAY if reader.source_format == "debezium_json" else _READ_ONE_WAY | _SPELLED_ONE_WAY
    return bool(reader.keys) and all(columns[index].type.kind in one_way for index in reader.key_columns)
