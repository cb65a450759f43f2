"""A person who knows that lost positions held no change of a table says so, by name and with a reason."""

from collections.abc import Callable

from typer.testing import Result

from feeding import EACH, Feed, at, name
from freshness.test_catalog import fed
from lakes import SettingsWriter
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_actions
from retable.ledger.rows import LedgerRow
from retable.ledger.write import append_rows

LOST = {
    "counts": {"positions": 1000, "landed": 400, "lost": 600},
    "lowest": {},
    "highest": {},
    "snapshot_id": None,
    "identity": None,
    "run_id": "run",
    "seconds": 1.0,
    "bytes": 0,
    "recorded_at": at("07:05"),
}
WHY = ("why", "gold_shop.orders", "--through", "2026-03-01T07:00:00Z")


def test_a_table_that_lost_nothing_is_complete_again(
    write_settings: SettingsWriter, retable: Callable[..., Result]
) -> None:
    feed = fed(open_lake(write_settings(EACH)))
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    feed = Feed(open_lake(write_settings(EACH + "source_epoch = 1\n")))
    append_rows(feed.lake, [LedgerRow(source="dump", window=name(6), stage="land", table=None, **LOST)])
    assert "LOST: 600 positions of dump" in retable(*WHY).stdout
    done = retable("accept-loss", "gold_shop.orders", "gold_shop.items", "--reason", "it is never written")
    for table in ("gold_shop.orders", "gold_shop.items"):
        assert f"accepted: 600 lost positions, before and in 20260301T0600Z, held no change of {table}" in done.output
    assert "fresh" in retable(*WHY).stdout
    again = retable("accept-loss", "gold_shop.orders", "--reason", "it is never written")
    assert "there are no lost positions that keep gold_shop.orders from being complete" in again.output
    told = {(action.action, action.reason) for action in read_actions(feed.lake, "dump")}
    assert told == {("accept-loss", "it is never written")}
    assert retable("accept-loss", "gold_shop.nothing", "--reason", "x").exit_code == 1
