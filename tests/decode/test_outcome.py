"""What becomes of each message: stored, excluded, ignored or quarantined, and nothing else."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from decode.events import CANAL, INSERT, canal, raw
from retable.decode import outcome
from retable.decode.context import DecodeContext
from retable.decode.outcome import COLUMNS, decode_batches
from retable.decode.registry import decode_message
from retable.decode.silver import COLUMNS as SILVER
from retable.decode.silver import rows_to_events
from retable.land.bronze import to_batches
from retable.model.event import TableName
from retable.model.message import RawMessage

WINDOW = "20260301T0500Z"


def outcomes(messages: Iterable[RawMessage], context: DecodeContext = CANAL) -> pa.Table:
    bronze = to_batches(messages, WINDOW, datetime(2026, 3, 1, 6, tzinfo=UTC))
    decoded = decode_batches(bronze, WINDOW, context, lambda table: table.database != "crm")
    return pa.Table.from_batches(decoded, COLUMNS)


def test_events_of_wanted_tables_are_stored_as_they_are() -> None:
    messages = [canal(1), canal(2, type="DELETE"), canal(3, isDdl=True, type="ALTER", data=None, sql="alter table t")]
    rows = outcomes(messages)
    assert rows["outcome"].to_pylist() == ["stored"] * 3
    events = [event for message in messages for event in decode_message(message, CANAL)]
    assert rows_to_events(rows.select(SILVER.names)) == events


def test_rows_of_unwanted_tables_keep_their_place_and_lose_their_images() -> None:
    (row,) = outcomes([canal(9, database="crm")]).to_pylist()
    assert (row["outcome"], row["database"], row["op"], row["sequence"]["hi"]) == ("excluded", "crm", "INSERT", 9)
    assert (row["before"], row["after"]) == (None, None)


@pytest.mark.parametrize("kind", ["RENAME", "TRUNCATE"])
def test_statements_are_stored_whatever_table_they_name(kind: str) -> None:
    (row,) = outcomes([canal(database="crm", isDdl=True, type=kind, data=None, sql="…")]).to_pylist()
    assert (row["outcome"], row["kind"]) == ("stored", "schema")


def test_a_refused_message_keeps_its_address_its_table_and_its_keys() -> None:
    (row,) = outcomes([canal(8, pkNames=["id", "region"])]).to_pylist()
    assert {name: fact for name, fact in row.items() if fact is not None} == {
        "outcome": "quarantined",
        "window": WINDOW,
        "topic": "erp",
        "partition": 0,
        "offset": 8,
        "database": "shop",
        "table": "t",
        "keys": ['["1",null]'],
        "code": "KEY_NOT_IN_IMAGE",
        "place": "row 0",
        "reason": row["reason"],
    }
    assert "check `keys`" in row["reason"]


def test_a_refused_message_of_an_unwanted_table_is_ignored() -> None:
    (row,) = outcomes([canal(database="crm", data=None)]).to_pylist()
    assert (row["outcome"], row["code"], row["database"]) == ("ignored", "MALFORMED", "crm")


def test_a_line_that_was_no_record_is_quarantined_with_what_was_wrong_with_it() -> None:
    (row,) = outcomes([RawMessage("erp", -1, 5, None, None, b"nonsense", (), "line 2: no record")]).to_pylist()
    assert (row["outcome"], row["code"], row["reason"], row["offset"]) == (
        "quarantined",
        "MALFORMED",
        "line 2: no record",
        5,
    )


def test_one_bad_message_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_BYTES", 300)
    messages = [raw(b"{" if offset % 3 == 0 else json.dumps(INSERT).encode(), offset) for offset in range(20)]
    rows = outcomes(messages)
    assert sorted(rows["offset"].to_pylist()) == list(range(20))
    assert rows["outcome"].to_pylist().count("quarantined") == 7


def test_an_unnamed_table_is_nobodys_to_exclude() -> None:
    (row,) = outcomes(
        [canal(database="crm", table="", isDdl=True, type="QUERY", data=None, sql="drop database crm")]
    ).to_pylist()
    assert (row["outcome"], row["table"]) == ("stored", None)


def test_names_of_tables_reach_the_settings_whole() -> None:
    asked: list[TableName] = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ()

    outcomes([canal(pkNames=None, table='a.b"c')], DecodeContext("canal_json", keys_of=keys_of))
    assert asked == [TableName("shop", None, 'a.b"c')]
