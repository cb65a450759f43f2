"""Run upkeep: compact, expire and clean one table after the other, with Iceberg's actions in Spark if needed."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache, partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, cast

from retable.decode.statements import keep_statements
from retable.errors import ConflictError, DamagedFile, SparkDied, Unavailable
from retable.gold.state import RUN_PROPERTY
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.lake.warehouse import Warehouse
from retable.ledger.leases import LENGTH, Lease, leased
from retable.ledger.retained import KeptLayer
from retable.settings.load import CATALOG
from retable.upkeep.dropping import Dropped, drop_silver, drop_whole
from retable.upkeep.inspection import TablePlace, facts_of, places
from retable.upkeep.orphans import foreign, remove_orphans
from retable.upkeep.outlook import inspect_retention
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import Partition, Plan, TableFacts, UpkeepRules, stands_alone
from retable.upkeep.report import UpkeepResult, record_cut, record_kept
from retable.upkeep.system import compact_ops, compact_silver, prune_cuts, prune_leases, prune_past

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def upkeep(
    spark: "SparkSession",
    lake: Lake,
    chosen: Sequence[TablePlace],
    run_id: str,
    clock: Callable[[], datetime],
    on_progress: Callable[[str], None] = lambda _: None,
    rules: UpkeepRules | None = None,
) -> list[UpkeepResult]:
    """Maintain the `chosen` tables: compact files, expire snapshots, remove orphans. Return one result for each table.

    Each table is leased (reserved) meanwhile. A table that another run uses is skipped, and its result says why.
    `on_progress` gets the name of each table before its upkeep. `rules` are the thresholds, such as the
    size of a compacted file; None means the default values. The `clock` is read again for each table, because all
    tables together may take longer than a lease is valid.
    """
    keeper = Keeper(Iceberg(spark), lake, run_id, clock, rules or UpkeepRules())
    found = []
    for place in chosen:
        on_progress(place.name)
        found.append(keeper.keep(place))
    return found


class Iceberg:
    """Calls Iceberg's actions (compaction, expiry and others) through one Spark session."""

    def __init__(self, spark: "SparkSession") -> None:
        # A session loads its catalogs with the settings of the thread's active session, so a statement comes first.
        spark.sql(f"USE {CATALOG}")
        self._api = cast(Any, spark._jvm).org.apache.iceberg
        self._arrays = cast(Any, spark._jvm).java.util.ArrayList
        self._catalog: Any = self._api.spark.Spark3Util.loadIcebergCatalog(spark._jsparkSession, CATALOG)
        self._actions: Any = self._api.spark.actions.SparkActions.get(spark._jsparkSession)

    def compact(self, name: str, run_id: str, rules: UpkeepRules, windows: Iterable[str] | None = None) -> int:
        """Compact a table according to `rules`, in one commit. Return the number of replaced files.

        `windows` limits the compaction to these windows. None does not limit it.
        """
        action = self._actions.rewriteDataFiles(self._load(name)).snapshotProperty(RUN_PROPERTY, run_id)
        options = {
            "target-file-size-bytes": rules.target,
            "min-file-size-bytes": rules.small,
            "min-input-files": rules.few_files,
            "delete-ratio-threshold": rules.most_deleted,
            "delete-file-threshold": rules.most_deletes,
            "remove-dangling-deletes": "true",
        }
        for option, value in options.items():
            action = action.option(option, str(value))
        if windows is not None:
            wanted = self._arrays()
            for window in windows:
                wanted.add(window)
            action = action.filter(getattr(self._api.expressions.Expressions, "in")("window", wanted))
        return int(action.execute().rewrittenDataFilesCount())

    def merge_manifests(self, name: str, run_id: str) -> int:
        """Rewrite the manifests of a table into fewer manifests, sorted by partition. Return the number of old ones."""
        action = self._actions.rewriteManifests(self._load(name)).snapshotProperty(RUN_PROPERTY, run_id)
        return sum(1 for _ in action.execute().rewrittenManifests())

    def expire(self, name: str, snapshots: Iterable[int]) -> None:
        """Expire these snapshots of a table, and remove the files that only these snapshots use."""
        # Iceberg would also expire by age; no snapshot is older than the time 0.
        change = self._load(name).expireSnapshots().expireOlderThan(0)
        for snapshot in snapshots:
            change = change.expireSnapshotId(snapshot)
        change.commit()

    def set_property(self, name: str, key: str, value: str) -> None:
        """Set a property of a table, in its own commit.

        If Retable's properties of a gold table change, a replay that loaded the table before cannot publish any more.
        Otherwise it could publish rows that it decided by an old value, such as an old retention floor.
        """
        self._load(name).updateProperties().set(key, value).commit()

    def _load(self, name: str) -> Any:
        return self._catalog.loadTable(self._api.catalog.TableIdentifier.parse(name))


