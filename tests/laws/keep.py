"""Keep a story that broke a law, as data: the simulator may change, its messages may not.

    python tests/laws/keep.py NAME "what was wrong" "tell(80, 'canal_json', Delivery(windows=6), 40)" 5,4,3,2,1,0

NAME becomes `tests/laws/kept/NAME.json.gz`; the numbers are the windows in the order in which they are replayed.
"""

import gzip
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from laws import story as told
from laws.world import Gold
from retable import simulate
from retable.simulate.streams import lindorm_debezium, streamx_json
from retable.simulate.streams.debezium import json as debezium_json

KEPT = Path(__file__).parent / "kept"
_OPTIONS = (streamx_json.Options, debezium_json.Options, lindorm_debezium.Options)


def keep(name: str, wrong: str, recipe: str, order: list[int]) -> None:
    """Write a story with the gold that it must give; by now it must hold the law that it broke."""
    story = read_recipe(recipe)
    world = story.world()
    for number in order:
        world.replay(world.names[number])
    gold = world.gold()
    if broken := told.differences(story, gold):
        sys.exit(f"it still breaks its law: {broken[:3]}")
    settings = {table: {"keys": t.keys, "types": t.types} for table, t in story.known.tables(story.history).items()}
    document = {
        "wrong": wrong,
        "recipe": recipe,
        "format": story.format,
        "source": dict(story.known.source),
        "tables": settings,
        "order": order,
        "windows": [[json.loads(record.line()) for record in window] for window in story.windows],
        "gold": {table: shown(each) for table, each in sorted(gold.items())},
    }
    text = json.dumps(document, ensure_ascii=False, indent=0)
    (KEPT / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def shown(gold: Gold) -> dict[str, object]:
    """What a kept story says of a gold table."""
    return {"columns": list(gold.columns), "rows": list(gold.rows), "hold": gold.hold and gold.hold.code}


def read_recipe(recipe: str) -> told.Story:
    """Tell the story of a recipe as a failing law prints it; `Options` are those that have these fields."""

    def options(**given: Any) -> told.Options:
        return next(kind for kind in _OPTIONS if given.keys() <= {each.name for each in fields(kind)})(**given)

    story: told.Story = eval(recipe, {**vars(simulate), **vars(told), "Options": options})  # noqa: S307  # our own words
    return story


if __name__ == "__main__":
    keep(sys.argv[1], sys.argv[2], sys.argv[3], [int(number) for number in sys.argv[4].split(",")])
