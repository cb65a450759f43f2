"""Laws of retention's plan: it never goes back, never beyond what waits, and knows how far rows go."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from laws.memory import _ROWS
from retable.gold.state import GoldState, RetentionFloor
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.model.window import window_name
from retable.schema_history.history import NameSpan, TableHistory
from retable.settings.sources import Retention
from retable.upkeep.retention import Cut, Owner, WindowFacts, cut, plan_floors, settled_through
from retable.upkeep.silver_rows import Extent, extents, rows_of

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
ORDERS = TableName("shop", None, "orders")


@st.composite
def windows(draw: st.DrawFn) -> list[WindowFacts]:
    return [
        WindowFacts(
            window_name(FIRST + n * HOUR), n, FIRST + (n + 1) * HOUR, draw(st.sampled_from((None, None, "waits")))
        )
        for n in range(draw(st.integers(0, 30)))
    ]


@given(windows(), st.integers(0, 40), st.integers(0, 40), st.integers(0, 30))
def test_a_cut_never_goes_back_and_never_beyond_a_window_that_is_young_or_waits(
    found: list[WindowFacts], age: int, hours: int, former: int
) -> None:
    before, now = window_name(FIRST + former * HOUR), FIRST + hours * HOUR
    told = cut(found, age * HOUR, now, before)
    assert told.kept_from is not None
    assert told.kept_from >= before
    gone = [each for each in found if before <= each.name < told.kept_from]
    assert all(each.end <= now - age * HOUR and each.waits is None for each in gone if each.name >= before)
    behind = [each for each in found if each.name >= told.kept_from]
    if behind and told.because is None and all(each.waits is None for each in found):
        assert behind[0].end > now - age * HOUR
    assert cut(found, None, now, before) == Cut(before)


def test_what_stands_in_the_way_is_named() -> None:
    facts = [
        WindowFacts("20260301T0000Z", 0, FIRST + HOUR),
        WindowFacts("20260301T0100Z", 1, FIRST + 2 * HOUR, "waits"),
    ]
    assert cut(facts, HOUR, FIRST + 9 * HOUR, None) == Cut("20260301T0100Z", "the window 20260301T0100Z waits")
    assert cut(facts, 9 * HOUR, FIRST + 9 * HOUR, None) == Cut(None)


def test_windows_are_settled_as_far_as_none_is_missing() -> None:
    facts = [WindowFacts(str(n), n, FIRST) for n in range(4)]
    assert settled_through(facts, {"0": True, "1": True, "3": True}) == 1
    assert settled_through(facts, {}) == -1


places = st.tuples(st.integers(0, 1), st.integers(-(10**30), 10**30), st.integers(-5, 5))
names = st.sampled_from(
    [("shop", None, "orders"), ("shop", "dbo", "orders"), ("shop", None, "a\x00b"), (None, None, "")]
)
rows = st.lists(st.tuples(names, places, st.sampled_from((None, "t/0", "t/1")), st.sampled_from((None, False, True))))


def table(found: list[tuple]) -> pa.Table:
    records = [
        {
            **dict(zip(("database", "schema", "table"), name, strict=True)),
            "sequence": dict(zip(("epoch", "hi", "lo"), place, strict=True)),
            "part": part,
            "partial_after": partial,
            "offset": number,
        }
        for number, (name, place, part, partial) in enumerate(found)
    ]
    return pa.Table.from_pylist(records, _ROWS)


@given(rows)
def test_the_extent_of_a_table_is_its_last_place_in_every_partition(found: list[tuple]) -> None:
    told: dict[TableName, Extent] = {}
    for (database, schema, name), place, part, partial in found:
        if database is not None:
            key = TableName(database, schema, name)
            before = told.get(key, Extent({}, False))
            last = {**before.last, part or "": max(Sequence(*place), before.last.get(part or "", Sequence(*place)))}
            told[key] = Extent(last, before.partial or bool(partial))
    assert extents(table(found)) == told


@given(rows)
def test_rows_that_stay_are_those_of_the_tables_named_in_their_order(found: list[tuple]) -> None:
    wanted = [TableName("shop", None, "orders"), TableName("shop", None, "a\x00b")]
    kept = rows_of(table(found), wanted)["offset"].to_pylist()
    spelled = {(each.database, each.schema, each.table) for each in wanted}
    assert kept == [number for number, (name, *_) in enumerate(found) if name in spelled]


def test_rows_that_gold_has_not_been_beyond_stay() -> None:
    history = TableHistory(identity="i", spans=(NameSpan(ORDERS, None, None),), epochs=())
    state = GoldState(
        source="shop",
        identity="i",
        table=ORDERS,
        keys=("id",),
        high_water={"": Sequence(0, 5, 0)},
        floor=RetentionFloor({"": Sequence(0, 4, 0)}, 1),
    )
    known = {ORDERS: Owner(history.identity, "gold_shop.orders", state, None)}

    def plan(place: Sequence) -> RetentionFloor | None:
        return plan_floors([("w", {ORDERS: Extent({"": place}, False)})], known, 7).raised.get("gold_shop.orders")

    assert plan(Sequence(0, 5, 0)) == RetentionFloor({"": Sequence(0, 5, 0)}, 7)
    assert plan(Sequence(0, 3, 0)) == RetentionFloor({"": Sequence(0, 4, 0)}, 7)
    assert plan(Sequence(0, 5, 1)) is None
    strange = TableName("shop", None, "strange")
    floors = plan_floors([("w", {strange: Extent({"": Sequence(0, 0, 0)}, False)})], known, 7)
    assert "no DDL statement" in floors.stays[strange].reason


def test_an_age_is_written_in_days_or_years() -> None:
    told = Retention.model_validate({"bronze": "90d", "silver": "1y"})
    assert (told.bronze, told.silver, told.quarantine) == (timedelta(days=90), timedelta(days=365), None)
    for text in ("20m", "0d", "1w", 90):
        with pytest.raises(ValidationError, match="is not an age; write it as 90d or 1y"):
            Retention.model_validate({"bronze": text})
