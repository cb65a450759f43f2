"""maxwell_json: what its golden messages do not show, which is what becomes of them in gold."""

import json
from collections.abc import Sequence

import pytest

from laws.test_replays_found import run
from laws.world import World, make_settings
from retable.errors import Malformed, MessageError, UnknownOperation
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.model.message import RawMessage

CREATE = (
    "create table a (id int primary key, s set('x','y'), b varbinary(9), t timestamp(3) null, d decimal(12,10), "
    "n bit(8), o bit, w bit(64), j json, e enum('p','q'), g point)"
)
EMPTY = {"s": [], "b": None, "t": None, "d": None, "n": None, "o": None, "w": None, "j": None, "e": None, "g": None}
FULL = {
    "s": ["x", "y"],
    "b": "AAEC",
    "t": "2026-03-01 12:34:56.123",
    "d": 0.0000000001,
    "n": 5,
    "o": 1,
    "w": None,
    "j": {"k": [1]},
    "e": "q",
    "g": None,
}


def message(offset: int, key: str | None = None, **fields: object) -> RawMessage:
    body = json.dumps({"database": "shop", "ts": 1_700_000_000 + offset, **fields})
    return RawMessage("erp", 0, offset, 1_700_000_000_000, None if key is None else key.encode(), body.encode())


def row(offset: int, kind: str, table: str, data: dict[str, object], **more: object) -> RawMessage:
    key = json.dumps({"database": "shop", "table": table, "pk.id": data["id"]})
    return message(offset, key, type=kind, table=table, xid=offset, commit=True, data=data, **more)


def statement(offset: int, kind: str, table: str, sql: str, at: int) -> RawMessage:
    return message(offset, "7a0e3b5c", type=kind, table=table, sql=sql, ts=1_700_000_000_000 + at, **{"def": {}})


RENAME = "/* online ** */ -- now\nrename table a to b, c to d"
STREAM = [
    statement(1, "table-create", "a", CREATE, 1),
    statement(2, "table-create", "c", "create table c (id int primary key, v varchar(9))", 2),
    row(3, "insert", "a", {"id": 1, **FULL}),
    row(4, "insert", "c", {"id": 7, "v": "seven"}),
    row(5, "insert", "a", {"id": 2, **EMPTY}),
    statement(6, "table-alter", "a", RENAME, 6),
    statement(7, "table-alter", "c", RENAME, 6),
    row(8, "update", "b", {"id": 1, **FULL, "s": ["x"], "d": 2}, old={"s": ["x", "y"], "d": 0.0000000001}),
    row(9, "delete", "d", {"id": 7, "v": "seven"}),
    row(10, "update", "d", {"id": 9, "v": "x"}, old={"id": 8}),
    row(11, "insert", "b", {"id": 3, **EMPTY, "g": "POINT (3 2)"}),
    row(12, "insert", "b", {"id": 4, **EMPTY, "w": 1}),
]


@pytest.mark.parametrize("cut", [[12], [6, 6], [7, 5], [1] * 12])
def test_gold_is_the_source_in_any_windows_though_a_rename_comes_once_for_each_table(cut: list[int]) -> None:
    windows, rest = list[Sequence[RawMessage]](), STREAM
    for length in cut:
        windows, rest = [*windows, rest[:length]], rest[length:]
    world = run([list(window) for window in windows], World(make_settings("maxwell_json", time_zone="Asia/Tokyo")))
    gold = {name: [json.loads(line) for line in table.rows] for name, table in world.gold().items()}
    told = {
        "b": "AAEC",
        "t": "2026-03-01T12:34:56.123000Z",
        "n": 5,
        "o": 1,
        "w": None,
        "j": '{"k": [1]}',
        "e": "q",
        "g": None,
    }
    nothing = {**dict.fromkeys(EMPTY), "s": ""}
    assert gold == {
        "gold_shop.b": [{"id": 1, "s": "x", "d": "2.0000000000", **told}, {"id": 2, **nothing}],
        "gold_shop.d": [{"id": 9, "v": "x"}],
    }
    assert {offset: code for (_, _, offset), code in world.rejected.items()} == {11: "BAD_VALUE", 12: "BAD_VALUE"}


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (RawMessage("erp", 0, 1, 0, None, None), Malformed, "no value"),
        (message(1, type="insert", table="t", data={}), Malformed, "insert has no row"),
        (
            message(1, type="insert", table="t", data={"a": 1}, old={"a": 0}),
            Malformed,
            "insert has a row before the change",
        ),
        (message(1, type="update", table="t", data={"a": 1}, old={"b": 0}), Malformed, "'b', which `data` does not"),
        (message(1, type="table-alter", table="t"), Malformed, "the statement has no text"),
        (message(1, type="heartbeat", table="t"), UnknownOperation, "'heartbeat', which is not a type of Maxwell"),
        (message(1, "17", type="insert", table="t", data={"a": 1}), Malformed, "output_primary_key_columns=true"),
        (
            message(1, type="insert", table="t", data={"a": 1}, ts=2**60),
            Malformed,
            "the message does not match its format",
        ),
    ],
)
def test_what_is_no_message_of_maxwell_says_why(given: RawMessage, error: type[MessageError], words: str) -> None:
    with pytest.raises(error, match=words):
        decode_message(given, DecodeContext(source_format="maxwell_json"))


@pytest.mark.parametrize("key", ['{"database":"shop","table":"t","_uuid":"x"}', '["shop","t",[]]', '{"pk.z":1}', None])
def test_a_key_that_names_no_column_of_the_row_leaves_it_to_the_settings(key: str | None) -> None:
    context = DecodeContext(source_format="maxwell_json", keys_of=lambda _: ("a",))
    (event,) = decode_message(message(1, key, type="insert", table="t", data={"a": 1}), context)
    assert (event.keys, event.keys_origin) == (("a",), "registry")


def test_of_two_columns_that_differ_by_case_a_key_in_small_letters_names_none() -> None:
    given = message(1, '{"pk.a":1}', type="insert", table="t", data={"a": 1, "A": 2})
    (event,) = decode_message(given, DecodeContext(source_format="maxwell_json"))
    assert (event.keys, event.problems) == (None, ("KEYS_UNKNOWN",))
