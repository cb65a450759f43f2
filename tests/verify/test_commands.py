"""`retable verify`, `retable diff` and `retable plan`, as a person and as a script read them."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pyiceberg.expressions import AlwaysTrue
from typer.testing import Result

from laws.world import FIRST, HOUR, NOW
from retable.cli.look import plan as plan_command
from retable.freshness.gate import format_time
from retable.gold.state import to_properties
from retable.ledger.read import read_ledger
from retable.ledger.write import append_rows
from retable.model.sequence import Sequence
from retable.model.window import window_start
from retable.schema_history.history import Hold
from verify.filled import Filled, record, window_row

Retable = Callable[..., Result]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the moment at which the last of the two windows ended."""
    monkeypatch.setattr(plan_command, "now", lambda: FIRST + 2 * HOUR)


def biggest(filled: Filled) -> str:
    states, tables = filled.world.states(), filled.world.catalog.tables
    return max((name for name in tables if states[name].keys), key=lambda name: len(tables[name].rows))


# --- verify ------------------------------------------------------------------------------------------------------
def test_verify_of_a_table_that_is_right_ends_with_0(retable: Retable, filled: Filled) -> None:
    result = retable("verify", biggest(filled))
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"{biggest(filled)} against bronze: equal (2 windows, " in result.stderr
    assert f"{biggest(filled)} against ledger: equal (2 windows, " in result.stderr


