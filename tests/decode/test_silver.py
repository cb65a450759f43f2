"""Events as rows of silver and back, and the hashes of their keys."""

import json
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from formats.events import CANAL, canal
from retable.decode.silver import COLUMNS, events_to_batch, hash_keys, rows_to_events
from retable.formats.image_text import key_text, keys_in, read_image
from retable.formats.registry import decode_message
from retable.model.event import OPS, Address, ChangeEvent
from retable.model.sequence import Sequence

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
maybe = st.none() | names
longs = st.integers(-(2**63), 2**63 - 1)
types = st.none() | st.dictionaries(names, names, max_size=3)
images = st.none() | st.dictionaries(names, maybe, max_size=3).map(json.dumps)
events = st.builds(
    ChangeEvent,
    source_format=names,
    source_system=maybe,
    op=st.sampled_from(OPS),
    op_raw=names,
    address=st.builds(Address, names, st.integers(-1, 2**31 - 1), longs, st.integers(0, 2**31 - 1)),
    database=maybe,
    schema=maybe,
    table=maybe,
    image=st.sampled_from([None, "full", "before_half", "after_half"]),
    keys=st.none() | st.lists(names, max_size=3).map(tuple),
    keys_origin=st.sampled_from([None, "message", "hidden_row_id"]),
    before=images,
    after=images,
    table_changes=maybe,
    partial_before=st.booleans(),
    partial_after=st.booleans(),
    sequence=st.none() | st.builds(Sequence, st.integers(0, 2**31 - 1), st.integers(-(10**38) + 1, 10**38 - 1), longs),
    sequence_scope=st.sampled_from([None, "stream", "partition"]),
    tx_id=maybe,
    event_time_ms=st.none() | longs,
    process_time_ms=st.none() | longs,
    ddl_text=maybe,
    column_types=types,
    problems=st.lists(names, max_size=2).map(tuple),
)


@given(st.lists(events, max_size=4))
def test_an_event_comes_back_from_silver_as_it_was(before: list[ChangeEvent]) -> None:
    batch = events_to_batch("20260301T0500Z", before)
    assert batch.schema == COLUMNS
    assert rows_to_events(pa.Table.from_batches([batch])) == before


def test_a_row_of_silver_says_what_follows_from_its_event() -> None:
    batch = events_to_batch("20260301T0500Z", decode_message(canal(offset=10**15), CANAL))
    (row,) = batch.to_pylist()
    assert (row["window"], row["kind"], row["part"]) == ("20260301T0500Z", "row", "erp/0")
    assert row["sequence"] == {"epoch": 0, "hi": Decimal(10**15), "lo": 0}


def hashes(**fields: object) -> tuple[int | None, int | None]:
    (event,) = decode_message(canal(**fields), CANAL)
    return hash_keys([event])[0]


def test_a_key_has_one_hash_whatever_happens_to_its_row() -> None:
    row, other = {"id": "1", "c": "x"}, {"c": "y"}
    assert hashes(data=[row])[0] is not None
    assert hashes(data=[row]) == hashes(type="DELETE", data=[row]) == hashes(type="UPDATE", data=[row], old=[other])


def test_a_changed_key_has_the_hash_of_both_keys() -> None:
    new, old = hashes(data=[{"id": "2"}])[0], hashes(data=[{"id": "1"}])[0]
    assert hashes(type="UPDATE", data=[{"id": "2"}], old=[{"id": "1"}]) == (new, old)


def test_without_a_key_the_whole_row_is_hashed_whatever_the_order_of_its_columns() -> None:
    one, two = {"a": "1", "b": None}, {"b": None, "a": "1"}
    assert hashes(pkNames=None, data=[one]) == hashes(pkNames=None, data=[two])
    assert hashes(pkNames=None, data=[one]) != hashes(pkNames=None, data=[{"a": None, "b": "1"}])
    assert hashes(pkNames=None, type="UPDATE", data=[one], old=[{"a": "0"}])[1] is not None


def test_the_hash_of_a_key_never_changes() -> None:
    """It stands in tables: another one would tear the events of a key apart."""
    assert hashes(data=[{"id": "1"}]) == (9121153763933519718, None)
    assert hashes(pkNames=None, data=[{"b": None, "a": "é"}]) == (-8738134691118393334, None)


def test_statements_and_notes_have_no_key() -> None:
    assert hashes(isDdl=True, type="ALTER", data=None, sql="alter table t comment ''") == (None, None)


def test_keys_of_many_columns_do_not_run_into_each_other() -> None:
    keys = ["id", "c"]
    assert hashes(pkNames=keys, data=[{"id": "a,b", "c": ""}]) != hashes(pkNames=keys, data=[{"id": "a", "c": "b,"}])
    assert hashes(pkNames=keys, data=[{"id": "1", "c": None}]) != hashes(pkNames=keys, data=[{"id": "1", "c": "null"}])


def test_partial_events_are_whole_in_silver() -> None:
    (event,) = decode_message(canal(), CANAL)
    halves = [replace(event, image="before_half", before=event.after, after=None, partial_before=True)]
    assert rows_to_events(pa.Table.from_batches([events_to_batch("w", halves)])) == halves


tokens = st.sampled_from(
    ["null", "0", "-0", "-7", "18446744073709551615", str(10**64), "1.50", "1e3", "true", '"x"', '"\\u00e9"', "[1]"]
)


@given(st.dictionaries(names, tokens, min_size=1, max_size=4), st.data())
def test_a_key_is_read_the_same_alone_as_with_its_whole_image(image: dict[str, str], data: st.DataObject) -> None:
    text = "{" + ",".join(f"{json.dumps(name)}:{token}" for name, token in image.items()) + "}"
    keys = tuple(data.draw(st.lists(st.sampled_from([*image, "no such column"]), min_size=1, max_size=3)))
    assert keys_in([text, "{}", text], keys) == [key_text(read_image(row), keys).encode() for row in (text, "{}", text)]
