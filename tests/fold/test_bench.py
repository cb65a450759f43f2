"""The benchmark of the replay tells everybody the same changes. What it measures is no test."""

import json
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

from formats.events import STREAMX
from retable.formats.registry import decode_message
from retable.model.message import RawMessage

ORDERS = runpy.run_path(str(Path(__file__).parents[2] / "bench" / "replay" / "orders.py"))["Orders"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
OPS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}


def test_messages_and_typed_rows_tell_the_same_changes() -> None:
    orders = ORDERS.of("shop", "orders", 400, seed=1)
    for _ in range(3):
        changes = orders.change(80, newest=0.5)
        for text, row in zip(orders.messages(changes, 1_000), changes.typed().to_pylist(), strict=True):
            (event,) = decode_message(RawMessage("bench", 0, 0, 0, None, text.encode()), STREAMX)
            image = json.loads(event.after or event.before or "")
            assert (event.op, event.sequence.hi, image["id"]) == (OPS[row["op"]], 1_000 + row["position"], row["id"])
            if event.after is not None:
                told = {
                    **row,
                    "amount": str(row["amount"]),
                    "created": (row["created"] - EPOCH) // timedelta(milliseconds=1),
                }
                assert image == {name: told[name] for name in image}


def test_what_follows_begins_where_the_batch_before_it_ended() -> None:
    orders = ORDERS.of("shop", "orders", 200, seed=2)
    rows: dict[int, object] = {}
    for number in range(4):
        changes = orders.change(40)
        for text in orders.messages(changes, 0):
            payload = json.loads(text)["payload"]
            before, after = (payload[part] and payload[part]["dataColumn"] for part in ("before", "after"))
            key = (before or after)["id"]
            if number and key in rows:
                assert before == rows[key]
            rows[key] = after
    assert sum(row is not None for row in rows.values()) == sum(orders.versions[list(rows)] >= 0)
