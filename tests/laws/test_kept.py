"""What once broke a law holds now."""

import pytest

from laws.kept import KEPT
from laws.story import differences


@pytest.mark.parametrize("wrong", KEPT)
def test_a_story_that_broke_a_law_holds_it_now(wrong: str) -> None:
    story, order = KEPT[wrong]
    world = story.world()
    for number in order:
        world.replay(world.names[number])
    assert differences(story, world.gold()) == []
