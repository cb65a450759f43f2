"""Consistent cuts: each row stands until a newer one of its table, and no run loses or takes back another's."""

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retable.ledger import cuts
from retable.ledger.cuts import Cuts, TableSnapshot, read_cuts, record_cut
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import CutRow
from retable.ledger.write import append_rows
from retable.settings.load import Settings
from retable.upkeep import system

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
W5, W6, W7, W8 = (f"20260301T0{hour}00Z" for hour in range(5, 9))
A, B = "a", "b"


@pytest.fixture
def lake(lake_settings: Settings) -> Lake:
    return open_lake(lake_settings)


def _record(lake: Lake, snapshots: dict[str, int | None], window: str = W5, state: str = "live") -> list[tuple]:
    """Record a cut; give the rows that came, by table, revision and snapshot."""
    before = read_cuts(lake, "erp")
    tables = {table: TableSnapshot(f"gold_shop.{table}", snapshot, state) for table, snapshot in snapshots.items()}
    record_cut(lake, "erp", window, tables, NOW, before, lambda gold: None)
    return [(row.identity, row.revision, row.snapshot_id) for row in read_cuts(lake, "erp").rows[len(before.rows) :]]


def _at(cuts: Cuts, window: str) -> dict[str, int | None]:
    return {identity: row.snapshot_id for identity, row in cuts.at(window).items()}


def test_a_cut_has_a_new_revision_only_where_a_reader_sees_something_else(lake: Lake) -> None:
    assert _record(lake, {A: 1, B: 2}) == [(A, 0, 1), (B, 0, 2)]
    assert _record(lake, {A: 1, B: 2}) == _record(lake, {}) == []
    assert _record(lake, {B: 3}) == [(B, 1, 3)]
    assert _record(lake, {B: 3}, state="held") == [(B, 2, 3)]
    assert _at(read_cuts(lake, "erp"), W5) == {A: 1, B: 3}


def test_a_window_has_a_cut_of_its_own_though_nothing_changed_in_it(lake: Lake) -> None:
    _record(lake, {A: 1})
    assert _record(lake, {A: 1}, W6) == [("", 0, None)]
    assert _record(lake, {}, W6) == []
    cuts = read_cuts(lake, "erp")
    assert cuts.windows == [W5, W6]
    assert _at(cuts, W6) == _at(cuts, W5) == {A: 1}


def test_a_table_that_did_not_change_has_no_row_and_is_in_every_later_cut(lake: Lake) -> None:
    _record(lake, {A: 1, B: 2})
    assert _record(lake, {A: 3}, W6) == [(A, 0, 3)]
    cuts = read_cuts(lake, "erp")
    assert (_at(cuts, W5), _at(cuts, W6), _at(cuts, W7)) == ({A: 1, B: 2}, {A: 3, B: 2}, {A: 3, B: 2})


def test_a_late_window_changes_the_newest_cut_and_no_older_one(lake: Lake) -> None:
    _record(lake, {A: 1}, W5)
    _record(lake, {A: 2}, W7)
    assert _record(lake, {A: 3, B: 4}, W6) == [(A, 1, 3), (B, 1, 4)]
    cuts = read_cuts(lake, "erp")
    assert (_at(cuts, W5), _at(cuts, W6), _at(cuts, W7)) == ({A: 1}, {A: 1}, {A: 3, B: 4})


def _row(window: str, revision: int, table: str, snapshot: int) -> CutRow:
    return CutRow(
        source="erp",
        window=window,
        revision=revision,
        table=f"gold_shop.{table}",
        identity=table,
        snapshot_id=snapshot,
        state="live",
        recorded_at=NOW,
    )


def test_cuts_that_name_every_table_in_every_window_read_the_same(lake: Lake) -> None:
    append_rows(lake, [_row(W5, 0, A, 1), _row(W5, 0, B, 2), _row(W6, 0, A, 3), _row(W6, 0, B, 2)])
    append_rows(lake, [_row(W6, 1, A, 3), _row(W6, 1, B, 4)])
    assert _record(lake, {A: 3, B: 4}, W6) == []
    assert _record(lake, {A: 5}, W7) == [(A, 0, 5)]
    cuts = read_cuts(lake, "erp")
    assert (_at(cuts, W5), _at(cuts, W6), _at(cuts, W7)) == ({A: 1, B: 2}, {A: 3, B: 4}, {A: 5, B: 4})


def test_of_the_last_windows_every_revision_is_needed_and_of_older_ones_the_newest_row_of_each_table(
    lake: Lake,
) -> None:
    append_rows(lake, [_row(W5, 0, A, 1), _row(W5, 0, B, 2), _row(W6, 0, A, 3), _row(W7, 0, A, 4), _row(W7, 1, A, 5)])
    append_rows(lake, [_row(W8, 0, A, 6)])
    needed = read_cuts(lake, "erp").since(2)
    assert sorted((row.identity, row.snapshot_id) for row in needed) == [(A, 4), (A, 5), (A, 6), (B, 2)]


