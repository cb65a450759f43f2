"""What becomes of each message: stored, excluded, ignored or quarantined, and nothing else."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import pytest

from formats.events import CANAL, INSERT, canal, raw
from retable.decode import outcome
from retable.decode.outcome import Decoded, DecodeFailure, decode_batches
from retable.decode.tally import join_tallies
from retable.formats.context import DecodeContext
from retable.formats.registry import decode_message
from retable.land.bronze import to_batches
from retable.model.event import TableName
from retable.model.message import RawMessage
from retable.model.sequence import Sequence


def outcomes(messages: Iterable[RawMessage], context: DecodeContext = CANAL) -> Decoded:
    bronze = to_batches(messages, "20260301T0500Z", datetime(2026, 3, 1, 6, tzinfo=UTC))
    whole = Decoded()
    for each in decode_batches(bronze, context, lambda table: table.database != "crm"):
        whole.stored += each.stored
        whole.faults += each.faults
        join_tallies(whole.tally, each.tally)
    return whole


def test_events_of_wanted_tables_are_stored_as_they_are() -> None:
    messages = [canal(1), canal(2, type="DELETE"), canal(3, isDdl=True, type="ALTER", data=None, sql="alter table t")]
    found = outcomes(messages)
    assert found.stored == [event for message in messages for event in decode_message(message, CANAL)]
    assert {(alike.outcome, alike.op): count.rows for alike, count in found.tally.items()} == {
        ("stored", "INSERT"): 1,
        ("stored", "DELETE"): 1,
        ("stored", "DDL"): 1,
    }


def test_rows_of_unwanted_tables_are_counted_with_their_place_and_not_kept() -> None:
    found = outcomes([canal(9, database="crm")])
    ((alike, count),) = found.tally.items()
    assert (alike.outcome, str(alike.table), alike.op) == ("excluded", "crm.t", "INSERT")
    assert count.lowest == count.highest == Sequence(0, 9, 0)
    assert (found.stored, found.faults) == ([], [])


@pytest.mark.parametrize("kind", ["RENAME", "TRUNCATE"])
def test_statements_are_stored_whatever_table_they_name(kind: str) -> None:
    (event,) = outcomes([canal(database="crm", isDdl=True, type=kind, data=None, sql="…")]).stored
    assert event.kind == "schema"


def test_a_refused_message_keeps_its_address_its_table_and_its_keys() -> None:
    (fault,) = outcomes([canal(8, pkNames=["id", "region"])]).faults
    table = TableName("shop", None, "t")
    keys, place = ('["1",null]',), "row 0"
    assert fault == DecodeFailure(
        topic="erp",
        partition=0,
        offset=8,
        table=table,
        keys=keys,
        code="KEY_NOT_IN_IMAGE",
        reason=fault.reason,
        place=place,
    )
    assert "check `keys`" in fault.reason


def test_a_refused_message_of_an_unwanted_table_is_ignored() -> None:
    found = outcomes([canal(database="crm", data=None)])
    ((alike, count),) = found.tally.items()
    assert (alike.outcome, str(alike.table), count.rows, found.faults) == ("ignored", "crm.t", 1, [])


def test_a_line_that_was_no_record_is_quarantined_with_what_was_wrong_with_it() -> None:
    (fault,) = outcomes([RawMessage("erp", -1, 5, None, None, b"nonsense", (), "line 2: no record")]).faults
    assert (fault.code, fault.reason, fault.offset) == ("MALFORMED", "line 2: no record", 5)


def test_one_bad_message_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "_BYTES", 300)
    messages = [raw(b"{" if offset % 3 == 0 else json.dumps(INSERT).encode(), offset) for offset in range(20)]
    found = outcomes(messages)
    assert sorted(event.address.offset for event in found.stored) == [at for at in range(20) if at % 3]
    assert [fault.offset for fault in found.faults] == [at for at in range(20) if at % 3 == 0]


def test_an_unnamed_table_is_nobodys_to_exclude() -> None:
    drop = canal(database="crm", table="", isDdl=True, type="QUERY", data=None, sql="drop database crm")
    assert [event.table for event in outcomes([drop]).stored] == [None]


def test_names_of_tables_reach_the_settings_whole() -> None:
    asked: list[TableName] = []

    def keys_of(table: TableName) -> tuple[str, ...]:
        asked.append(table)
        return ()

    outcomes([canal(pkNames=None, table='a.b"c')], DecodeContext(source_format="canal_json", keys_of=keys_of))
    assert asked == [TableName("shop", None, 'a.b"c')]


def test_events_of_no_table_are_all_counted_whatever_database_they_name() -> None:
    drops = [
        canal(at, database=name, table="", isDdl=True, type="QUERY", data=None, sql=f"drop database {name}")
        for at, name in enumerate(("crm", "shop", "crm"))
    ]
    assert sum(count.messages for count in outcomes(drops).tally.values()) == 3


def test_what_a_header_holds_is_in_no_word_about_a_message() -> None:
    bad = msgspec.structs.replace(raw(b"{"), headers=(("authorization", b"S3CR3T-xyz"),))
    decoded = outcomes([bad])
    assert len(decoded.faults) == 1
    assert "S3CR3T" not in repr(decoded)
