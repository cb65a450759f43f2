"""A person who knows that rows in doubt are right says so, by table and with a reason."""

from collections.abc import Callable

from typer.testing import Result

from feeding import EACH, name
from freshness.test_catalog import changed, fed
from lakes import SettingsWriter
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_actions

TABLE = "gold_shop.orders"
WHY = ("why", TABLE, "--through", "2026-03-01T07:00:00Z")
ACCEPT = ("accept-rows", TABLE, "--reason", "the row is right, the source was asked")


def test_a_table_is_not_late_for_ever_by_a_half_that_the_source_lost(
    write_settings: SettingsWriter, retable: Callable[..., Result]
) -> None:
    feed = fed(open_lake(write_settings(EACH)))
    for hour in (5, 6, 7):
        feed.proves(hour, row=f"0{hour}:50")
    changed(feed, TABLE, pending={"0.8.1": name(6), "0.7.1": name(6)})
    assert "PENDING: only half of an update has arrived, at 0.7.1" in retable(*WHY).stdout
    words = f"accepted: the rows of {TABLE} with 2 updates of which only half arrived are right"
    assert words in retable(*ACCEPT).output
    assert "fresh" in retable(*WHY).stdout
    assert f"no rows of {TABLE} are in doubt" in retable(*ACCEPT).output
    told = {(action.action, action.reason) for action in read_actions(feed.lake, "dump")}
    assert told == {("accept-rows", "the row is right, the source was asked")}
    changed(feed, TABLE, pending={"0.8.1": name(6), "0.7.1": name(6), "0.9.1": name(6)})
    assert "PENDING: only half of an update has arrived, at 0.9.1" in retable(*WHY).stdout
