"""What a replay reads of other windows for keys that gold is ahead of."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from captures.test_expected import messages_of
from laws.spark_world import open_lake_in
from retable.gold.store import LateKeys
from retable.model.event import TableName
from retable.model.sequence import LOWEST, Sequence
from retable.replay.spark import SparkRows


def test_a_keys_story_is_read_from_any_sequence_on_the_lowest_too(tmp_path: Path, spark: SparkSession) -> None:
    world = open_lake_in(tmp_path, "debezium_json", "")
    window = world.deliver(messages_of("debezium_postgres")[:300])
    rows, table = SparkRows(world.session, world.lake, "shop"), TableName("shopdb", "sales", "orders")
    every: list[Any] = sorted(rows.table_rows(window, {table}), key=_sequence)
    middle = every[len(every) // 2]
    keys, hashes = tuple(middle["keys"]), frozenset({middle["key_hash"]})
    story = [row for row in every if not hashes.isdisjoint((row["key_hash"], row["old_key_hash"]))]
    assert len(story) > 1

    def read(since: Sequence) -> list[Sequence]:
        return sorted(map(_sequence, rows.table_rows(window, {table}, LateKeys(hashes, keys, since))))

    assert read(LOWEST) == list(map(_sequence, story))
    for since in map(_sequence, story):
        assert read(since) == [each for each in map(_sequence, story) if each.hi >= since.hi]


def _sequence(row: dict[str, object]) -> Sequence:
    told = row["sequence"]
    assert isinstance(told, dict)
    return Sequence(int(told["epoch"]), int(told["hi"]), int(told["lo"]))
