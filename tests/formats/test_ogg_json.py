"""ogg_json: what its golden messages do not show, which is what becomes of them in gold."""

import json
from typing import Any

import pytest

from laws.test_replays_found import run
from laws.world import World, make_settings
from retable.errors import Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.ogg import OggOptions
from retable.formats.registry import decode_message
from retable.model.message import RawMessage


def operation(offset: int, kind: str, place: int, **fields: object) -> RawMessage:
    facts = {"table": "HR.EMP", "op_type": kind, "op_ts": "2026-03-01 05:00:00.000000", "pos": f"{place:020d}"}
    return RawMessage("erp", 0, offset, 1_700_000_000_000, None, json.dumps({**facts, **fields}).encode())


def world_of(windows: list[list[RawMessage]]) -> World:
    return run(windows, World(make_settings("ogg_json", database="ORCL", op_ts_zone="UTC")))


def rows(world: World) -> list[dict[str, Any]]:
    (table,) = world.gold().values()
    return [json.loads(line) for line in table.rows]


KEY = {"primary_keys": ["ID"]}
STREAM = [
    operation(1, "I", 10, after={"ID": 1, "A": "x", "B": None}, **KEY),
    operation(2, "I", 20, after={"ID": 2, "A": "y", "B": "b"}, **KEY),
    operation(3, "U", 30, before={"ID": 1, "A": "x"}, after={"ID": 1, "A": "z"}, **KEY),
    operation(4, "U", 40, before={"ID": 2}, after={"ID": 3, "B": None}, **KEY),
    operation(5, "D", 50, before={"ID": 1}, **KEY),
    operation(6, "I", 60, after={"ID": 4, "A": "n"}, **KEY),
    operation(7, "U", 30, before={"ID": 1, "A": "x"}, after={"ID": 1, "A": "z"}, **KEY),
]


@pytest.mark.parametrize(
    "windows", [[STREAM], [STREAM[:3], STREAM[3:]], [[each] for each in STREAM], [STREAM[4:], STREAM[:4]]]
)
def test_gold_is_the_source_in_any_windows_though_only_changed_columns_come(windows: list[list[RawMessage]]) -> None:
    world = world_of(windows)
    assert rows(world) == [{"id": "3", "a": "y", "b": None}, {"id": "4", "a": "n", "b": None}]
    assert world.rejected == {}


def test_a_truncate_empties_its_table() -> None:
    world = world_of([[*STREAM, operation(8, "T", 70), operation(9, "I", 80, after={"ID": 9, "A": "new"}, **KEY)]])
    assert rows(world) == [{"id": "9", "a": "new", "b": None}]


def test_without_a_key_a_change_of_some_columns_holds_its_table() -> None:
    told = [operation(1, "I", 10, after={"ID": 1, "A": "x"}), operation(2, "U", 20, before={}, after={"A": "q"})]
    (state,) = world_of([told]).states().values()
    assert state.hold is not None
    assert state.hold.code == "KEY_UNKNOWN"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (RawMessage("erp", 0, 1, 0, None, None), Malformed, "no value"),
        (operation(1, "I", 1, before={"ID": 1}), Malformed, "I is not valid with before image"),
        (operation(1, "U", 1, before={"ID": 1}), Malformed, "U is not valid with before image"),
        (operation(1, "D", 1), Malformed, "D is not valid with no image"),
        (operation(1, "T", 1, after={"ID": 1}), Malformed, "T is not valid with after image"),
        (operation(1, "K", 1, after={"ID": 1}), UnknownOperation, "'K'; expected I, U, D or T"),
        (operation(1, "I", 1, after={"ID": 1}, pos="0x1"), Malformed, "expected a position in a trail"),
        (operation(1, "I", 1, after={"ID": 1}, op_ts="05.11.2015"), Malformed, "expected a time such as"),
    ],
)
def test_what_is_no_message_of_goldengate_says_why(given: RawMessage, error: type[MessageError], words: str) -> None:
    with pytest.raises(error, match=words):
        decode_message(given, DecodeContext(source_format="ogg_json", options=OggOptions(op_ts_zone="UTC")))
