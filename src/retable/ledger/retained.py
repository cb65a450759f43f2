"""The oldest window that retention has kept complete in bronze, silver and quarantine, from a property of the table."""

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
"""The property of a table of bronze, silver or quarantine that names its oldest complete window. The commit that drops
older windows also sets it."""

_GOES_ON_BY = (
    *("window", COMMITTED),
    *("topic", "partition", "heartbeat", "canary", "row", "ahead"),
    *("table", "grade", "watermark", "because"),
)

KeptLayer = Literal["bronze", "silver", "quarantine"]
KEPT_LAYERS: tuple[KeptLayer, ...] = ("bronze", "silver", "quarantine")


def kept_from(lake: Lake, layer: KeptLayer, source: str) -> str | None:
    """Return the oldest complete window of a source in a layer. For silver, this window is called the horizon.

    Return None if retention has never dropped anything, or if the table does not exist.
    """
    return kept_from_of(lake.find(f"{layer}.{source}"))


def kept_from_of(table: Table | None) -> str | None:
    """Return the oldest complete window of a loaded table; None if retention has never dropped anything."""
    return None if table is None else table.properties.get(KEPT_FROM)


def is_dropped(window: str, kept: str | None) -> bool:
    """Return whether retention dropped a window: it is before `kept`, the oldest complete window.

    Pieces of baselines are never dropped. If `kept` is None, nothing was dropped.
    """
    return kept is not None and FIRST_WINDOW < window < kept


def goes_on(rows: pa.Table) -> pa.Array:
    """Return a mask of `rows`: True for each row that must stay even if it is old, because the next watermark needs it.

    `rows` are all rows of one source, either of ops.evidence or of ops.watermarks. In ops.evidence, two rows stay for
    each Kafka partition: the newest row, and the newest row that has a timestamp. In ops.watermarks, the newest row and
    the row with the latest watermark stay for each table and grade. For each table, the newest row in which nothing
    blocked the table also stays. Rows about the source itself are treated like rows of one more table.
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
    """Raise NotKept if a window cannot be decoded again.

    This is so if retention dropped its messages from bronze, or if the window is before the horizon of silver (its
    oldest complete window).
    """
    bronze, horizon = kept_from(lake, "bronze", source), kept_from(lake, "silver", source)
    if is_dropped(window, horizon):
        raise _behind(source, window, horizon)
    if is_dropped(window, bronze):
        raise NotKept(
            f"the window {window} of {source} cannot be decoded again: retention dropped its messages from bronze, "
            f"which now begins at {bronze} (retention.bronze). Silver has its row changes; "
            f"`retable replay {source} --window {window}` replays them",
            source=source,
            window=window,
        )


def check_replayable(lake: Lake, source: str, window: str) -> None:
    """Raise NotKept if a window is before the horizon of silver (its oldest complete window).

    Gold already contains the rows of such a window.
    """
    if is_dropped(window, horizon := kept_from(lake, "silver", source)):
        raise _behind(source, window, horizon)


def _behind(source: str, window: str, horizon: str | None) -> NotKept:
    return NotKept(
        f"the window {window} of {source} is before the horizon {horizon}, the oldest window that silver still has in "
        f"full (retention.silver), so it cannot be decoded or replayed again; gold has its result. Begin at the window "
        f"{horizon} or later",
        source=source,
        window=window,
    )
