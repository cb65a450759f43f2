"""A lake on disk: nothing is found where nothing is wrong, and each planted difference is found and named."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import EqualTo
from pyiceberg.types import StringType

from laws.story import SUPPORTED
from laws.test_laws import COLUMN_KINDS
from laws.world import HOUR, NOW
from retable.gold.state import GoldState, to_properties
from retable.ledger.lake.tables import BRONZE, QUARANTINE
from retable.ledger.rows import CutRow
from retable.ledger.windows.recording import read_windows
from retable.ledger.write import append_rows
from retable.schema_history.history import Hold
from retable.simulate import HELD_KINDS, Delivery
from retable.verify.bronze import against_bronze
from retable.verify.findings import Verification
from retable.verify.ledger import against_ledger
from retable.verify.rows import Share
from verify.conftest import STORY
from verify.filled import Filled, fill, record, window_row
from verify.pure import first_story


def names(filled: Filled) -> list[str]:
    """The tables with rows and a key, the one with most rows first."""
    states = filled.world.states()
    rows = {name: len(table.rows) for name, table in filled.world.catalog.tables.items() if states[name].keys}
    return sorted((name for name in rows if rows[name] > 1), key=lambda name: (-rows[name], name))


def bronze(filled: Filled, name: str, tmp_path: Path) -> Verification:
    (tmp_path / "spill").mkdir(exist_ok=True)
    return against_bronze(filled.lake, name, tmp_path / "spill", Share())


def codes(report: Verification) -> list[tuple[str, str]]:
    return [(finding.code, finding.where) for finding in report.findings]


def test_of_a_lake_that_is_right_nothing_is_found(filled: Filled, tmp_path: Path) -> None:
    assert names(filled)
    for name in filled.world.states():
        for report in (bronze(filled, name, tmp_path), against_ledger(filled.lake, name)):
            assert report.findings == ()
            assert report.is_equal
            assert report.checked["windows"] == 2
            assert report.checked["messages"] == sum(map(len, STORY.windows))


def test_a_row_that_somebody_deleted_is_missing_and_the_commit_is_named(filled: Filled, tmp_path: Path) -> None:
    name = names(filled)[0]
    key = filled.world.states()[name].keys[0].lower()
    table = filled.table(name)
    gone = table.scan().to_arrow().column(key)[0].as_py()
    table.delete(EqualTo(key, gone))
    report = bronze(filled, name, tmp_path)
    assert report.rows is not None
    assert report.findings == ()
    assert (report.rows.only_left, report.rows.only_right, report.rows.different) == (0, 1, 0)
    assert report.rows.samples[0].key == {key: str(gone)}
    told = against_ledger(filled.lake, name)
    made = table.refresh().current_snapshot()
    assert made is not None
    assert codes(told) == [("FOREIGN_COMMIT", str(made.snapshot_id))]
    assert "overwrite at " in told.findings[0].what
    assert "deleted-records" in told.findings[0].what
    others = [other for other in filled.world.states() if other != name]
    assert others
    assert all(bronze(filled, other, tmp_path).is_equal for other in others)
    assert all(against_ledger(filled.lake, other).is_equal for other in others)


def test_a_row_that_somebody_appended_is_found_twice(filled: Filled, tmp_path: Path) -> None:
    name = names(filled)[0]
    table = filled.table(name)
    table.append(table.scan().to_arrow().slice(0, 1))
    report = bronze(filled, name, tmp_path)
    assert report.rows is not None
    assert (report.rows.only_left, report.rows.only_right, report.rows.different) == (1, 0, 0)
    told = against_ledger(filled.lake, name)
    assert [code for code, _ in codes(told)] == ["FOREIGN_COMMIT"]
    assert "append at " in told.findings[0].what
    assert "added-records 1" in told.findings[0].what


def test_a_commit_of_a_run_that_the_ledger_does_not_know_is_named(filled: Filled) -> None:
    name = names(filled)[0]
    table = filled.table(name)
    table.append(table.scan().to_arrow().slice(0, 1), snapshot_properties={"retable.run": "run-2/20260301T0100Z"})
    told = against_ledger(filled.lake, name)
    assert [code for code, _ in codes(told)] == ["RUN_UNRECORDED"]
    assert "the run run-2," in told.findings[0].what


def test_a_main_that_was_moved_back_is_found(filled: Filled) -> None:
    name = names(filled)[0]
    table = filled.table(name)
    first = table.current_snapshot()
    assert first is not None
    table.append(table.scan().to_arrow().slice(0, 0), snapshot_properties={"retable.run": "run-1"})
    second = table.current_snapshot()
    assert second is not None
    identity = filled.world.states()[name].identity
    cut = CutRow(
        source="shop",
        window=filled.world.names[-1],
        revision=1,
        table=name,
        identity=identity,
        snapshot_id=second.snapshot_id,
        state="live",
        recorded_at=NOW + HOUR,
    )
    append_rows(filled.lake, [cut])
    assert against_ledger(filled.lake, name).is_equal
    table.manage_snapshots().rollback_to_snapshot(first.snapshot_id).commit()
    assert codes(against_ledger(filled.lake, name)) == [("MAIN_MOVED", str(second.snapshot_id))]
    table.append(table.scan().to_arrow().slice(0, 0), snapshot_properties={"retable.run": "run-1"})
    assert codes(against_ledger(filled.lake, name)) == [("MAIN_MOVED", str(second.snapshot_id))]


def test_a_changed_value_is_found_in_its_column(filled: Filled, tmp_path: Path) -> None:
    name = names(filled)[0]
    state = filled.world.states()[name]
    keys = {key.lower() for key in state.keys}
    column = next(c.gold for c in state.columns if c.gold not in keys and c.type.kind == "string")
    table = filled.table(name)
    rows = table.scan().to_arrow()
    values = ["changed by hand", *rows.column(column).to_pylist()[1:]]
    at = rows.schema.get_field_index(column)
    table.overwrite(rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type)))
    report = bronze(filled, name, tmp_path)
    assert report.rows is not None
    assert (report.rows.only_left, report.rows.only_right, report.rows.different) == (0, 0, 1)
    assert dict(report.rows.columns) == {column: 1}
    assert report.rows.samples[0].left == {column: "changed by hand"}


def test_a_column_that_somebody_added_or_widened_is_named(filled: Filled, tmp_path: Path) -> None:
    name = names(filled)[0]
    with filled.table(name).update_schema() as change:
        change.add_column("by_hand", StringType())
    report = bronze(filled, name, tmp_path)
    assert codes(report) == [("COLUMN", "by_hand")]
    assert report.rows is not None
    assert report.rows.is_equal


def test_a_message_that_bronze_lost_is_found(filled: Filled, tmp_path: Path) -> None:
    window = filled.world.names[0]
    table = filled.table("bronze.shop")
    rows = table.scan(row_filter=f"window = '{window}'").to_arrow()
    lost = rows.slice(len(rows) // 2, 1).to_pylist()[0]
    table.delete(f"window = '{window}' and offset = {lost['offset']} and partition = {lost['partition']}")
    name = names(filled)[0]
    told = against_ledger(filled.lake, name)
    assert codes(told) == [("MESSAGES_LOST", window), ("EVENT_WITHOUT_MESSAGE", window)]
    assert f"{lost['topic']}/{lost['partition']}@{lost['offset']}" in told.findings[1].what
    assert {finding.code for finding in bronze(filled, name, tmp_path).findings} == {"DECODED_OTHERWISE"}


def test_a_message_of_which_nothing_became_is_named(filled: Filled) -> None:
    window = filled.world.names[0]
    row = {"window": window, "topic": "shop", "partition": 7, "offset": 99, "value": b"{}"}
    filled.table("bronze.shop").append(pa.Table.from_pylist([row], schema=BRONZE.columns))
    told = against_ledger(filled.lake, names(filled)[0])
    assert codes(told) == [("MESSAGES_ADDED", window), ("MESSAGE_UNACCOUNTED", window)]
    assert "shop/7@99" in told.findings[1].what


def test_events_that_silver_lost_are_found(filled: Filled) -> None:
    window = filled.world.names[1]
    silver = filled.table("silver.shop")
    rows = silver.scan(row_filter=f"window = '{window}' and kind = 'row'").to_arrow()
    offset = pc.max(rows.column("offset")).as_py()
    silver.delete(f"window = '{window}' and kind = 'row' and offset = {offset}")
    found = {code for code, where in codes(against_ledger(filled.lake, names(filled)[0])) if where == window}
    assert found == {"SILVER_DIFFERS", "MESSAGE_UNACCOUNTED", "DECODED_SINCE"}


def test_quarantine_that_the_ledger_did_not_count_is_found(filled: Filled) -> None:
    window = filled.world.names[1]
    message = filled.table("bronze.shop").scan(row_filter=f"window = '{window}'").to_arrow().to_pylist()[0]
    place = {name: message[name] for name in ("topic", "partition", "offset")}
    row = {"stage": "decode", "window": window, **place, "code": "MALFORMED"}
    filled.table("quarantine.shop").append(pa.Table.from_pylist([row], schema=QUARANTINE.columns))
    assert codes(against_ledger(filled.lake, names(filled)[0])) == [("QUARANTINE_DIFFERS", window)]


def test_a_gap_between_windows_is_found(filled: Filled) -> None:
    last = read_windows(filled.lake, "shop")[-1]
    row = window_row(3)
    record(filled.lake, row)
    gap = against_ledger(filled.lake, names(filled)[0])
    assert codes(gap) == [
        ("WINDOW_NUMBER", row["window"]),
        ("WINDOW_GAP", row["window"]),
        ("OBJECT_GAP", row["window"]),
    ]
    assert f"{last.name}, ends at" in gap.findings[1].what


def test_windows_that_overlap_and_share_an_object_are_found(filled: Filled) -> None:
    first = read_windows(filled.lake, "shop")[0]
    row = window_row(2, start=first.end + HOUR - timedelta(minutes=30))
    row["objects"][0] |= {"key": "0.jsonl", "etag": "0"}
    record(filled.lake, row)
    report = against_ledger(filled.lake, names(filled)[0])
    assert codes(report) == [("WINDOW_OVERLAP", row["window"]), ("OBJECT_TWICE", row["window"])]
    assert f"0.jsonl is also in the window {first.name}" in report.findings[1].what


def _is_renamed(state: GoldState) -> bool:
    return not state.identity.startswith(f"{state.table}@")


def test_tables_that_were_renamed_are_found_under_every_name_that_they_had(tmp_path: Path) -> None:
    def wanted(states: Mapping[str, GoldState]) -> bool:
        return any(_is_renamed(state) and len(state.high_water) for state in states.values())

    filled = fill(tmp_path / "lake", first_story(wanted, "canal_json", Delivery(windows=2), SUPPORTED))
    assert all(bronze(filled, name, tmp_path).is_equal for name in filled.world.states())


def test_held_tables_are_compared_up_to_the_hold_or_as_they_stand(tmp_path: Path) -> None:
    def wanted(states: Mapping[str, GoldState]) -> bool:
        return {state.hold.position is None for state in states.values() if state.hold} == {True, False}

    late = Delivery(2, "any", 3, 0.4, 0.2, True, True)
    filled = fill(tmp_path / "lake", first_story(wanted, "streamx_json", late, (*COLUMN_KINDS, *HELD_KINDS)))
    for name, state in filled.world.states().items():
        report = bronze(filled, name, tmp_path)
        assert report.is_equal, name
        if state.hold is not None:
            where = "in its present state" if state.hold.position is None else f"at {state.hold.position}"
            assert report.notes[0].startswith(f"the gold table is held {where} ({state.hold.code})")


def test_a_hold_that_gold_lost_is_found(tmp_path: Path) -> None:
    def held(states: Mapping[str, GoldState]) -> list[tuple[str, Hold]]:
        found = [(name, state.hold) for name, state in states.items() if state.hold is not None]
        return [(name, hold) for name, hold in found if hold.code == "UNSUPPORTED_CHANGE" and hold.position]

    filled = fill(tmp_path / "lake", first_story(held, "canal_json", Delivery(windows=1), (*SUPPORTED, *HELD_KINDS)))
    name, hold = held(filled.world.states())[0]
    filled.table(name).transaction().remove_properties("retable.hold").commit_transaction()
    assert ("HOLD", str(hold.position)) in codes(bronze(filled, name, tmp_path))


def test_windows_that_wait_below_replayed_ones_are_noted(filled: Filled, tmp_path: Path) -> None:
    name, window = names(filled)[0], filled.world.names[0]
    filled.table("ops.ledger").delete(f"window = '{window}' and stage = 'replay'")
    state = filled.world.states()[name]
    applied = {key: text for key, text in state.applied.items() if key != window}
    with filled.table(name).transaction() as change:
        change.set_properties(**{"retable.applied": to_properties(replace(state, applied=applied))["retable.applied"]})
    report = bronze(filled, name, tmp_path)
    assert report.notes == (f"1 windows from {window} on are not replayed yet: gold does not have their rows",)
    assert not report.is_equal