def test_pruned_cuts_are_the_last_ones_as_they_were_and_older_windows_have_none(lake: Lake, monkeypatch) -> None:
    append_rows(lake, [_row(W5, 0, A, 1), _row(W5, 0, B, 2), _row(W6, 0, A, 3), _row(W7, 0, A, 4), _row(W8, 0, A, 5)])
    before = read_cuts(lake, "erp")
    monkeypatch.setattr(system, "_MANY", 1)
    assert system.prune_cuts(lake, 2, "run") == 2
    after = read_cuts(lake, "erp")
    assert after.windows == [W7, W8]
    assert (_at(after, W7), _at(after, W8)) == (_at(before, W7), _at(before, W8))
    assert _at(after, W6) == {}
    assert system.prune_cuts(lake, 2, "run") == 0


@dataclass
class _Gold:
    """Tables of gold, each with a number of snapshots."""

    snapshots: dict[str, int] = field(default_factory=lambda: {A: 0, B: 0})

    def find(self, name: str) -> TableSnapshot:
        return TableSnapshot(f"gold_shop.{name}", self.snapshots[name], "live")

    def named(self, gold: str) -> TableSnapshot:
        return self.find(gold.removeprefix("gold_shop."))


@dataclass
class _Run:
    """A replay of one window: it begins, commits its tables to gold one by one, and records its cut."""

    window: str
    tables: list[str]
    before: Cuts | None = None
    snapshots: dict[str, TableSnapshot] = field(default_factory=dict)
    done: bool = False
    cut: str = ""

    def step(self, lake: Lake, gold: _Gold) -> None:
        if self.before is None:
            self.before = read_cuts(lake, "erp")
        elif len(self.snapshots) < len(self.tables):
            table = self.tables[len(self.snapshots)]
            gold.snapshots[table] += 1
            self.snapshots[table] = gold.find(table)
        elif not self.done:
            self.done = True
            self.cut = record_cut(lake, "erp", self.window, self.snapshots, NOW, self.before, gold.named)

    def is_held_by(self, cut: dict[str, int | None]) -> bool:
        """Whether a cut has what this run left, or something newer."""
        return all((cut.get(table) or 0) >= (left.snapshot_id or 0) for table, left in self.snapshots.items())


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_runs_of_one_source_that_overlap_in_any_way_keep_every_cut(data: st.DataObject) -> None:
    chosen = st.lists(st.sampled_from([A, B]), min_size=1, unique=True)
    runs = [_Run(window, data.draw(chosen)) for window in data.draw(st.permutations([W5, W6, W7]))]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        lake, gold = _lake(Path(folder)), _Gold()

        def meanwhile(*_: object) -> list[CutRow]:
            """Between what a run reads of the cuts and what it records others may do anything."""
            rows = read(*_)
            if data.draw(st.booleans()):
                step()
            return rows

        def step() -> None:
            waiting = [run for run in runs if not run.done]
            if waiting:
                data.draw(st.sampled_from(waiting)).step(lake, gold)

        read = cuts.cuts_of
        patch.setattr(cuts, "cuts_of", meanwhile)
        now = Cuts([])
        while not all(run.done for run in runs):
            older = {window: now.at(window) for window in now.windows[:-1]}
            step()
            now = Cuts(read(lake, lake.find("ops.cuts"), "erp"))
            assert {window: now.at(window) for window in older} == older
            assert all(run.is_held_by(_at(now, run.cut)) for run in runs if run.cut)
    touched = {table for run in runs for table in run.tables}
    assert _at(now, W8) == {table: gold.snapshots[table] for table in touched}


def _lake(folder: Path) -> Lake:
    return open_lake(
        Settings.model_validate({"lake": {"catalog": f"sqlite:///{folder}/c.db", "warehouse": str(folder / "w")}})
    )


def test_the_clock_of_a_run_decides_nothing(lake: Lake) -> None:
    tables = {A: TableSnapshot("gold_shop.a", 1, "live")}
    record_cut(lake, "erp", W5, tables, NOW + timedelta(days=1), read_cuts(lake, "erp"), lambda gold: None)
    tables = {A: TableSnapshot("gold_shop.a", 2, "live")}
    record_cut(lake, "erp", W5, tables, NOW, read_cuts(lake, "erp"), lambda gold: None)
    assert _at(read_cuts(lake, "erp"), W5) == {A: 2}


def test_a_table_of_an_older_retable_gets_the_columns_that_it_lacks(lake: Lake) -> None:
    shape = OPS["ops.cuts"]
    older = pa.schema([column for column in shape.columns if column.name != "committed"])
    lake.catalog.create_namespace("ops")
    table = lake.catalog.create_table("ops.cuts", older, lake.new_location("ops"), properties=shape.properties)
    with table.update_spec() as spec:
        spec.add_identity("source")
    table.append(pa.Table.from_pylist([asdict(_row(W5, 0, A, 1))], schema=older))
    assert _record(lake, {A: 2}, W6) == [(A, 0, 2)]
    assert _at(read_cuts(lake, "erp"), W5) == {A: 1}