def test_verify_of_a_source_verifies_each_of_its_tables(retable: Retable, filled: Filled) -> None:
    tables = sorted(filled.world.catalog.tables)
    source = filled.world.states()[tables[0]].source
    result = retable("verify", source, "--against", "ledger", "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert len(found) > 1
    assert [each["table"] for each in found] == tables
    assert {each["equal"] for each in found} == {True}
    name = biggest(filled)
    filled.table(name).append(filled.table(name).scan().to_arrow().slice(0, 1))
    result = retable("verify", source, "--against", "ledger")
    assert result.exit_code == 4
    assert result.stderr.count("DIFFERENT") == 1
    assert f"{name} against ledger: DIFFERENT" in result.stderr


def test_verify_of_a_source_names_a_table_that_was_dropped_in_the_catalog(retable: Retable, filled: Filled) -> None:
    name = biggest(filled)
    source = filled.world.states()[name].source
    filled.lake.catalog.drop_table(name)
    result = retable("verify", source, "--against", "ledger", "--json")
    assert result.exit_code == 4
    lost = {
        each["table"]: each["reports"][0]["findings"][0]["code"]
        for each in json.loads(result.stdout)
        if not each["equal"]
    }
    assert lost == {name: "LOST"}


def test_verify_of_a_table_that_is_not_ends_with_4_and_shows_what(retable: Retable, filled: Filled) -> None:
    name = biggest(filled)
    rows = filled.table(name).scan().to_arrow()
    filled.table(name).append(rows.slice(0, 1))
    result = retable("verify", name)
    assert result.exit_code == 4
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["ROWS", "COUNT"]
    assert lines[1].split() == ["only", "in", "gold", "1"]
    assert any(line.startswith("ledger   FOREIGN_COMMIT") for line in lines)
    assert f"{name} against bronze: DIFFERENT" in result.stderr
    assert retable("verify", name, "--against", "bronze").stdout.count("FOREIGN_COMMIT") == 0
    told = json.loads(retable("verify", name, "--against", "ledger", "--json").stdout)
    assert (told["equal"], [report["against"] for report in told["reports"]]) == (False, ["ledger"])
    assert [finding["code"] for finding in told["reports"][0]["findings"]] == ["FOREIGN_COMMIT"]


def test_the_parts_of_a_table_that_are_verified_are_said(retable: Retable, filled: Filled) -> None:
    name = biggest(filled)
    parts = [
        json.loads(retable("verify", name, "--against", "bronze", "--part", f"{number}/3", "--json").stdout)
        for number in (1, 2, 3)
    ]
    rows = [part["reports"][0]["rows"]["gold"] for part in parts]
    assert sum(rows) == len(filled.world.catalog.tables[name].rows)
    assert all(rows)
    assert [part["reports"][0]["part"] for part in parts] == ["1/3", "2/3", "3/3"]
    assert "part 2 of 3 of the keys: equal" in retable("verify", name, "--part", "2/3").stderr


@pytest.mark.parametrize("part", ["0/3", "4/3", "1", "a/b", "1/0"])
def test_what_is_no_part_is_told(retable: Retable, filled: Filled, part: str) -> None:
    result = retable("verify", biggest(filled), "--part", part)
    assert result.exit_code == 1
    assert "write 3/16 for the third of sixteen" in " ".join(result.stderr.replace("│", " ").split())


def test_verify_of_an_unknown_table_gives_the_nearest(retable: Retable, filled: Filled) -> None:
    result = retable("verify", f"{biggest(filled)}x")
    assert result.exit_code == 1
    assert f"did you mean '{biggest(filled)}'?" in result.stderr


# --- diff --------------------------------------------------------------------------------------------------------
def test_a_diff_tells_rows_by_key_and_columns_by_identity(retable: Retable, filled: Filled) -> None:
    name = biggest(filled)
    state = filled.world.states()[name]
    table = filled.table(name)
    before = table.current_snapshot()
    assert before is not None
    table.manage_snapshots().create_tag(before.snapshot_id, "month-end").commit()
    rows = table.refresh().scan().to_arrow()
    other = next(column.gold for column in state.columns if column.name not in state.keys)
    with table.update_schema() as change:
        change.rename_column(other, "renamed")
    table.overwrite(
        rows.slice(1).rename_columns([("renamed" if n == other else n) for n in rows.column_names]), AlwaysTrue()
    )
    told = json.loads(retable("diff", name, "month-end", "now", "--json").stdout)
    assert told["key"] == [key.lower() for key in state.keys]
    assert [(each["change"], each["a"]["name"], each["b"]["name"]) for each in told["columns"]] == [
        ("renamed", other, "renamed")
    ]
    assert {key: told["rows"][key] for key in ("a", "b", "only_in_a", "only_in_b", "different")} == {
        "a": len(rows),
        "b": len(rows) - 1,
        "only_in_a": 1,
        "only_in_b": 0,
        "different": 0,
    }
    for asked in (str(before.snapshot_id), filled.world.names[-1], "month-end"):
        assert json.loads(retable("diff", name, asked, "now", "--json").stdout)["a"]["snapshot"] == before.snapshot_id
    lines = retable("diff", name, "month-end", "now")
    assert lines.exit_code == 0
    assert lines.stdout.splitlines()[1].startswith("renamed")
    assert "compared by" in lines.stderr
    last = filled.world.names[-1]
    ends = format_time(window_start(last) + HOUR)
    assert f"{last} (after this window, which ends at {ends}; snapshot " in retable("diff", name, last, "now").stderr
    assert "different" in lines.stderr


def test_a_diff_at_times(retable: Retable, filled: Filled) -> None:
    name = biggest(filled)
    table = filled.table(name)
    entry = table.history()[-1]
    told = json.loads(retable("diff", name, "2000-01-01T00:00:00Z", "2999-01-01T00:00:00+08:00", "--json").stdout)
    assert (told["a"]["snapshot"], told["b"]["snapshot"]) == (None, entry.snapshot_id)
    assert (told["rows"]["a"], told["rows"]["only_in_b"]) == (0, told["rows"]["b"])
    assert told["columns"] == []
    same = retable("diff", name, "now", "now")
    assert (same.exit_code, same.stdout) == (0, "")
    assert "equal" in same.stderr


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("yesterday", "'yesterday' is not a state of"),
        ("2026-03-01T05:00:00", "has no time zone"),
        ("12345", "the snapshot 12345 has expired"),
        ("20200101T0000Z", "has no window 20200101T0000Z"),
    ],
)
def test_what_is_no_state_is_told(retable: Retable, filled: Filled, asked: str, words: str) -> None:
    result = retable("diff", biggest(filled), asked, "now")
    assert result.exit_code == 1
    assert words in result.stderr


