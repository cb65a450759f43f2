"""What is quarantined can be listed, and each message looked at without harm."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

from retable.ledger.catalog import Lake
from retable.ledger.tables import BRONZE, QUARANTINE

Retable = Callable[..., Result]

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
TOPIC = "a:b/c\x1b"


def _row(window: str, offset: int, row_index: int | None = None, **more: Any) -> dict[str, Any]:
    place = {"window": window, "topic": TOPIC, "partition": 0, "offset": offset, "row_index": row_index}
    return {
        "stage": "decode",
        "code": "MALFORMED",
        "reason": "not JSON:\nline 1",
        "quarantined_at": NOW,
        **place,
        **more,
    }


@pytest.fixture
def filled(lake: Lake) -> Lake:
    applied = {"stage": "replay", "code": "BAD_VALUE", "database": "shop", "table": "orders", "keys": ['["1"]']}
    rows = [_row("20260301T0600Z", 12), _row("20260301T0500Z", 7), _row("20260301T0500Z", 7, 3, **applied)]
    lake.ensure("quarantine.dump").append(pa.Table.from_pylist(rows, schema=QUARANTINE.columns))
    messages = [
        {
            "window": window,
            "topic": TOPIC,
            "partition": 0,
            "offset": offset,
            "key": key,
            "value": value,
            "landed_at": NOW,
        }
        for window, offset, key, value in [
            ("20260301T0600Z", 12, None, b'{"id":\n\xff\x1b[2J' + "é\u202e".encode()),
            ("20260301T0500Z", 7, b"k", b"x" * 5000),
            ("20260301T0500Z", 12, None, b"the same offset in another window"),
        ]
    ]
    lake.ensure("bronze.dump").append(pa.Table.from_pylist(messages, schema=BRONZE.columns))
    return lake


def test_the_list_names_every_row_by_its_address(retable: Retable, filled: Lake) -> None:
    found = json.loads(retable("quarantine", "list", "--json").stdout)
    assert [row["id"] for row in found] == [
        "dump:a:b/c\\x1b/0@7",
        "dump:a:b/c\\x1b/0@7+3",
        "dump:a:b/c\\x1b/0@12",
    ]
    assert found[1] == {
        "id": "dump:a:b/c\\x1b/0@7+3",
        "source": "dump",
        "window": "20260301T0500Z",
        "stage": "replay",
        "code": "BAD_VALUE",
        "reason": "not JSON:\nline 1",
        "place": None,
        "table": "shop.orders",
        "keys": ['["1"]'],
        "decoder_version": None,
        "quarantined_at": "2026-03-01T05:00:00+00:00",
    }
    lines = retable("quarantine", "list").stdout.splitlines()
    assert len(lines) == 4
    assert lines[3].split()[:4] == ["dump:a:b/c\\x1b/0@12", "20260301T0600Z", "decode", "MALFORMED"]


def test_the_list_is_narrowed_to_a_source_and_a_window(retable: Retable, filled: Lake) -> None:
    found = json.loads(retable("quarantine", "list", "--source", "dump", "--window", "20260301T0600Z", "--json").stdout)
    assert [row["window"] for row in found] == ["20260301T0600Z"]
    result = retable("quarantine", "list", "--source", "dumb")
    assert result.exit_code == 1
    assert "did you mean 'dump'?" in result.stderr
    assert "is not a window" in retable("quarantine", "list", "--window", "today").stderr


def test_where_nothing_is_quarantined_the_list_is_empty(retable: Retable, lake: Lake) -> None:
    assert retable("quarantine", "list", "--json").stdout == "[]\n"
    assert retable("quarantine", "list").stderr == "nothing is quarantined\n"


def test_a_message_is_shown_with_its_reason_and_nothing_a_terminal_would_obey(retable: Retable, filled: Lake) -> None:
    result = retable("quarantine", "show", "dump:a:b/c\\x1b/0@12")
    assert result.exit_code == 0
    assert "reason           not JSON:\\nline 1\n" in result.stdout
    assert 'value, 17 bytes:\n{"id":\n\\xff\\x1b[2Jé\\u202e\n' in result.stdout
    assert "another window" not in result.stdout


def test_a_long_message_is_cut_and_its_length_told(retable: Retable, filled: Lake) -> None:
    shown = retable("quarantine", "show", "dump:a:b/c\\x1b/0@7+3").stdout
    assert "key, 1 bytes:\nk\n" in shown
    assert f"value, 5,000 bytes:\n{'x' * 4096}\n… 904 bytes more\n" in shown


@pytest.mark.parametrize("address", ["x", "dump:a:b/c\\x1b/0@99", "nobody:t/0@7", "dump:a:b/c\\x1b/0@7+4", ""])
def test_an_address_that_is_not_quarantined_says_so(retable: Retable, filled: Lake, address: str) -> None:
    result = retable("quarantine", "show", address)
    assert result.exit_code == 1
    assert "`retable quarantine list` prints them" in result.stderr
