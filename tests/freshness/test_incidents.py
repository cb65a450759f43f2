"""Incidents: one for each cause, told once by any number of processes, over when nothing of it is late."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from feeding import read_incidents
from lakes import SettingsWriter
from retable.freshness.gate import Cause, FreshnessStanding, Verdict
from retable.freshness.incidents import PATIENCE, claim_key, due_to_tell, judge_incidents
from retable.freshness.sla import LateTable
from retable.ledger.incidents import Incident, change_incidents
from retable.ledger.lake.catalog import open_lake

NOW = datetime(2026, 3, 1, 6, 20, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def late(table: str = "gold_shop.orders", key: str = "UNREAD:kafka-1:9092", source: str = "erp") -> LateTable:
    cause = Cause("NOT_RECORDED", "the broker does not answer", "start it", table=table)
    verdict = Verdict(table, NOW, FreshnessStanding(None, None), cause)
    return LateTable(
        source=source, table=table, key=key, due=NOW, verdict=verdict, severity="warning", owner=None, notify=()
    )


def opened(*found: LateTable, now: datetime = NOW) -> list[Incident]:
    return judge_incidents([], found, watched("erp", "crm"), now)


def watched(*sources: str, without: str = "") -> dict[str, set[str]]:
    """What has an SLA in these sources, without one of its names."""
    tables = ("gold_shop.orders", "gold_shop.items", "gold_crm.people")
    return {source: {source, *(f"{source}/{table}" for table in tables)} - {without} for source in sources}


def test_one_broker_that_is_down_is_one_incident_however_many_tables_and_sources_it_makes_late() -> None:
    (incident,) = opened(late(), late("gold_shop.items"), late("gold_crm.people", source="crm"))
    assert incident.names.keys() == {"erp/gold_shop.orders", "erp/gold_shop.items", "crm/gold_crm.people"}


def test_two_causes_are_two_incidents() -> None:
    assert len(opened(late(), late("gold_shop.items", key="HELD:erp/gold_shop.items"))) == 2


def test_a_source_that_catches_up_stays_one_incident_whichever_stage_it_waits_for() -> None:
    known = opened(late())
    assert judge_incidents(known, [late(key="UNDONE:erp")], watched("erp"), NOW + MINUTE) == []


def test_what_is_known_changes_nothing() -> None:
    known = opened(late())
    assert judge_incidents(known, [late()], watched("erp"), NOW + MINUTE) == []


def test_an_incident_is_over_when_nothing_of_it_is_late_by_any_cause() -> None:
    known = opened(late(), late("gold_shop.items"))
    again = judge_incidents(
        known, [late("gold_shop.items", key="HELD:erp/gold_shop.items")], watched("erp"), NOW + MINUTE
    )
    assert [incident.state for incident in again] == ["open"]
    over = judge_incidents([*known, *again], [], watched("erp"), NOW + 2 * MINUTE)
    assert [incident.state for incident in over] == ["closed", "closed"]


def test_an_incident_of_a_source_that_was_not_looked_at_stays() -> None:
    known = opened(late(), late("gold_crm.people", source="crm"))
    assert judge_incidents(known, [], watched("erp"), NOW + MINUTE) == []


def test_what_lost_its_sla_is_not_over_and_nobody_is_told_so() -> None:
    (known,) = opened(late())
    told = replace(known, told={claim_key("late", "mail"): NOW})
    (left,) = judge_incidents([told], [], watched("erp", without="erp/gold_shop.orders"), NOW + MINUTE)
    assert (left.state, left.names) == ("unwatched", known.names)
    assert due_to_tell(left, ["mail", "chat"], NOW + MINUTE) == [("unwatched", "mail")]


def test_what_lost_its_sla_leaves_an_incident_that_goes_on_without_it() -> None:
    known = opened(late(), late("gold_shop.items"))
    fewer = watched("erp", without="erp/gold_shop.orders")
    (left,) = judge_incidents(known, [late("gold_shop.items")], fewer, NOW + MINUTE)
    assert (left.state, left.names.keys()) == ("open", {"erp/gold_shop.items"})
    assert judge_incidents([left], [late("gold_shop.items")], fewer, NOW + 2 * MINUTE) == []
    (over,) = judge_incidents([left], [], fewer, NOW + 3 * MINUTE)
    assert (over.state, over.names.keys()) == ("closed", {"erp/gold_shop.items"})


def test_an_incident_of_a_source_that_is_gone_ends_too() -> None:
    known = opened(late())
    (left,) = judge_incidents(known, [], {"crm": (), "erp": ()}, NOW + MINUTE)
    assert left.state == "unwatched"
    assert judge_incidents([left], [], {"erp": ()}, NOW + 2 * MINUTE) == []


@given(st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3)), st.sets(st.integers(0, 3)), st.booleans())
def test_an_incident_is_only_over_if_all_that_it_still_tells_of_was_looked_at_and_found_complete(
    opens: set[int], stays: set[int], loses: set[int], looked_at: bool
) -> None:
    def found(numbers: set[int]) -> list[LateTable]:
        return [late(f"gold_shop.t{number}") for number in sorted(numbers)]

    has = {"erp": {f"erp/gold_shop.t{number}" for number in range(4) if number not in loses}} if looked_at else {}
    known = judge_incidents([], found(opens), {"erp": {f"erp/gold_shop.t{number}" for number in range(4)}}, NOW)
    now_late = found((stays & opens) - loses if looked_at else set())
    newest = {each.id: each for each in [*known, *judge_incidents(known, now_late, has, NOW + MINUTE)]}
    for incident in newest.values():
        lost = {name for name in incident.names if looked_at and name not in has["erp"]}
        if incident.state == "closed":
            assert looked_at
            assert not lost
            assert not {each.name for each in now_late} & incident.names.keys()
        else:
            assert (incident.state == "unwatched") == bool(lost)


def test_the_same_cause_again_after_it_was_over_is_a_new_incident() -> None:
    known = opened(late())
    over = judge_incidents(known, [], watched("erp"), NOW + MINUTE)
    (again,) = judge_incidents(over, [late()], watched("erp"), NOW + 2 * MINUTE)
    assert again.id != known[0].id


def test_who_was_told_that_it_is_late_is_told_that_it_is_over_and_nobody_else() -> None:
    (incident,) = opened(late())
    assert due_to_tell(incident, ["mail", "chat"], NOW) == [("late", "mail"), ("late", "chat")]
    told = replace(incident, told={claim_key("late", "mail"): NOW})
    assert due_to_tell(told, ["mail"], NOW) == []
    assert due_to_tell(replace(told, state="closed"), ["mail", "chat"], NOW) == [("recovered", "mail")]


@given(st.integers(0, 60))
def test_what_a_process_undertook_to_tell_is_told_by_another_only_when_it_must_have_died(minutes: int) -> None:
    (incident,) = opened(late())
    claimed = replace(incident, claimed={claim_key("late", "mail"): NOW})
    due = due_to_tell(claimed, ["mail"], NOW + minutes * MINUTE)
    assert bool(due) == (minutes * MINUTE > PATIENCE)


def test_of_processes_that_look_at_once_one_opens_an_incident(write_settings: SettingsWriter) -> None:
    lake = open_lake(write_settings(""))
    change_incidents(lake, lambda known: [])

    def look(_: int) -> int:
        mine = open_lake(lake.settings)
        return len(change_incidents(mine, lambda known: judge_incidents(known, [late()], watched("erp"), NOW)))

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(look, range(3))) == [0, 0, 1]
    (incident,) = read_incidents(lake)
    assert incident == opened(late())[0]