# --- plan --------------------------------------------------------------------------------------------------------
def test_a_lake_that_is_up_to_date_has_nothing_to_do(retable: Retable) -> None:
    result = retable("plan")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "shop: nothing is stale, held or behind\n"
    assert json.loads(retable("plan", "shop", "--json").stdout)[0]["stale"] == []


def test_a_changed_setting_makes_the_windows_of_its_table_stale_and_no_others(
    retable: Retable, filled: Filled, tmp_path: Path
) -> None:
    name = biggest(filled)
    source = str(filled.world.states()[name].table)
    settings = tmp_path / "lake" / "retable.toml"
    text = settings.read_text(encoding="utf-8")
    section = f'[tables."{source}"]\n'
    changed = text.replace(section, f'{section}zero_date = "null"\n')
    settings.write_text(changed if changed != text else f'{text}\n{section}zero_date = "null"\n', encoding="utf-8")
    told = json.loads(retable("plan", "--json").stdout)[0]
    assert {each["table"] for each in told["stale"]} == {name}
    assert {tuple(each["because"]) for each in told["stale"]} == {("settings",)}
    windows = [each["window"] for each in told["stale"]]
    assert windows
    assert set(windows) <= set(filled.world.names)
    assert any("`retable run shop --from " in step for step in told["steps"])
    assert "stale" in retable("plan").stdout


def test_a_window_that_was_decoded_anew_is_stale(retable: Retable, filled: Filled) -> None:
    window = filled.world.names[1]
    silver = filled.table("silver.shop")
    rows = silver.scan(row_filter=f"window = '{window}'").to_arrow()
    silver.overwrite(rows, f"window = '{window}'", snapshot_properties={"retable.window": window})
    decoded = next(
        row for row in read_ledger(filled.lake, "shop", window) if (row.stage, row.table) == ("decode", None)
    )
    append_rows(filled.lake, [replace(decoded, identity="an older one", recorded_at=NOW + HOUR)])
    told = json.loads(retable("plan", "--json").stdout)[0]
    assert {(each["window"], *each["because"]) for each in told["stale"]} == {(window, "silver", "decoder")}


def test_what_waits_and_what_is_held_is_told(retable: Retable, filled: Filled, tmp_path: Path) -> None:
    record(filled.lake, window_row(2), window_row(3))
    name = biggest(filled)
    hold = Hold("ZERO_DATE", "a zero date", Sequence(0, 7, 0), None, None, "set zero_date")
    held = replace(filled.world.states()[name], state="held", hold=hold)
    with filled.table(name).transaction() as change:
        change.set_properties(**{key: text for key, text in to_properties(held).items() if "hold" in key})
    (tmp_path / "lake" / "landing" / "new.jsonl").write_text("{}\n", encoding="utf-8")
    told = json.loads(retable("plan", "--json").stdout)[0]
    second, third = (str(window_row(number)["window"]) for number in (2, 3))
    assert told["behind"] == [{"window": window, "next": "land"} for window in (second, third)]
    assert [(each["table"], each["code"], each["position"]) for each in told["held"]] == [(name, "ZERO_DATE", "0.7.0")]
    assert told["new_objects"] == 1
    lines = retable("plan").stdout.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["behind", "held"]
    assert f"{second} to {third}" in lines[1]


def test_windows_that_have_ended_unrecorded_are_counted(
    retable: Retable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plan_command, "now", lambda: FIRST + timedelta(hours=7, minutes=1))
    assert json.loads(retable("plan", "--json").stdout)[0]["windows_ended"] == 5
    (tmp_path / "lake" / "landing").rmdir()
    told = json.loads(retable("plan", "--json").stdout)[0]
    assert told["new_objects"] is None
    assert "there is no folder" in told["steps"][0]


def test_a_plan_warns_of_a_pattern_that_matches_no_table(retable: Retable, filled: Filled, tmp_path: Path) -> None:
    settings = tmp_path / "lake" / "retable.toml"
    settings.write_text(
        settings.read_text(encoding="utf-8") + '\n[tables."shop.nothing"]\nsla = "1h"\n', encoding="utf-8"
    )
    told = retable("plan").stderr
    assert 'warning: [tables."shop.nothing"] matches no known table' in told
