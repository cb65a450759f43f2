"""Each class of changes that the bench of scale measures, replayed by tasks on a cluster: gold is what it must be.

An executor is killed in each pass of a replay: where tasks fold, where they look gold's rows up, and where they write.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from functools import partial
from itertools import count, islice
from pathlib import Path

import pyarrow as pa
import pytest

from bench.replay.feed import FIRST, HOUR
from bench.scale import classes
from bench.scale.__main__ import compare, settings_of, write_messages
from bench.scale.classes import CLASSES, Message, Window
from retable.ledger.lake.catalog import open_lake
from retable.model.window import window_name
from retable.settings.load import load_settings
from servers.clusters import Driver
from servers.lake_shop import lake_text
from servers.parts import Moment, Parts

ROWS = 20_000
WINDOWS = 2
"""Of the classes that have many: each takes three stages."""
KILLED_AT = (Moment.A_TASK, Moment.A_SEARCH, Moment.A_FILE)
"""When an executor is killed, each in a window of its own, behind one that gives gold rows in several files."""

IN_SEVERAL_FILES = '[tables."shop.t"]\npartition = ["bucket(4, id)"]\n'


def parted(window: Window, parts: int) -> list[Window]:
    """The messages of a window in several ones."""
    ends = [ROWS * at // parts for at in range(1, parts)]

    def part(first: int, end: int | None) -> Iterator[Message]:
        return islice(window(), first, end)

    return [partial(part, *each) for each in zip([0, *ends], [*ends, None], strict=True)]


@pytest.mark.parametrize("of", CLASSES)
def test_gold_is_right_by_tasks_on_a_cluster(
    parts: Parts, driver: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setattr(classes, "_LATE_WINDOWS", WINDOWS)
    monkeypatch.setattr(classes, "_LOAD_WINDOWS", WINDOWS)
    made, kills = CLASSES[of].make(ROWS), KILLED_AT if of == "plain" else ()
    # A window has 20,000 rows, or 10,000, or 5,000 where it is killed: two tasks at least, one for each worker.
    rows_a_task = "3000" if kills else "7000"
    windows, killed_at = made.windows, dict[int, Moment]()
    if kills:
        windows = [windows[0], *parted(windows[1], 1 + len(kills))]
        killed_at = dict(enumerate(kills, 2))
    file, landing = tmp_path / "retable.toml", tmp_path / "in"
    text = settings_of(of, lake_text(parts.place(f"class_{of}")), str(landing))
    file.write_text(text + IN_SEVERAL_FILES if kills else text, encoding="utf-8")
    offsets = count()

    def run(stage: str, hour: int, window: str) -> None:
        now = (FIRST + (hour + 1) * HOUR + timedelta(minutes=2)).isoformat()
        told = {"stage": stage, "settings": str(file), "window": window, "now": now, "run": "run"}
        ended = driver.run(**told, rows_a_task=rows_a_task)
        assert ended.code == 0, f"{stage} of hour {hour}: {ended.said}"

    for hour, window in enumerate(windows):
        write_messages(landing, window, f"{FIRST + hour * HOUR:%Y-%m-%dT%H}", offsets)
        for stage in ("land", "decode", "replay"):
            with ExitStack() as stack:
                if stage == "replay" and hour in killed_at:
                    stack.enter_context(parts.killing("worker", killed_at[hour], stage))
                run(stage, hour, window_name(FIRST + hour * HOUR))
    if CLASSES[of].act == "rebuild":
        run("rebuild", len(windows), CLASSES[of].gold)
    gold = open_lake(load_settings(file)).load(CLASSES[of].gold).scan().to_arrow_batch_reader()
    compare((pa.Table.from_batches([batch]) for batch in gold), made)
