"""A lake under everything that happens to one: windows that come, runs in any order, runs that die, rebuilds.

The invariants are held after every step; in the end every window is replayed, and gold is the source.
"""

import json
from collections import Counter
from typing import Any, Protocol

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from laws.seam import Seam
from laws.story import FORMATS, Story, differences, tell
from laws.world import Crash, Gold
from retable.gold.state import GoldState
from retable.model.message import RawMessage
from retable.simulate import FORMATS as SIMULATED
from retable.simulate import Delivery
from retable.simulate.streams import streamx_json


class Lake(Protocol):
    """What the machine drives: in memory, or on Spark."""

    @property
    def names(self) -> list[str]:
        """The delivered windows."""

    def deliver(self, messages: list[RawMessage]) -> str: ...

    def replay(self, name: str, step: Any = ...) -> bool:
        """Replay a window; says whether gold changed."""

    def rebuild(self, gold: str) -> bool: ...

    def gold(self) -> dict[str, Gold]: ...

    def states(self) -> dict[str, GoldState]: ...

    def digest(self) -> dict[str, Any]:
        """What a run that has nothing to do leaves as it is."""


class Machine(RuleBasedStateMachine):
    """Any number of steps in the life of one source."""

    MOST_CHANGES = 40

    story: Story
    lake: Lake

    def open(self, story: Story) -> Lake:
        return story.empty_world()

    @initialize(
        seed=st.integers(0, 2**32),
        source_format=st.sampled_from([name for name in FORMATS if not SIMULATED[name].partial]),
        changes=st.integers(3, 40),
        windows=st.integers(1, 5),
        partitions=st.integers(1, 3),
        share=st.sampled_from((0.0, 0.2)),
        updates=st.sampled_from(("halves", "mixed")),
    )
    def begin(
        self, seed: int, source_format: str, changes: int, windows: int, partitions: int, share: float, updates: Any
    ) -> None:
        delivery = Delivery(windows=windows)
        if not SIMULATED[source_format].by_offset:
            delivery = Delivery(partitions, "any", windows, share, share, bool(share))
        options = streamx_json.Options(updates=updates)
        self.story = tell(seed, source_format, delivery, min(changes, self.MOST_CHANGES), options=options)
        self.lake = self.open(self.story)
        self.replayed: set[str] = set()
        """Windows that are replayed, and since then no run died."""
        self.marks: dict[tuple[str, str], Any] = {}

    def all_delivered(self) -> bool:
        return len(self.lake.names) == len(self.story.windows)

    @precondition(lambda self: not self.all_delivered())
    @rule()
    def a_window_arrives(self) -> None:
        self.story.deliver(self.lake, len(self.lake.names))

    @precondition(lambda self: self.lake.names)
    @rule(data=st.data())
    def a_window_is_replayed(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.lake.names))
        wrote = self.lake.replay(name)
        assert not (wrote and name in self.replayed), "nothing was new, and gold was written"
        self.replayed.add(name)

    @precondition(lambda self: self.lake.names)
    @rule(data=st.data(), step=st.integers(1, 12))
    def a_replay_dies(self, data: st.DataObject, step: int) -> None:
        name = data.draw(st.sampled_from(self.lake.names))
        try:
            self.lake.replay(name, Seam(step))
            self.replayed.add(name)
        except Crash:
            # Whichever run comes next goes on with what this one began.
            self.replayed.clear()

    @precondition(lambda self: self.replayed)
    @rule(data=st.data())
    def a_table_is_rebuilt(self, data: st.DataObject) -> None:
        names = sorted(name for name, state in self.lake.states().items() if state.columns)
        if names and not set(self.lake.names) - self.replayed:
            before = {name: table.rows for name, table in self.lake.gold().items()}
            self.lake.rebuild(data.draw(st.sampled_from(names)))
            assert {name: table.rows for name, table in self.lake.gold().items()} == before

    @precondition(lambda self: self.replayed)
    @invariant()
    def a_mark_never_goes_back(self) -> None:
        now = {
            (state.identity, part): m for state in self.lake.states().values() for part, m in state.high_water.items()
        }
        assert all(now[place] >= mark for place, mark in self.marks.items())
        self.marks = now

    @precondition(lambda self: self.replayed)
    @invariant()
    def a_key_has_one_row(self) -> None:
        states = self.lake.states()
        for name, table in self.lake.gold().items():
            golden = {column.name: column.gold for column in states[name].columns}
            keys = [golden[key] for key in states[name].keys]
            rows = Counter(str([json.loads(row)[key] for key in keys]) for row in table.rows)
            assert not keys or all(count == 1 for count in rows.values()), name

    def teardown(self) -> None:
        if hasattr(self, "lake"):
            while not self.all_delivered():
                self.story.deliver(self.lake, len(self.lake.names))
            for name in self.lake.names:
                self.lake.replay(name)
            assert differences(self.story, self.lake.gold()) == []
            assert [name for name, state in self.lake.states().items() if state.hold or state.pending] == []
