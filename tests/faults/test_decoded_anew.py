"""A window that was replayed, and then decoded anew with another outcome: its next replay fails, and is run again."""

import json
from pathlib import Path
from typing import Any

import pytest

from faults.killing import LAST, kill
from faults.uninterrupted import NOW, Uninterrupted, assert_balanced, copy_lake, gold, left_behind, replay_again, rows
from retable.decode.spark import decode
from retable.errors import Fenced
from retable.gold.state import SEQUENCE_COLUMN
from retable.ledger.lake.catalog import open_lake
from retable.replay.spark import replay
from retable.session import build_session
from retable.settings.load import load_settings

CHECKPOINT = "cp1_dml"
ROWS_CHANGE = "gold_shop.trunc_me"
ONLY_PROPERTIES_CHANGE = "gold_crm.customers"
RUN = "scheduled"
KEYLESS = "shop.events_nopk@base"


def untied(tables: dict[str, Any]) -> dict[str, Any]:
    """The same without the sequences of the table that has no key, which is written anew.

    Of equal rows nothing tells which change brought which.
    """
    name, columns, state, rows = tables[KEYLESS]
    assert state.keys == ()
    values = sorted(json.dumps({**json.loads(row), SEQUENCE_COLUMN: None}) for row in rows)
    return {**tables, KEYLESS: (name, columns, state, values)}


@pytest.fixture(scope="module")
def decoded_anew(uninterrupted: Uninterrupted, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a lake whose window was replayed without its long messages, which silver has now."""
    folder = tmp_path_factory.mktemp("decoded-anew")
    uninterrupted.before(CHECKPOINT, folder)
    file, window = folder / "retable.toml", uninterrupted.windows[CHECKPOINT]
    whole = file.read_text(encoding="utf-8")
    for text in (f"{whole}max_message = 1024\n", whole):
        file.write_text(text, encoding="utf-8")
        settings = load_settings(file)
        lake, session = open_lake(settings), build_session(settings, "retable tests")
        if decode(session, lake, settings.source("erp"), window, RUN, NOW).counts["quarantined"]:
            replay_again(session, lake, window, RUN)
    assert rows(lake) != uninterrupted.rows[CHECKPOINT]
    return folder


def test_a_replay_that_is_killed_before_the_record_and_run_again_leaves_no_old_record(
    decoded_anew: Path, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    lake = open_lake(settings := copy_lake(decoded_anew, tmp_path))
    kill(uninterrupted, CHECKPOINT, tmp_path, RUN, (": published", LAST))
    replay_again(build_session(settings, "retable tests"), lake, uninterrupted.windows[CHECKPOINT], RUN)
    assert untied(gold(lake)) == untied(uninterrupted.gold[CHECKPOINT])
    assert_balanced(lake)


@pytest.mark.parametrize("table", [ROWS_CHANGE, ONLY_PROPERTIES_CHANGE])
def test_a_commit_that_lost_its_race_is_no_success_though_a_run_of_this_name_published_before(
    table: str, decoded_anew: Path, uninterrupted: Uninterrupted, tmp_path: Path
) -> None:
    lake = open_lake(settings := copy_lake(decoded_anew, tmp_path))
    session, window = build_session(settings, "retable tests"), uninterrupted.windows[CHECKPOINT]

    def win(step: str) -> None:
        if step == f"{table}: before publishing":
            session.sql(f"ALTER TABLE lake.{table} SET TBLPROPERTIES ('retable.comment' = 'somebody else was here')")

    with pytest.raises(Fenced, match=table):
        replay(session, lake, settings.source("erp"), window, RUN, NOW, win)
    replay_again(session, lake, window, RUN)
    assert untied(gold(lake)) == untied(uninterrupted.gold[CHECKPOINT])
    assert_balanced(lake)
    assert left_behind(lake) == []
