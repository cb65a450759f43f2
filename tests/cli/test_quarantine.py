"""What is quarantined can be listed, and each message looked at without harm."""

import base64
import json
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import Result

from feeding import Feed
from retable.cli.look_after import quarantine
from retable.cli.run import stages as run
from retable.errors import PositionsLost
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.tables import BRONZE, QUARANTINE
from retable.ledger.quarantine import list_quarantined
from retable.ledger.read import read_actions
from retable.ledger.rows import StageReport

Retable = Callable[..., Result]

NOW = datetime(2026, 3, 1, 5, tzinfo=UTC)
TOPIC = "a:b/c\x1b"
SHOWN = "a:b/c\\x1b"
AT5, AT6 = "dump/20260301T0500Z", "dump/20260301T0600Z"


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
        f"{AT5}/decode/{SHOWN}/0@7",
        f"{AT5}/replay/{SHOWN}/0@7+3",
        f"{AT6}/decode/{SHOWN}/0@12",
    ]
    assert found[1] == {
        "id": f"{AT5}/replay/{SHOWN}/0@7+3",
        "source": "dump",
        "window": "20260301T0500Z",
        "stage": "replay",
        "code": "BAD_VALUE",
        "state": "open",
        "reason": "not JSON:\nline 1",
        "place": None,
        "table": "shop.orders",
        "keys": ['["1"]'],
        "decoder_version": None,
        "quarantined_at": "2026-03-01T05:00:00+00:00",
        "accepted_by": None,
        "accepted_because": None,
        "hint": 'if the column should accept such values: [tables."shop.orders"] types = { COLUMN = "string" }, then '
        f"`retable quarantine redecode --id {found[1]['id']}`",
    }
    lines = retable("quarantine", "list").stdout.splitlines()
    assert len(lines) == 4
    assert lines[3].split()[:5] == [f"{AT6}/decode/{SHOWN}/0@12", "20260301T0600Z", "decode", "MALFORMED", "open"]


def test_the_list_is_narrowed_to_a_source_and_a_window(retable: Retable, filled: Lake) -> None:
    found = json.loads(retable("quarantine", "list", "--source", "dump", "--window", "20260301T0600Z", "--json").stdout)
    assert [row["window"] for row in found] == ["20260301T0600Z"]
    result = retable("quarantine", "list", "--source", "dumb")
    assert result.exit_code == 1
    assert "did you mean 'dump'?" in result.stderr
    assert "is not a window" in retable("quarantine", "list", "--window", "today").stderr


def test_the_list_comes_page_by_page(retable: Retable, filled: Lake) -> None:
    whole = [row["id"] for row in json.loads(retable("quarantine", "list", "--json").stdout)]
    pages, after = [], []
    while True:
        page = retable("quarantine", "list", "--limit", "1", *after)
        pages.append(page.stdout.splitlines()[1].split()[0])
        if not page.stderr:
            break
        assert f"1 of {len(whole)}; the next: --after " in page.stderr
        after = shlex.split(page.stderr.strip().rpartition("next: ")[2])
    assert pages == whole
    assert retable("quarantine", "list", "--after", whole[-1]).stderr == "nothing more is quarantined\n"
    assert [
        row["id"] for row in json.loads(retable("quarantine", "list", "--json", *("--after", whole[0])).stdout)
    ] == whole[1:]
    for unknown in (f"{whole[0]}9", "dump/20260301T0900Z/decode/t/0@1", "nothing"):
        refused = retable("quarantine", "list", "--after", unknown)
        assert refused.exit_code == 1
        assert "`retable quarantine list` prints the IDs" in refused.stderr


def test_where_nothing_is_quarantined_the_list_is_empty(retable: Retable, lake: Lake) -> None:
    assert retable("quarantine", "list", "--json").stdout == "[]\n"
    assert retable("quarantine", "list").stderr == "nothing is quarantined\n"


def test_a_message_is_shown_with_its_reason_and_nothing_a_terminal_would_obey(retable: Retable, filled: Lake) -> None:
    result = retable("quarantine", "show", f"{AT6}/decode/{SHOWN}/0@12")
    assert result.exit_code == 0
    assert "reason            not JSON:\\nline 1\n" in result.stdout
    assert 'value, 17 bytes:\n{"id":\n\\xff\\x1b[2Jé\\u202e\n' in result.stdout
    assert "another window" not in result.stdout


def test_a_long_message_is_cut_and_its_length_told(retable: Retable, filled: Lake) -> None:
    shown = retable("quarantine", "show", f"{AT5}/replay/{SHOWN}/0@7+3").stdout
    assert "key, 1 bytes:\nk\n" in shown
    assert f"value, 5,000 bytes:\n{'x' * 4096}\n… 904 bytes more\n" in shown


