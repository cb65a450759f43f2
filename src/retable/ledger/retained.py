"""What retention has kept: the oldest complete window of bronze, silver and quarantine, from each table's property."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import pyarrow as pa
from pyiceberg.table import Table

from retable.errors import NotKept
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.tables import COMMITTED

KEPT_FROM = "retable.kept_from"
"""The property of a source's table that names its oldest complete window; committed together with the drop."""

_GOES_ON_BY = (
    *("window", COMMITTED),
    *("topic", "partition", "heartbeat", "canary", "row", "ahead"),
    *("table", "grade", "watermark", "because"),
)

KeptLayer = Literal["bronze", "silver", "quarantine"]
KEPT_LAYERS: tuple[KeptLayer, ...] = ("bronze", "silver", "quarantine")


def kept_from(lake: Lake, layer: KeptLayer, source: str) -> str | None:
    """The oldest complete window; None if nothing was ever dropped. For silver it is the horizon."""
    return kept_from_of(lake.find(f"{layer}.{source}"))


def kept_from_of(table: Table | None) -> str | None:
    """The same for a loaded table."""
    return None if table is None else table.properties.get(KEPT_FROM)


def is_dropped(window: str, kept: str | None) -> bool:
    """Whether a window is before the oldest complete one; pieces of baselines never are."""
    return kept is not None and FIRST_WINDOW < window < kept


def goes_on(rows: pa.Table) -> pa.Array:
    """For each row of evidence or watermarks of a source, whether the next watermark needs it, however old it is.

    For evidence these are the newest row of each partition, and its newest row with any evidence; for watermarks the
    newest rows of the source and of each table, the last row in which nothing blocked a table, and the furthest.
    """
    columns = [name for name in _GOES_ON_BY if name in rows.column_names]
    found: dict[tuple[object, ...], int] = {}
    reached: dict[tuple[object, ...], datetime] = {}
    for at, row in sorted(enumerate(rows.select(columns).to_pylist()), key=_by_window):
        of = (row["table"], row["grade"]) if "grade" in row else (row["topic"], row["partition"])
        found["newest", *of] = at
        if "grade" not in row:
            if row["row"] or row["canary"] or row["heartbeat"] or row["ahead"]:
                found["with rows", *of] = at
            continue
        if row["because"] is None:
            found["free", row["table"]] = at
        if row["watermark"] is not None and row["watermark"] >= reached.get(of, row["watermark"]):
            reached[of] = row["watermark"]
            found["furthest", *of] = at
    stays = {*found.values()}
    return pa.array([at in stays for at in range(rows.num_rows)], pa.bool_())


def _by_window(row: tuple[int, Mapping[str, Any]]) -> tuple[str, int]:
    return row[1]["window"], row[1][COMMITTED]


def check_decodable(lake: Lake, source: str, window: str) -> None:
    """NotKept if the messages of a window were dropped, or if its decoded rows would be before the horizon."""
    bronze, horizon = kept_from(lake, "bronze", source), kept_from(lake, "silver", source)
    if is_dropped(window, horizon):
        raise _behind(source, window, horizon)
    if is_dropped(window, bronze):
        raise NotKept(
            f"bronze no longer has the messages of {window} of {source}, because it begins at {bronze} "
            f"(retention.bronze): the window cannot be decoded again. Silver has its row changes: "
            f"`retable replay {source} --window {window}`",
            source=source,
            window=window,
        )


def check_replayable(lake: Lake, source: str, window: str) -> None:
    """NotKept if a window is before the horizon: gold's state already contains its rows."""
    if is_dropped(window, horizon := kept_from(lake, "silver", source)):
        raise _behind(source, window, horizon)


def _behind(source: str, window: str, horizon: str | None) -> NotKept:
    return NotKept(
        f"{window} of {source} is before the horizon {horizon} (retention.silver): it was replayed, gold has the "
        f"result, and it cannot be decoded or replayed again. Begin at {horizon}",
        source=source,
        window=window,
    )
