"""The laws on Spark and Iceberg, a bounded number of times: what holds in memory holds there, and gold is the same."""

from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from pyspark.sql import SparkSession

from laws.machine import Lake, Machine
from laws.spark_world import open_world, replay_as_in_memory
from laws.story import SUPPORTED, Story, tell
from retable.simulate import HELD_KINDS, Delivery

STORIES = (
    (tell(1, "streamx_json", Delivery(2, "any", 3, 0.2, 0.2, True), 40), [2, 0, 1]),
    (tell(2, "canal_json", Delivery(windows=3), 40), [0, 1, 2]),
    (tell(3, "canal_json", Delivery(windows=2), 60, (*SUPPORTED, *HELD_KINDS)), [1, 0]),
)


@pytest.mark.parametrize(("story", "order"), STORIES, ids=str)
def test_gold_on_spark_is_the_source_and_equals_gold_in_memory(
    story: Story, order: list[int], spark: SparkSession, tmp_path: Path
) -> None:
    replay_as_in_memory(story, order, tmp_path / "lake")


def test_a_lake_on_spark_keeps_its_promises_whatever_happens_to_it(spark: SparkSession, tmp_path: Path) -> None:
    numbers = count()

    class OnSpark(Machine):
        MOST_CHANGES = 20

        def open(self, story: Story) -> Lake:
            return open_world(story, tmp_path / str(next(numbers)))

    # A failing example is not made smaller here: the machine in memory does that better.
    run_state_machine_as_test(
        OnSpark,
        settings=settings(
            max_examples=3,
            stateful_step_count=6,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            derandomize=True,
            database=None,
        ),
    )