@pytest.mark.parametrize(
    "address", ["x", f"{AT5}/decode/{SHOWN}/0@99", "nobody/t/0@7", f"{AT5}/replay/{SHOWN}/0@7+4", ""]
)
def test_an_address_that_is_not_quarantined_says_so(retable: Retable, filled: Lake, address: str) -> None:
    result = retable("quarantine", "show", address)
    assert result.exit_code == 1
    assert "`retable quarantine list` prints the IDs" in result.stderr


def test_an_accepted_loss_stays_listed_with_who_and_why_and_counts_no_more(retable: Retable, filled: Lake) -> None:
    lost = f"{AT5}/replay/{SHOWN}/0@7+3"
    assert "3 messages or rows are quarantined" in retable("status", "--check").stderr
    result = retable("quarantine", "accept", lost, "--reason", "the vendor's test row")
    assert result.exit_code == 0, result.stderr
    assert f"accepted as lost: {lost} of shop.orders (BAD_VALUE: not JSON" in result.stderr
    (action,) = read_actions(filled, "dump")
    assert (action.action, action.target, action.reason) == ("quarantine accept", lost, "the vendor's test row")
    assert action.who
    rows = json.loads(retable("quarantine", "list", "--json").stdout)
    assert [row["state"] for row in rows] == ["open", "accepted", "open"]
    assert (rows[1]["accepted_by"], rows[1]["accepted_because"]) == (action.who, "the vendor's test row")
    assert "accepted_because  the vendor's test row" in retable("quarantine", "show", lost).stdout
    assert json.loads(retable("status", "--json").stdout)[0]["quarantined"] == 2
    assert "2 messages or rows are quarantined" in retable("status", "--check").stderr


def test_a_loss_is_accepted_once_by_its_whole_id_and_with_a_reason(retable: Retable, filled: Lake) -> None:
    lost = f"{AT6}/decode/{SHOWN}/0@12"
    assert retable("quarantine", "accept", lost).exit_code == 1
    assert retable("quarantine", "accept", f"{AT6}/decode", "--reason", "x").exit_code == 1
    assert read_actions(filled, "dump") == []
    retable("quarantine", "accept", lost, "--reason", "first")
    assert "was accepted by" in retable("quarantine", "accept", lost, "--reason", "second").stderr
    assert [action.reason for action in read_actions(filled, "dump")] == ["first"]


def test_a_message_is_shown_with_its_bytes_for_a_program(retable: Retable, filled: Lake) -> None:
    shown = json.loads(retable("quarantine", "show", f"{AT5}/replay/{SHOWN}/0@7+3", "--json").stdout)
    (listed,) = [
        row for row in json.loads(retable("quarantine", "list", "--json").stdout) if row["id"] == shown[0]["id"]
    ]
    assert shown == [{**listed, "key_base64": shown[0]["key_base64"], "value_base64": shown[0]["value_base64"]}]
    whole = base64.b64decode(shown[0]["value_base64"]).decode()
    assert f"value, {len(whole):,} bytes:\n{whole[:99]}" in retable("quarantine", "show", shown[0]["id"]).stdout


def test_several_losses_are_accepted_by_their_ids(retable: Retable, filled: Lake) -> None:
    ids = [f"{AT5}/replay/{SHOWN}/0@7+3", f"{AT6}/decode/{SHOWN}/0@12"]
    assert retable("quarantine", "accept", *ids, "no such", "--reason", "x").exit_code == 1
    assert read_actions(filled, "dump") == []
    assert retable("quarantine", "accept", *ids, ids[0], "--reason", "x").exit_code == 0
    assert sorted(action.target for action in read_actions(filled, "dump")) == sorted(ids)


def test_all_losses_of_a_window_are_accepted_at_once(retable: Retable, filled: Lake) -> None:
    rows = json.loads(retable("quarantine", "list", "--json").stdout)
    of_five = [row["id"] for row in rows if row["id"].startswith(AT5)]
    window = AT5.split("/")[1]
    assert 0 < len(of_five) < len(rows)
    assert retable("quarantine", "accept", of_five[0], "--window", window, "--reason", "x").exit_code == 1
    assert retable("quarantine", "accept", "--reason", "x").exit_code == 1
    said = retable("quarantine", "accept", "--window", window, "--reason", "x").stderr
    assert said.count("accepted as lost: ") == len(of_five)
    assert sorted(action.target for action in read_actions(filled, "dump")) == sorted(of_five)
    again = retable("quarantine", "accept", "--window", window, "--reason", "x")
    assert "nothing of the window" in again.stderr
    assert len(read_actions(filled, "dump")) == len(of_five)


