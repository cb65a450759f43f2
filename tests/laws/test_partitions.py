"""Rows of several partitions, whose sequences do not compare, come to the same however they are folded."""

from dataclasses import replace
from itertools import count

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from laws.test_bulk import in_tasks, row
from laws.test_laws import LAW
from laws.world import World, make_settings
from retable.gold.state import GoldState
from retable.model.message import RawMessage
from retable.replay.table.deciding import Deciding

CHANGES = st.tuples(
    st.sampled_from(["INSERT", "INSERT", "UPDATE", "DELETE", "MOVE"]),
    st.integers(0, 5),
    st.sampled_from([0] * 19 + [1]),
)
WINDOWS = st.tuples(st.integers(0, 1), st.sampled_from([0, 0, 1]), st.lists(CHANGES, max_size=8))
"""The source epoch of a window, by how much the partition of each key is another one in it, and its changes.

A few of these come from another partition than their key's others.
"""


def parted(offset: int, kind: str, ident: int, away: int, shift: int) -> RawMessage:
    """A change of a key, in the key's partition or, `away`, in the next one. A key moves from one of its partition."""
    moved, old = kind == "MOVE", {"id": str((ident + 3) % 6)}
    message = row(offset, "UPDATE" if moved else kind, str(ident), str(offset), old if moved else None)
    return msgspec.structs.replace(message, partition=(ident + away + shift) % 3)


def told_of(world: World) -> tuple[dict[str, tuple[str, ...]], dict[str, GoldState]]:
    """The rows and states of gold; of several keys that two partitions write any may be the one that a hold names."""
    states = {
        name: replace(state, hold=state.hold and replace(state.hold, reason=""))
        for name, state in world.states().items()
    }
    return {name: gold.rows for name, gold in world.gold().items()}, states


@LAW
@given(st.data())
def test_rows_of_several_partitions_come_to_what_they_come_to_one_by_one(data: st.DataObject) -> None:
    windows = data.draw(st.lists(WINDOWS, min_size=1, max_size=4))
    order = data.draw(st.permutations(range(len(windows))))
    order += data.draw(st.lists(st.sampled_from(order), max_size=2))
    rows, found = data.draw(st.integers(1, 4)), []
    for how in ("one by one", "vectorized", "tasks", "tasks, one by one"):
        with pytest.MonkeyPatch.context() as patch:
            if how != "vectorized":
                patch.setattr(Deciding, "_decide_vectorized", lambda *_: None)
            if how.startswith("tasks"):
                in_tasks(patch, rows)
            if how.endswith("one by one"):
                patch.setattr(Deciding, "_as_plain", lambda *_: None)
            world, offsets = World(make_settings("canal_json")), count(1)
            for epoch, shift, changes in windows:
                world.settings = make_settings("canal_json", source_epoch=epoch)
                world.deliver([parted(next(offsets), *change, shift) for change in changes])
            for number in order:
                world.replay(world.names[number])
        found.append((*told_of(world), world.counts, world.rejected))
    assert found[1:] == found[:1] * 3
