"""The same stages on a cluster, Kafka in front, S3 and PostgreSQL behind: gold is the truth, whoever is killed.

Killed are real processes, with SIGKILL: the broker, the store (its objects are files), the database of the catalog, a
worker with what it runs. Two proxies only tell when: what they see of the lake's requests says how far a stage is.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from captures.test_expected import CAPTURES, END, STREAMS, differences, expected
from laws.spark_world import gold_of
from retable.ledger.lake.catalog import Lake, open_lake
from retable.model.window import window_name
from retable.settings.load import Settings, load_settings
from retable.verify.ledger import against_ledger
from servers.clusters import Driver
from servers.lake_shop import lake_text
from servers.parts import LAYERS, Moment, Parts
from servers.test_catalog_faults import assert_whole
from servers.test_kafka_genuine import assert_bronze_is, cut, first_hour, genuine, make_topics, named, produce

HOUR, DELAY = timedelta(hours=1), timedelta(minutes=2)
MOST_CHANGED = 5
"""Of so many tables the ledger is verified: for each of them all windows of the source are."""

STOPS = {"canal_mariadb": ["cp1_dml", "cp3_types", "final"], "debezium_postgres": ["cp1_dml", "final"]}
"""By stream the checkpoints at which its hours end; one more has the rest of it."""

IN_TASKS = {"debezium_postgres": "20"}
"""The streams that tasks replay, of so many rows each."""

A_TASK, _, A_FILE, ALL_FILES, COMMITTED = Moment

KILLS: dict[str, dict[tuple[int, str], tuple[str, Moment]]] = {
    "canal_mariadb": {
        (0, "decode"): ("store", ALL_FILES),
        (1, "land"): ("catalog", COMMITTED),
        (1, "replay"): ("catalog", ALL_FILES),
        (2, "land"): ("broker", COMMITTED),
        (2, "replay"): ("store", COMMITTED),
    },
    "debezium_postgres": {
        (0, "land"): ("broker", A_FILE),
        (0, "replay"): ("catalog", COMMITTED),
        (2, "replay"): ("worker", A_TASK),
        # Of many topics each worker has some to read, and is killed in the midst of it.
        (1, "land"): ("worker", A_FILE),
        (1, "decode"): ("worker", COMMITTED),
        (1, "replay"): ("worker", A_FILE),
    },
}
"""By stream who is killed when, while which window is at which stage."""


@dataclass(slots=True)
class Replayed:
    """A stream that the parts land, decode and replay, hour by hour, each when its messages have come."""

    parts: Parts
    driver: Driver
    file: Path
    first: datetime
    rows_a_task: str
    told: list[str] = field(default_factory=list)
    """What those runs said that are to be tried again."""

    @property
    def settings(self) -> Settings:
        return load_settings(self.file)

    @property
    def lake(self) -> Lake:
        """The lake, opened anew: connections of before may be to a server that is dead."""
        return open_lake(self.settings)

    def run(self, stage: str, hour: int, run: str) -> int:
        """Run a stage once, and give how it ended: it is done, or to be tried again."""
        window, now = window_name(self.first + hour * HOUR), self.first + (hour + 1) * HOUR + DELAY
        told = {"stage": stage, "settings": str(self.file), "window": window, "now": now.isoformat()}
        ended = self.driver.run(**told, run=run, rows_a_task=self.rows_a_task)
        assert ended.code in (0, 3), f"{stage} of hour {hour}: {ended.said}"
        if ended.code:
            self.told.append(f"{stage} of hour {hour}: {ended.said}")
        return ended.code

    def run_until_done(self, stage: str, hour: int, run: str, most: int = 5) -> None:
        for attempt in range(most):
            if self.run(stage, hour, f"{run}{attempt}") == 0:
                return
        pytest.fail(f"not done after {most} runs: {self.told}")

    def snapshots(self) -> dict[str, int | None]:
        """The snapshot of every table that a run may change, but for the ledger's own."""
        lake = self.lake
        names = [".".join(name) for level in lake.catalog.list_namespaces() for name in lake.catalog.list_tables(level)]
        return {name: lake.load(name).metadata.current_snapshot_id for name in names if not name.startswith("ops.")}


def test_each_part_is_killed_before_a_commit_and_before_its_answer() -> None:
    killed = {(part, moment is COMMITTED) for kills in KILLS.values() for part, moment in kills.values()}
    assert killed == set(product(("broker", "store", "catalog", "worker"), (True, False)))


@pytest.mark.parametrize("stream", KILLS)
def test_gold_equals_the_source_at_checkpoints_though_each_part_is_killed(
    parts: Parts, driver: Driver, tmp_path: Path, stream: str
) -> None:
    (kind, truth, checkpoints), stops, kills = STREAMS[stream], STOPS[stream], KILLS[stream]
    messages = list(genuine(stream))
    file = tmp_path / "retable.toml"
    file.write_text(lake_text(parts.place(stream)) + make_topics(parts.broker, kind, messages), encoding="utf-8")
    replayed = Replayed(parts, driver, file, first_hour(messages), IN_TASKS.get(stream, ""))
    windows = cut(messages, replayed.settings, stops)
    held: dict[str, str] = {}
    for hour, (stop, delivered) in enumerate(zip([*stops, END], windows, strict=True)):
        produce(parts.broker, delivered)
        for stage in LAYERS:
            if (hour, stage) in kills:
                with parts.killing(*kills[hour, stage], stage):
                    replayed.run(stage, hour, "killed")
            replayed.run_until_done(stage, hour, "run")
        gold = gold_of(replayed.lake)
        held |= {name: each.hold.code for name, each in gold.items() if each.hold and name not in held}
        if stop != END:
            found: Any = differences(gold, replayed, CAPTURES / truth / stop)  # type: ignore[arg-type]  # settings are all it asks
            assert dict(found) == named(stream, checkpoints.index(stop)), stop
    assert held == {gold: code for gold, code, *_ in expected("Held tables", stream)}
    lake = replayed.lake
    assert_bronze_is(lake, messages)
    assert_whole(lake)
    for name in sorted(gold, key=lambda name: -len(lake.load(name).snapshots()))[:MOST_CHANGED]:
        assert against_ledger(lake, name).findings == (), name
    before = replayed.snapshots()
    for hour in sorted({hour for hour, _ in kills}):
        for stage in LAYERS:
            replayed.run_until_done(stage, hour, "again")
    assert replayed.snapshots() == before
