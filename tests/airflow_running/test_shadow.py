"""A shadow in a real Airflow: asked for in the form, shown, approved, promoted; wrong words are refused."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from airflow_running.running import RunningAirflow
from airflow_running.test_what_is_held import answer
from airflow_running.world import SHOP_HOURS, World
from retable.gold.read import gold_states
from retable.ledger.read import read_tables
from retable.model.window import window_start
from retable.shadow.lake import find_shadow

DAG = "replay_window"
ZONE = 'time_zone = "Asia/Shanghai"\n'


@pytest.fixture(scope="module")
def known(replayed: RunningAirflow) -> RunningAirflow:
    replayed.unpause(DAG)
    return replayed


@contextmanager
def other_zone(world: World) -> Iterator[None]:
    """While it lasts the settings say that the shop writes its times in another zone."""
    path = world.folder / "retable.toml"
    right = path.read_text("utf-8")
    path.write_text(right.replace("[sources.shop]\n", f"[sources.shop]\n{ZONE}"), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(right, encoding="utf-8")


def clock(world: World, hours: int) -> str:
    """Return the start of the window that is this many hours old, as the form's picker writes it."""
    return f"{window_start(world.window(hours)):%Y-%m-%dT%H:%M:%S.000Z}"


def ask(airflow: RunningAirflow, **form: object) -> str:
    body = {"logical_date": None, "conf": {"source": "shop", "reason": "the zone of its times", **form}}
    return str(airflow.call("POST", f"/dags/{DAG}/dagRuns", body)["dag_run_id"])


def test_a_shadow_is_shown_and_promoted_by_a_person(known: RunningAirflow, world: World) -> None:
    world.release()
    before = world.differences()
    identities = {row.gold: row.identity for row in read_tables(world.lake, "shop")}
    tables = sorted(name for name, state in gold_states(world.lake).items() if state.hold is None)
    hour = {"from": clock(world, 1), "to": clock(world, 0)}
    with other_zone(world):
        run = ask(known, mode="shadow", tables=tables, **hour)
        known.wait_for(DAG, run, "approve", "awaiting_input")
        different = {
            each["table"]: each["rejected"] for each in known.result(DAG, run, "compare")["tables"] if not each["equal"]
        }
        assert "gold_shop.orders" in different
        # In another zone a date is no midnight any more: a person reads how many changes do not fit, and no value.
        assert "BAD_VALUE" in str(different["gold_shop.customers"])
        assert world.differences() == before
        answer(known, DAG, run, "Approve", "approve")
        known.wait_for_run(DAG, run)
    assert known.result(DAG, run, "promote") == tables
    assert world.differences().keys() - before.keys() == different.keys()
    assert find_shadow(world.lake, "shop") is None
    # Settings concern the rows of all hours.
    whole = {"from": clock(world, SHOP_HOURS), "to": clock(world, 0)}
    known.wait_for_run(DAG, ask(known, mode="in place", **whole))
    assert world.differences() == before
    assert {row.gold: row.identity for row in read_tables(world.lake, "shop")} == identities


def test_a_form_filled_in_wrongly_is_refused_before_anything_is_begun(known: RunningAirflow, world: World) -> None:
    hour = {"from": clock(world, 1), "to": clock(world, 0)}
    runs = {}
    for name, form in {
        "tables in place": {"mode": "in place", "tables": ["gold_shop.orders"], **hour},
        "no such table": {"mode": "shadow", "tables": ["gold_shop.no_such"], **hour},
        "not yet": {"mode": "in place", "from": clock(world, 1), "to": clock(world, -48)},
    }.items():
        runs[name] = ask(known, **form)
    for run in runs.values():
        known.wait_for_run(DAG, run, "failed")
    notes = {name: known.call("GET", f"/dags/{DAG}/dagRuns/{run}")["note"] for name, run in runs.items()}
    assert "leave `tables` empty" in notes["tables in place"]
    assert "no_such" in notes["no such table"]
    assert "`retable run shop`" in notes["not yet"]
    for name, run in runs.items():
        log = known.log(DAG, run, "refuse")
        assert notes[name] in log
        assert "Traceback" not in log


def test_the_form_offers_the_tables_after_a_look_at_the_holds(known: RunningAirflow, world: World) -> None:
    known.unpause("watch_holds")

    def offered() -> list[str]:
        return list(known.call("GET", f"/dags/{DAG}/details")["params"]["tables"]["schema"].get("examples", []))

    assert "gold_shop.orders" in known.until(offered)
    known.call("PATCH", "/dags/watch_holds", {"is_paused": True})
