"""Updates in two messages, of one transaction, in a table that is verified part by part."""

from dataclasses import dataclass
from typing import cast

import msgspec
import pytest

from laws.story import Story
from laws.test_partial_rows import told
from laws.world import World, make_settings
from retable.decode.context import context_of
from retable.formats.registry import decode_message
from retable.model.event import ChangeEvent
from retable.model.message import RawMessage
from retable.settings.load import Settings
from retable.verify import rows
from verify.pure import Verifier


@dataclass(frozen=True, slots=True)
class Told:
    """Messages by window, as a verifier takes those of a story."""

    settings: Settings
    windows: list[list[RawMessage]]

    def events_of(self, message: RawMessage) -> list[ChangeEvent]:
        rules = self.settings.rules
        return decode_message(message, context_of(self.settings.source("shop"), lambda table: rules(table).keys))


@pytest.mark.parametrize("has_all", [True, False])
def test_a_transaction_is_compared_as_a_whole(has_all: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both rows before it come first, then both rows after it. If the last message is missing, all of it waits."""
    types = {"keys": ["id"], "types": dict.fromkeys(("id", "a", "b"), "int")}
    world = World(make_settings("shareplex_json", {"shop.SHOP.t": types}, database="shop", binary_encoding="hex"))
    many = [told(at, "ins", id=at, a=10, b=20) for at in range(1, 9)]
    said = [("ub", {"id": 1}), ("ub", {"id": 2}), ("ua", {"id": 1, "a": 14}), ("ua", {"id": 2, "b": 25})]
    moved = [told(50, op, seq=seq, **row) for seq, (op, row) in enumerate(said)]
    moved = [msgspec.structs.replace(each, offset=500 + at) for at, each in enumerate(moved)]
    windows = [many, moved if has_all else moved[:-1]]
    for window in windows:
        world.replay(world.deliver(window))
    (state,) = world.states().values()
    assert bool(state.pending) != has_all
    monkeypatch.setattr(rows, "ROWS_AT_ONCE", 1)
    for report in Verifier(cast(Story, Told(world.settings, windows)), world).every().values():
        assert (report.findings, report.rows and report.rows.samples) == ((), [])
