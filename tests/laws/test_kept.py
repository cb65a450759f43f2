"""What once broke a law holds now: smallest examples, kept as the messages that they were (keep.py)."""

import gzip
import json
from pathlib import Path

import pytest

from laws.keep import KEPT, shown
from laws.story import message
from laws.world import World, make_settings
from retable.printable import printable_json

STORIES = sorted(KEPT.glob("*.json.gz"))


def test_there_are_stories() -> None:
    assert STORIES


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.name.partition(".")[0])
def test_a_story_that_broke_a_law_holds_it_now(path: Path) -> None:
    kept = json.loads(gzip.decompress(path.read_bytes()))
    world = World(make_settings(kept["format"], kept["tables"], **kept["source"]))
    for window in kept["windows"]:
        world.deliver([message(json.dumps(record)) for record in window])
    for number in kept["order"]:
        world.replay(world.names[number])
    wanted = {name: {**told, "rows": list(map(printable_json, told["rows"]))} for name, told in kept["gold"].items()}
    assert {name: shown(gold) for name, gold in sorted(world.gold().items())} == wanted, kept["wrong"]
