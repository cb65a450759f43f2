"""Plan the upkeep of one table of a lake: which files to compact, and which snapshots to expire."""

from collections.abc import Callable
from datetime import datetime

from retable.gold.gold_metadata import state_of
from retable.gold.read import find_gold
from retable.ledger.cuts import Cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import stands_for_others
from retable.ledger.read import read_stages
from retable.upkeep.inspection import TablePlace, facts_of
from retable.upkeep.outlook import unsettled
from retable.upkeep.policy import Partition, Plan, TableFacts, UpkeepRules, plan_upkeep


def plan_place(
    lake: Lake, place: TablePlace, now: datetime, rules: UpkeepRules, cuts_of: Callable[[str], Cuts]
) -> tuple[TableFacts, Plan]:
    """Return the facts about one table, and the plan for its upkeep. Nothing is written.

    `cuts_of` takes the name of a source and returns its consistent cuts. Snapshots of gold in the newest cuts are not
    expired; the setting `keep_cuts` is the number of these cuts. In bronze and silver, only replayed windows are
    compacted, so that no running stage is disturbed. A window of silver is compacted only once. The names of its new
    files contain the digest of the old files, so gold still recognizes the content of the window.

    If the main branch of a gold table was rolled back, its plan is empty until the table is rebuilt.
    """
    table = lake.load(place.name)
    facts = facts_of(lake, place, table)
    if place.layer == "gold" and (state := state_of(table.metadata)) is not None and state.is_set_back:
        # The main branch was rolled back. Its history shows that, so it must not change before the table is rebuilt.
        return facts, Plan()
    plan = plan_upkeep(facts, _needed(lake, place, cuts_of), now, rules)
    if place.layer not in ("bronze", "silver"):
        return facts, plan
    ready = _replayed(lake, place.source or "")
    return facts, plan.only(
        {each for each in plan.compact if _window(place, each) in ready and not _is_done(plan, each)}
    )


def needed_by_freshness(lake: Lake, source: str) -> set[int]:
    """Return the IDs of snapshots of silver that upkeep must not expire, because freshness needs their times.

    Each of these snapshots wrote a window whose present content is not replayed yet. The time of the snapshot shows
    since when the window waits for its replay.
    """
    written = {
        str(snapshot.summary.additional_properties.get("retable.window")): snapshot.snapshot_id
        for snapshot in lake.load(f"silver.{source}").snapshots()
        if snapshot.summary
    }
    waiting = unsettled(lake, lake.settings.source(source))
    return {snapshot for window, snapshot in written.items() if window in waiting}


def _needed(lake: Lake, place: TablePlace, cuts_of: Callable[[str], Cuts]) -> set[int]:
    if place.source is None:
        return set()
    match place.layer:
        case "gold":
            _, state = find_gold(lake, place.name)
            kept = cuts_of(place.source).since(lake.settings.lake.keep_cuts)
            return {row.snapshot_id for row in kept if row.identity == state.identity and row.snapshot_id is not None}
        case "silver":
            return needed_by_freshness(lake, place.source)
        case _:
            return set()


def _replayed(lake: Lake, source: str) -> set[str]:
    return set(read_stages(lake, source)["replay"])


def _window(place: TablePlace, partition: Partition) -> object:
    return partition[0] if place.layer == "silver" else partition[1]


def _is_done(plan: Plan, partition: Partition) -> bool:
    return any(stands_for_others(file.path) for file in plan.compact[partition])
