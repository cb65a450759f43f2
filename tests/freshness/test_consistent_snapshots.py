"""The cut that is handed out with a proof holds all that was waited for."""

from dataclasses import replace
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeding import EACH, Feed, at, name
from freshness.test_catalog import ITEMS, LATER, ORDERS, gold, hold_at
from lakes import SettingsWriter
from retable.freshness.catalog import ask, reached_at, record
from retable.freshness.consistent_snapshots import first_whole
from retable.gold.read import find_gold, read_as_of, read_cut
from retable.gold.state import GoldState, from_properties, to_properties
from retable.ledger.cuts import TableSnapshot, read_cuts, record_cut
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.rows import LedgerRow
from retable.ledger.write import append_rows
from retable.model.sequence import Sequence

TABLE = "gold_shop.orders"


@pytest.fixture
def feed(write_settings: SettingsWriter) -> Feed:
    """A source with three recorded and proven hours of which none is replayed, and two empty gold tables."""
    feed = Feed(open_lake(write_settings(EACH)))
    feed.windows(8)
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    for table in (ORDERS, ITEMS):
        gold(feed.lake, table)
    return feed


def replays(feed: Feed, hour: int, rows: int, when: str | None = None, latest: int | None = None) -> None:
    """Replay a window of orders as a run does: rows, state, the cut of the latest window, the ledger."""
    now = at(when or f"0{hour}:59")
    table = feed.lake.load(TABLE)
    sequence = {"epoch": 0, "hi": hour, "lo": 0}
    table.append(
        pa.Table.from_pylist([{"id": hour, "_retable_sequence": sequence}] * rows, schema=table.schema().as_arrow())
    )
    cut(feed, hour if latest is None else latest, now)
    rest = {
        "counts": {"rows": rows, "applied": rows},
        "lowest": {},
        "highest": {},
        "snapshot_id": None,
        "identity": None,
        "run_id": "run",
        "seconds": 1.0,
        "bytes": 0,
        "recorded_at": now,
        "cut": name(hour if latest is None else latest),
    }
    append_rows(feed.lake, [LedgerRow(source="dump", window=name(hour), stage="replay", table=TABLE, **rest)])
    feed.done(hour)


def cut(feed: Feed, hour: int, now: datetime) -> None:
    """Write the cut of a window: both tables as they are."""
    tables = {}
    for table in (TABLE, "gold_shop.items"):
        loaded, state = find_gold(feed.lake, table)
        tables[state.identity] = TableSnapshot(table, loaded.metadata.current_snapshot_id, state.state)
    record_cut(feed.lake, "dump", name(hour), tables, now, read_cuts(feed.lake, "dump"), lambda gold: None)


def become(lake: Lake, **more: object) -> None:
    """Give the state of orders other fields."""
    table = lake.load(TABLE)
    state = from_properties(table.properties)
    assert isinstance(state, GoldState)
    now = to_properties(replace(state, **more))  # type: ignore[arg-type]  # fields by name
    with table.transaction() as transaction:
        transaction.set_properties(now)
        transaction.remove_properties(*({"retable.hold"} & table.properties.keys() - now.keys()))


def window_of(feed: Feed, *names: str, through: str = "06:30") -> str | None:
    return reached_at(feed.lake, names or [TABLE], at(through), "row")["dump"]


def handed_out(feed: Feed) -> int:
    """The rows of orders in the cut that the proof through 06:30 names, once it is proven."""
    assert ask(feed.lake, [TABLE], at("06:30"), "row").is_fresh
    window = window_of(feed)
    assert window is not None
    return read_as_of(feed.lake, TABLE, read_cut(feed.lake, "dump", window)).num_rows


