"""Apply retention: drop whole old windows of bronze and quarantine, and rows of silver that are not needed any more.

Each gold table records its new retention floor (the greatest sequence of a dropped row) before its rows are dropped
from silver. If a run dies in between, the recorded floors are too high, and the next run continues.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.expressions import LessThan, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.manifest import DataFile
from pyiceberg.table import FileScanTask, Table

from retable.gold.read import find_gold
from retable.gold.state import FLOOR_PROPERTY, RUN_PROPERTY, floor_json
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import FileReader, PartitionWriter
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import SAME_STATEMENTS
from retable.ledger.retained import KEPT_FROM, KeptLayer, kept_from_of
from retable.model.event import TableName
from retable.settings.sources import SourceSettings
from retable.upkeep.outlook import Retained, owners
from retable.upkeep.retention import Cut, Owner, Stay, plan_floors
from retable.upkeep.silver_rows import READ, extents, rows_of

STAYS = "retable.stays"
"""The property of silver with the IDs of the tables whose rows before the horizon (the oldest window that silver has in
full) were not dropped. The commit that drops rows also sets it."""

SetProperty = Callable[[str, str, str], None]
"""A function that sets a property of a gold table. Its arguments are the gold name, the property and the value."""

_WINDOWS = 48
"""The maximum number of windows of silver that one commit drops."""

_MOVED = Stay("another run changed its gold table meanwhile; the next upkeep tries again")


@dataclass(slots=True)
class Dropped:
    """What retention dropped from a layer: the number of windows and rows.

    `notes` say which old windows or rows must stay, and why.
    """

    windows: int = 0
    rows: int = 0
    notes: tuple[str, ...] = ()


def drop_whole(lake: Lake, layer: KeptLayer, source: str, cut: Cut, run_id: str) -> Dropped:
    """Drop the windows of bronze or quarantine before `cut.kept_from`, in one commit. Return what was dropped."""
    table, kept, notes = lake.find(f"{layer}.{source}"), cut.kept_from, cut.notes
    if table is None or kept is None or kept == kept_from_of(table):
        return Dropped(notes=notes)
    tasks = _behind(lake, table, kept)
    at = [field.name for field in table.spec().fields].index("window")
    _commit(lake, table, tasks, [], {KEPT_FROM: kept}, kept, run_id)
    rows = sum(task.file.record_count for task in tasks)
    return Dropped(len({task.file.partition[at] for task in tasks}), rows, notes)


def drop_silver(
    lake: Lake, source: SourceSettings, retained: Retained, run_id: str, set_property: SetProperty
) -> Dropped:
    """Drop old row changes of silver that gold already contains. Return what was dropped.

    These are row changes in windows before the new horizon, `retained.cuts["silver"].kept_from`. The horizon is the
    oldest window that silver has in full. DDL statements stay, and so do the rows of tables that still need them.
    `set_property` sets a property of a gold table. Before rows are dropped, it is used to record in each gold table, by
    source partition, the greatest sequence of the rows that are dropped.
    """
    table, cut = lake.find(f"silver.{source.name}"), retained.cuts["silver"]
    kept = cut.kept_from
    if table is None or kept is None:
        return Dropped(notes=cut.notes)
    known = owners(lake, source)
    recorded, before = set(json.loads(table.properties.get(STAYS, "[]"))), kept_from_of(table)
    needed = {owner.identity for owner in known.values() if owner.stay}
    if kept == before and recorded <= needed:
        return Dropped(notes=(*cut.notes, *format_stays(known, {})))
    since = FIRST_WINDOW if before is None or not recorded <= needed else before
    tasks = [task for task in _behind(lake, table, kept) if since <= task.file.partition[0]]
    reader = _Reader(table, tasks)
    stays = _raise_floors(lake, reader, known, retained.through, set_property)
    dropped = _drop(lake, source, reader, known, stays, kept, run_id)
    dropped.notes = (*cut.notes, *format_stays(known, stays))
    return dropped


class _Reader:
    """Reads the row changes of some files of silver by window.

    `rows` are the files with row changes. `notes` are the files of other kinds than rows and statements, which no
    process reads.
    """

    def __init__(self, table: Table, tasks: Iterable[FileScanTask]) -> None:
        self.table = table
        self.rows: dict[str, list[FileScanTask]] = {}
        self.notes: dict[str, list[FileScanTask]] = {}
        for task in tasks:
            window, kind = task.file.partition[0], task.file.partition[1]
            if kind != "schema":
                (self.rows if kind == "row" else self.notes).setdefault(window, []).append(task)

    @property
    def windows(self) -> list[str]:
        return sorted({*self.rows, *self.notes})

    def read(self, window: str, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        """Yield the row changes of a window, one table for each file, with these columns."""
        reader = FileReader(self.table.io, self.table.metadata, columns)
        for task in self.rows.get(window, ()):
            batches = list(reader.read(task))
            if batches:
                yield pa.Table.from_batches(batches)

    def read_whole(self, window: str) -> pa.Table:
        names = tuple(field.name for field in self.table.schema().fields)
        return pa.concat_tables(self.read(window, names))


# --- floors ------------------------------------------------------------------------------------------------------
def _raise_floors(
    lake: Lake, reader: _Reader, known: Mapping[TableName, Owner], through: int, set_property: SetProperty
) -> dict[TableName, Stay]:
    """Raise the retention floors of gold tables. Return the tables whose rows must stay, including tables not in gold.

    `through` is the number of the last window up to which all windows are replayed.
    """
    found = ((window, extents(rows)) for window in reader.windows for rows in reader.read(window, READ))
    floors = plan_floors(found, known, through)
    stays = dict(floors.stays)
    for gold, floor in floors.raised.items():
        mine = {name: owner for name, owner in known.items() if owner.gold == gold}
        state = next(iter(mine.values())).state
        if find_gold(lake, gold)[1] != state:
            stays |= dict.fromkeys(mine, _MOVED)
        elif state is not None and floor != state.floor:
            set_property(gold, FLOOR_PROPERTY, floor_json(floor))
    return stays


# --- dropping ----------------------------------------------------------------------------------------------------
def _drop(
    lake: Lake,
    source: SourceSettings,
    reader: _Reader,
    known: Mapping[TableName, Owner],
    stays: Mapping[TableName, Stay],
    kept: str,
    run_id: str,
) -> Dropped:
    """Drop row changes of silver window by window, several windows in one commit. Each commit moves the horizon."""
    dropped = Dropped()
    recorded = {STAYS: json.dumps(sorted({known[name].identity for name in stays if name in known}))}
    names = reader.windows
    groups = [names[at : at + _WINDOWS] for at in range(0, len(names), _WINDOWS)] or [[]]
    for number, windows in enumerate(groups, start=1):
        gone: list[FileScanTask] = []
        come: list[DataFile] = []
        for window in windows:
            files, made, count = _window(reader, stays, window)
            gone, come = gone + files, come + made
            dropped.rows += count
            dropped.windows += bool(files)
        properties = {KEPT_FROM: kept, **recorded} if number == len(groups) else {KEPT_FROM: groups[number][0]}
        _commit(lake, lake.load(f"silver.{source.name}"), gone, come, properties, kept, run_id)
    return dropped


def _window(
    reader: _Reader, stays: Mapping[TableName, Stay], window: str
) -> tuple[list[FileScanTask], list[DataFile], int]:
    """Write a new file with the rows of a window that stay.

    Return the files to drop, the new file (none if no row stays), and the number of dropped rows.
    """
    notes, files = reader.notes.get(window, []), reader.rows.get(window, [])
    names = [name for name, stay in stays.items() if stay.holds(window)]
    rows = reader.read_whole(window) if files and names else None
    stay = None if rows is None else rows_of(rows, names)
    if rows is not None and stay is not None and stay.num_rows == rows.num_rows:
        return notes, [], 0
    writer = PartitionWriter(reader.table.io, reader.table.metadata)
    made = [writer.write(stay, {"window": window, "kind": "row"})] if stay is not None and stay.num_rows else []
    before = sum(task.file.record_count for task in files)
    return [*notes, *files], made, before - (0 if stay is None else stay.num_rows)


def format_stays(known: Mapping[TableName, Owner], stays: Mapping[TableName, Stay]) -> tuple[str, ...]:
    """Return a note for each table whose rows before the horizon stay in silver: the table's name, and the reason.

    The horizon is the oldest window that silver has in full. The name is the table's name in gold, or its name in the
    source if it is not in gold. `known` has the tables by name in the source. The field `stay` of each is its reason,
    or None if no rows must stay. `stays` has more reasons, also by name in the source. It may have tables that are not
    in `known`. If both have a reason for a table, the note has the reason in `stays`.
    """
    found = {str(name): stay.reason for name, stay in stays.items() if name not in known}
    for name, owner in known.items():
        stay = stays.get(name, owner.stay)
        if stay is not None:
            found[owner.gold or str(name)] = stay.reason
    return tuple(f"silver keeps old rows of {name}: {reason}" for name, reason in sorted(found.items()))


def _behind(lake: Lake, table: Table, kept: str) -> list[FileScanTask]:
    """Return the data files of all windows before the window `kept`, except pieces of baselines."""
    with explained(lake.settings.lake):
        tasks = list(table.scan(row_filter=LessThan(term=Reference("window"), value=literal(kept))).plan_files())
    at = [field.name for field in table.spec().fields].index("window")
    return [task for task in tasks if str(task.file.partition[at]) > FIRST_WINDOW]


def _commit(
    lake: Lake,
    table: Table,
    gone: Iterable[FileScanTask],
    come: Iterable[DataFile],
    properties: Mapping[str, str],
    kept: str,
    run_id: str,
) -> None:
    """Remove the files `gone`, add the files `come`, and set properties, in one commit.

    Raise ConflictError if another process removed one of the files meanwhile.
    """
    gone, come = list(gone), list(come)
    with explained(lake.settings.lake), table.transaction() as transaction:
        transaction.set_properties(dict(properties))
        if gone or come:
            said = {RUN_PROPERTY: run_id, SAME_STATEMENTS: "true"}
            with transaction.update_snapshot(snapshot_properties=said).overwrite() as change:
                # With this predicate, manifests that cannot hold one of the files are not opened.
                change.delete_by_predicate(LessThan(term=Reference("window"), value=literal(kept)))
                for task in gone:
                    change.delete_data_file(task.file)
                for file in come:
                    change.append_data_file(file)
