"""Each class of changes that the bench of scale measures, replayed by tasks on a cluster: gold is what it must be.

An executor is killed in each pass of a replay: where tasks fold, where they look gold's rows up, and where they write.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import chain, count, islice
from pathlib import Path

import pyarrow as pa
import pytest

from bench.replay.feed import FIRST, HOUR
from bench.scale import classes
from bench.scale.__main__ import compare, settings_of, write_messages
from bench.scale.classes import CLASSES, Made, Message, Window
from retable.ledger.lake.catalog import open_lake
from retable.model.window import window_name
from retable.settings.load import load_settings
from servers.clusters import Driver
from servers.lake_shop import lake_text
from servers.parts import Moment, Parts

ROWS = 20_000
WINDOWS = 2
"""Of the classes that have many."""

KILLED = "rebuild"
"""The class with the killed executors. Its messages are those of `plain`, which needs no turn of its own."""
KILLED_AT = (Moment.A_TASK, Moment.A_SEARCH, Moment.A_FILE)
"""When an executor is killed, each in a window of its own, after one that gives gold rows in several files."""
IN_SEVERAL_FILES = '[tables."shop.t"]\npartition = ["bucket(4, id)"]\n'


def told(windows: list[Window], first: int = 0, end: int | None = None) -> Iterator[Message]:
    return islice(chain.from_iterable(window() for window in windows), first, end)


def windows_of(of: str, made: Made) -> list[Window]:
    """The messages of a class in as few windows as it can have, for each costs three stages.

    Its first window is put before its second. It is a window of its own where the second changes its rows.
    """
    if of == "shift":
        return made.windows
    if of == KILLED:
        ends = [ROWS * at // (1 + len(KILLED_AT)) for at in range(1, 1 + len(KILLED_AT))]
        return [partial(told, made.windows, *part) for part in zip([0, *ends], [*ends, None], strict=True)]
    return [partial(told, made.windows[:2]), *made.windows[2:]]


@pytest.mark.parametrize("of", sorted(CLASSES.keys() - {"plain"}))
def test_gold_is_right_by_tasks_on_a_cluster(
    parts: Parts, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setattr(classes, "_LATE_WINDOWS", WINDOWS)
    monkeypatch.setattr(classes, "_LOAD_WINDOWS", WINDOWS)
    made = CLASSES[of].make(ROWS)
    windows, kills = windows_of(of, made), dict(enumerate(KILLED_AT, 1)) if of == KILLED else {}
    # A window has 10,000 rows or more, or 5,000 where it is killed: two tasks at least, one for each worker.
    rows_a_task = "3000" if kills else "7000"
    file, landing, place = tmp_path / "retable.toml", tmp_path / "in", parts.place(f"class_{of}")
    if not kills:
        # Executors reach a store of S3 where they are killed. A folder takes half of the time.
        place = replace(place, warehouse=str(tmp_path / "lake"))
    text = settings_of(of, lake_text(place), str(landing))
    file.write_text(text + IN_SEVERAL_FILES if kills else text, encoding="utf-8")
    offsets = count()

    def run(stage: str, hour: int, window: str) -> None:
        now = (FIRST + (hour + 1) * HOUR + timedelta(minutes=2)).isoformat()
        asked = {"stage": stage, "settings": str(file), "window": window, "now": now, "run": "run"}
        ended = driver.run(**asked, rows_a_task=rows_a_task)
        assert ended.code == 0, f"{stage} of hour {hour}: {ended.said}"

    def check() -> None:
        gold = open_lake(load_settings(file)).load(CLASSES[of].gold).scan().to_arrow_batch_reader()
        compare((pa.Table.from_batches([batch]) for batch in gold), made)

    for hour, window in enumerate(windows):
        name = window_name(FIRST + hour * HOUR)
        write_messages(landing, window, f"{FIRST + hour * HOUR:%Y-%m-%dT%H}", offsets)
        run("land", hour, name)
        run("decode", hour, name)
        with parts.killing("worker", kills[hour], "replay") if hour in kills else nullcontext():
            run("replay", hour, name)
    check()
    if CLASSES[of].act == "rebuild":
        run("rebuild", len(windows), CLASSES[of].gold)
        check()