def test_topics_that_are_shown_alike_have_ids_of_their_own(filled: Lake) -> None:
    rows = [{**_row("20260301T0700Z", 1), "topic": topic} for topic in ("a\x1b", "a\\x1b")]
    filled.load("quarantine.dump").append(pa.Table.from_pylist(rows, schema=QUARANTINE.columns))
    assert len({row.id for row in list_quarantined(filled, "dump")}) == 5


class Stages:
    """Stands in for the stages: notes what was asked, and whether the objects are still there."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.are_lost = False

    def door(self, stage: Any) -> Callable[..., StageReport]:
        def act(spark: object, lake: Lake, source: object, window: str, *_: object, again: bool = False) -> StageReport:
            assert again == (stage == "land")
            self.asked.append((stage, window))
            if self.are_lost and stage == "land":
                raise PositionsLost("the object a is gone")
            return StageReport(source="dump", window=window, stage=stage, counts={"landed": 9, "quarantined": 1})

        return act


@pytest.fixture
def stages(filled: Lake, monkeypatch: pytest.MonkeyPatch) -> Stages:
    """The window of 05 is replayed, that of 06 only decoded."""
    feed, found = Feed(filled), Stages()
    feed.done(5)
    feed.done(6, "land", "decode")

    @contextmanager
    def no_spark(_: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(quarantine, "running_spark", no_spark)
    monkeypatch.setattr(
        run, "_entry_points", lambda *_, **__: {stage: found.door(stage) for stage in ("decode", "replay")}
    )
    monkeypatch.setattr("retable.land.spark.land_window", found.door("land"))
    return found


D5, R5, D6 = ("decode", "20260301T0500Z"), ("replay", "20260301T0500Z"), ("decode", "20260301T0600Z")


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ((), [D5, R5, D6]),
        (("--window", "20260301T0600Z"), [D6]),
        (("--source", "dump", "--window", "20260301T0500Z"), [D5, R5]),
        (("--id", f"{AT6}/decode/{SHOWN}/0@12"), [D6]),
        (("--id", f"{AT6}/decode/{SHOWN}/0@12", "--id", f"{AT5}/decode/{SHOWN}/0@7"), [D5, R5, D6]),
        (("--id", f"{AT6}/decode/{SHOWN}/0@12", "--window", "20260301T0500Z"), []),
        (("--window", "20260301T0800Z"), []),
    ],
)
def test_the_windows_that_are_asked_for_are_decoded_anew_and_replayed_where_they_were(
    retable: Retable, stages: Stages, options: tuple[str, ...], asked: list[tuple[str, str]]
) -> None:
    result = retable("quarantine", "redecode", *options)
    assert stages.asked == asked
    assert result.exit_code == (2 if asked else 0), result.stderr
    assert ("0 of" in result.stderr) == bool(asked)


def test_a_window_with_nothing_but_accepted_losses_is_decoded_anew_only_by_its_id(
    retable: Retable, stages: Stages
) -> None:
    lost = f"{AT6}/decode/{SHOWN}/0@12"
    retable("quarantine", "accept", lost, "--reason", "x")
    retable("quarantine", "redecode")
    assert stages.asked == [D5, R5]
    stages.asked.clear()
    result = retable("quarantine", "redecode", "--id", lost)
    assert stages.asked == [D6]
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("are_lost", [False, True])
def test_where_landing_cut_a_line_the_objects_are_read_again_if_they_are_there(
    retable: Retable, stages: Stages, filled: Lake, are_lost: bool
) -> None:
    cut = {
        "window": "20260301T0600Z",
        "topic": "dump",
        "partition": -1,
        "offset": 3,
        "problem": "cut",
        "landed_at": NOW,
    }
    filled.load("bronze.dump").append(pa.Table.from_pylist([cut], schema=BRONZE.columns))
    stages.are_lost = are_lost
    result = retable("quarantine", "redecode", "--window", "20260301T0600Z")
    assert stages.asked == [("land", "20260301T0600Z"), D6]
    assert ("stay as they are: the object a is gone" in result.stderr) == are_lost


def test_an_id_that_is_not_quarantined_decodes_nothing(retable: Retable, stages: Stages) -> None:
    result = retable("quarantine", "redecode", "--id", f"{AT5}/decode/{SHOWN}/0@8")
    assert (result.exit_code, stages.asked) == (1, [])