def test_it_is_that_of_the_first_window_that_proved_it(feed: Feed) -> None:
    source = feed.lake.settings.source("dump")
    for hour in (5, 6, 7):
        replays(feed, hour, 1)
        record(feed.lake, source, LATER)
    for names in ((TABLE,), ("dump",), (TABLE, "gold_shop.items")):
        found = [window_of(feed, *names, through=time) for time in ("05:50", "06:30", "07:00", "08:00")]
        assert found == [name(5), name(6), name(7), None]
    assert handed_out(feed) == 2


def test_what_nobody_promised_is_in_the_last_one(feed: Feed) -> None:
    for hour in (5, 6, 7):
        replays(feed, hour, 1)
    assert (window_of(feed), window_of(feed, through="08:00")) == (name(7), None)
    assert handed_out(feed) == 3


def test_what_a_hold_kept_back_is_in_it(feed: Feed) -> None:
    source = feed.lake.settings.source("dump")
    replays(feed, 5, 2)
    become(feed.lake, state="held", hold=hold_at(Sequence(0, 6, 0)))
    for hour in (6, 7):
        replays(feed, hour, 0)
        feed.held(hour, TABLE)
    record(feed.lake, source, LATER)
    assert not ask(feed.lake, [TABLE], at("06:30"), "row").is_fresh
    assert window_of(feed, "gold_shop.items") == name(7)
    become(feed.lake, state="live", hold=None)
    replays(feed, 6, 3, "12:00", latest=7)
    assert handed_out(feed) == 5
    record(feed.lake, source, LATER)
    assert handed_out(feed) == 5


def test_what_a_half_waited_for_is_in_it(feed: Feed) -> None:
    source = feed.lake.settings.source("dump")
    replays(feed, 5, 2)
    record(feed.lake, source, LATER)
    replays(feed, 6, 1)
    become(feed.lake, pending={"0.6.1": name(6)})
    record(feed.lake, source, LATER)
    become(feed.lake, pending={})
    replays(feed, 7, 2)
    record(feed.lake, source, LATER)
    assert window_of(feed) == name(7)
    assert handed_out(feed) == 5


@pytest.mark.parametrize("clock", ["12:00", "05:01"])
def test_what_a_window_brought_that_was_replayed_again_is_in_it_whatever_the_clock_of_that_run(
    feed: Feed, clock: str
) -> None:
    source = feed.lake.settings.source("dump")
    for hour in (5, 6, 7):
        replays(feed, hour, 1)
        record(feed.lake, source, LATER)
    assert window_of(feed) == name(6)
    replays(feed, 5, 4, clock, latest=7)
    assert (window_of(feed), window_of(feed, "gold_shop.items")) == (name(7), name(6))
    assert handed_out(feed) == 7


def test_a_table_that_came_later_is_in_it(feed: Feed) -> None:
    source = feed.lake.settings.source("dump")
    feed.lake.catalog.drop_table("gold_shop.items")
    for hour in (5, 6):
        feed.done(hour)
        record(feed.lake, source, LATER)
    gold(feed.lake, ITEMS)
    replays(feed, 7, 1)
    record(feed.lake, source, LATER)
    assert (window_of(feed, TABLE), window_of(feed, "gold_shop.items")) == (name(6), name(7))


# --- the law -----------------------------------------------------------------------------------------------------
runs = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=12)


@given(runs, st.integers(0, 9))
def test_nothing_is_handed_out_that_lacks_what_was_replayed_up_to_it(found: list[tuple[int, bool]], asked: int) -> None:
    """Runs go on window by window or replay an old one again; each writes the cut of the last replayed window."""
    last, cuts, rows, held = 0, {name(0): 0}, {name(0): 0}, {name(0): name(0)}
    for run, (again, goes_on) in enumerate(found, 1):
        last += goes_on
        replayed = name(last if goes_on else min(again, last))
        rows[replayed], cuts[name(last)], held[replayed] = run, run, name(last)
    window = first_whole(name(min(asked, last)), name(last), [*cuts], held.items())
    assert name(min(asked, last)) <= window <= name(last)
    assert all(run <= cuts[window] for each, run in rows.items() if each <= window)
