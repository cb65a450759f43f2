"""A run of a later window that begins and ends while a replay is on its way."""

from pathlib import Path

import pytest

from faults.uninterrupted import NOW, Uninterrupted, assert_balanced, left_behind, replay_again, rows
from retable.errors import Fenced
from retable.ledger.lake.catalog import open_lake
from retable.replay.spark import replay
from retable.session import build_session


def test_a_replay_that_another_overtakes_does_not_put_back_what_it_knew_before(
    uninterrupted: Uninterrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One table after the other: all but the first are only known, not yet loaded, when the other run comes by.
    monkeypatch.setattr("retable.replay.run.THREADS", 1)
    settings = uninterrupted.before("cp1_dml", tmp_path)
    lake, session = open_lake(settings), build_session(settings, "retable tests")
    earlier, later = (uninterrupted.windows[name] for name in ("cp1_dml", "cp2_columns"))
    steps: list[str] = []

    def overtake(step: str) -> None:
        steps.append(step)
        if len(steps) == 1:
            replay_again(build_session(settings, "retable tests"), lake, later, "overtaking")

    with pytest.raises(Fenced):
        replay(session, lake, settings.source("erp"), earlier, "overtaken", NOW, overtake)
    replay_again(session, lake, earlier, "overtaken")
    assert rows(lake) == uninterrupted.rows["cp2_columns"]
    assert_balanced(lake)
    assert left_behind(lake) == []