class Keeper:
    """Maintains tables of one lake during one run of upkeep."""

    def __init__(
        self, iceberg: Iceberg, lake: Lake, run_id: str, clock: Callable[[], datetime], rules: UpkeepRules
    ) -> None:
        self._iceberg = iceberg
        self._lake = lake
        self._run_id = run_id
        self._clock = clock
        self._rules = rules
        self._warehouse = Warehouse(lake.settings.lake)
        self._locations = {each.name: _location(lake, each) for each in places(lake)}
        self._cuts_of = cache(partial(read_cuts, lake))

    def keep(self, place: TablePlace) -> UpkeepResult:
        """Do the upkeep that one table needs. Return the result, which also says if the table was skipped, and why.

        A table is skipped if another run has leased (reserved) it, or commits to it at the same time. A table with a
        damaged file is skipped, too. So is a table whose folder another lake or a newer catalog may use, because upkeep
        removes files in this folder.
        """
        began, now = perf_counter(), self._clock()
        source = place.source or ""
        lease = Lease(
            source=source, target=place.name, purpose="upkeep", holder=self._run_id, until=now + LENGTH, recorded_at=now
        )
        try:
            if place.damage is not None:
                raise place.damage
            with leased(self._lake, lease), spark_explained(self._lake.settings.lake):
                kept = self._kept(place, now, began)
        except (Unavailable, SparkDied):
            # No other run is the cause, and the next table would fail in the same way.
            raise
        except ConflictError as error:
            return UpkeepResult(
                table=place.name, source=place.source, left=error.message, seconds=perf_counter() - began
            )
        except DamagedFile as error:
            why, took = error.message, perf_counter() - began
            return UpkeepResult(table=place.name, source=place.source, left=why, seconds=took, is_damaged=True)
        if any(kept.done.values()):
            record_kept(self._lake, kept, self._run_id, self._clock())
        return kept

    def _kept(self, place: TablePlace, now: datetime, began: float) -> UpkeepResult:
        table = self._lake.load(place.name)
        if (why := foreign(self._warehouse, table)) is not None:
            return UpkeepResult(table=place.name, source=place.source, left=why, seconds=perf_counter() - began)
        before = facts_of(self._lake, place, table)
        if place.layer == "silver" and place.source is not None:
            # The statements record up to which snapshot of silver they were read, and need all later snapshots. So
            # they are read before snapshots expire.
            system = self._lake.settings.source(place.source).source_system
            keep_statements(self._lake, place.source, system, wholly=True)
        dropped = self._drop(place, now)
        _, plan = plan_place(self._lake, place, now, self._rules, self._cuts_of)
        done = {"files": 0, "manifests": 0, "snapshots": 0, "orphans": 0}
        done |= {"windows": dropped.windows, "rows": dropped.rows}
        if plan.compact:
            done["files"] = self._compact(place, plan)
        if plan.merge_manifests:
            done["manifests"] = self._iceberg.merge_manifests(place.name, self._run_id)
        if place.layer == "gold" and (done["files"] or done["manifests"]):
            record_cut(self._lake, place, before.current, self._clock())
        expire = plan_place(self._lake, place, now, self._rules, self._cuts_of)[1].expire
        if expire:
            self._iceberg.expire(place.name, expire)
        done["snapshots"] = len(expire)
        if self._may_clean(place, before):
            newest = self._lake.load(place.name)
            done["orphans"] = remove_orphans(self._warehouse, newest, now - self._rules.orphan_age)
        after = facts_of(self._lake, place, self._lake.load(place.name))
        took = perf_counter() - began
        return UpkeepResult(
            table=place.name,
            source=place.source,
            before=before.counts,
            after=after.counts,
            done=done,
            left=None,
            seconds=took,
            notes=dropped.notes,
        )

    def _drop(self, place: TablePlace, now: datetime) -> Dropped:
        """Drop what retention allows: old windows of a source, or old rows of an ops table. Return what was dropped."""
        if place.name == "ops.leases":
            return Dropped(rows=prune_leases(self._lake, now, self._run_id))
        if place.name == "ops.cuts":
            return Dropped(rows=prune_cuts(self._lake, self._lake.settings.lake.keep_cuts, self._run_id))
        if place.name in ("ops.evidence", "ops.watermarks", "ops.upkeep"):
            return Dropped(rows=prune_past(self._lake, place.name, now, self._run_id))
        if place.source is None or place.layer in ("gold", "statements"):
            return Dropped()
        source = self._lake.settings.source(place.source)
        retained = inspect_retention(self._lake, source, now)
        if place.layer == "silver":
            return drop_silver(self._lake, source, retained, self._run_id, self._iceberg.set_property)
        layer = cast(KeptLayer, place.layer)
        return drop_whole(self._lake, layer, source.name, retained.cuts[layer], self._run_id)

    def _compact(self, place: TablePlace, plan: Plan) -> int:
        match place.layer:
            case "silver":
                table = self._lake.load(place.name)
                return compact_silver(self._lake, table, sorted(map(_first, plan.compact)), self._run_id)
            case "ops":
                return compact_ops(self._lake, self._lake.load(place.name), plan.compact, self._run_id)
            case "bronze":
                windows = sorted(str(partition[1]) for partition in plan.compact)
                return self._iceberg.compact(place.name, self._run_id, self._rules, windows)
            case "gold" | "statements" | "quarantine":
                return self._iceberg.compact(place.name, self._run_id, self._rules)

    def _may_clean(self, place: TablePlace, facts: TableFacts) -> bool:
        """Return whether orphan files of a table may be removed.

        They may if no run has a branch in the table, and no other table shares its folder.
        """
        others = [location for name, location in self._locations.items() if name != place.name]
        return not facts.busy and stands_alone(facts.location, others)


def _location(lake: Lake, place: TablePlace) -> str:
    if place.damage is not None:
        return str(place.damage.facts["path"]).rpartition("/metadata/")[0]
    return lake.load(place.name).location()


def _first(partition: Partition) -> str:
    return str(partition[0])
