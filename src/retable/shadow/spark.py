"""Build a shadow of gold tables with Spark, and promote it: repeat the same steps on silver and gold."""

from collections.abc import Callable
from datetime import datetime
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as sf

from retable.decode.spark import decode
from retable.gold.read import find_gold
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import spark_explained
from retable.ledger.rows import ActionRow, StageReport
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.replay.spark import rebuild, replay
from retable.session import build_session
from retable.settings.load import CATALOG
from retable.shadow.lake import (
    Shadow,
    building,
    copy_record,
    drop_shadow,
    finish,
    shadow_lake,
    shadow_source,
    the_shadow,
)
from retable.shadow.names import names_of_tables
from retable.shadow.plan import Ask
from retable.shadow.promotion import check_promotion

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OnProgress = Callable[[str], None]


def build(
    spark: "SparkSession",
    lake: Lake,
    ask: Ask,
    reason: str,
    who: str,
    run_id: str,
    now: datetime,
    on_progress: OnProgress,
) -> Shadow:
    """Build a shadow: decode the requested windows again, and build the tables from these and all other windows.

    Silver and gold of the source do not change. What a killed build left is dropped first. `reason` and `who` are
    recorded. Raise Leased if another build is running. Raise InvalidSetting if the source has a finished shadow.
    """
    with building(lake, ask.source, run_id, now):
        shadowed = shadow_lake(lake, ask.source)
        source = shadowed.settings.source(shadow_source(ask.source))
        append_rows(
            lake, [ActionRow(ask.source, f"shadow build {_words(ask)}", ", ".join(ask.tables), reason, who, now)]
        )
        states = {table: find_gold(lake, table)[0].metadata.current_snapshot_id for table in ask.tables}
        session = build_session(shadowed.settings, "retable shadow")
        shadow = Shadow(ask, reason, who, states)
        with spark_explained(lake.settings.lake):
            on_progress("copying")
            _copy(spark, lake, ask)
        copy_record(lake, ask.source)
        for window in ask.windows:
            on_progress(f"decoding {window}")
            decode(session, shadowed, source, window, run_id, now)
        for table in ask.tables:
            on_progress(f"folding {table}")
            rebuild(session, shadowed, source, shadow.name_of(table), run_id, now, on_progress)
        finish(lake, shadow)
        return shadow


def promote(
    spark: "SparkSession",
    lake: Lake,
    source_name: str,
    reason: str,
    who: str,
    run_id: str,
    now: datetime,
    on_progress: OnProgress,
) -> list[StageReport]:
    """Repeat on silver and gold what the build of the shadow did, then drop the shadow. Return the stages' reports.

    Each gold table changes in one commit. The windows are decoded again, so that silver has the rows that gold is made
    of. Changes that arrived after the build are included. If the promotion cannot be completed, or the result would
    differ from the shadow, an error is raised before anything changes (`check_promotion`).
    """
    shadow, source = the_shadow(lake, source_name), lake.settings.source(source_name)
    check_promotion(lake, shadow)
    ask = shadow.ask
    append_rows(lake, [ActionRow(ask.source, f"shadow promote {_words(ask)}", ", ".join(ask.tables), reason, who, now)])
    reports = []
    for window in ask.windows:
        on_progress(f"decoding {window}")
        reports.append(decode(spark, lake, source, window, run_id, now))
    for table in ask.tables:
        on_progress(f"folding {table}")
        reports.append(rebuild(spark, lake, source, table, run_id, now, on_progress))
    for window in ask.windows:
        on_progress(f"replaying {window}")
        reports.append(replay(spark, lake, source, window, run_id, now, on_progress))
    drop_shadow(lake, ask.source)
    return reports


def _words(ask: Ask) -> str:
    return f"{ask.windows[0]} to {ask.windows[-1]}"


def _copy(spark: "SparkSession", lake: Lake, ask: Ask) -> None:
    """Copy the bronze of the requested windows for the shadow, and the tables' events in all other silver windows."""
    name = shadow_source(ask.source)
    for layer in ("bronze", "silver", "quarantine"):
        lake.ensure(f"{layer}.{name}")
    inside = sf.col("window").isin(*ask.windows)
    bronze = spark.table(f"{CATALOG}.bronze.{ask.source}").where(inside)
    bronze.writeTo(f"{CATALOG}.bronze.{name}").append()
    mine = reduce(or_, map(_is_table, sorted(names_of_tables(lake, ask), key=str)))
    silver = spark.table(f"{CATALOG}.silver.{ask.source}").where(~inside)
    kept = silver.where((sf.col("kind") == "schema") | ((sf.col("kind") == "row") & mine))
    kept.sortWithinPartitions("window", "kind").writeTo(f"{CATALOG}.silver.{name}").append()


def _is_table(name: TableName) -> Column:
    same = (sf.col("database") == name.database) & (sf.col("table") == name.table)
    return same & (sf.col("schema").isNull() if name.schema is None else sf.col("schema") == name.schema)
