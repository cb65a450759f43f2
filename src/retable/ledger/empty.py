"""Windows in which nothing arrived: no stage has anything to do, and one commit says so for many."""

from collections.abc import Sequence
from datetime import datetime

from retable.ledger.catalog import Lake
from retable.ledger.read import read_ledger
from retable.ledger.rows import LedgerRow, Stage
from retable.ledger.write import append_rows
from retable.model.window import Window

_LANDED = {"bytes": 0, "landed": 0}
_COUNTS: dict[Stage, dict[str, int]] = {
    "decode": {"landed": 0, "decoded": 0, "events": 0, "rows": 0},
    "replay": {"rows": 0},
}


def close_empty(lake: Lake, windows: Sequence[Window], run_id: str, now: datetime) -> None:
    """Write the ledger of windows in which nothing arrived as the three stages would, where it is not there yet."""
    if not windows:
        return
    source = windows[0].source
    known = {(row.window, row.stage) for row in read_ledger(lake, source) if row.table is None}
    rows = [
        LedgerRow(source, window.name, stage, None, counts, {}, {}, None, None, run_id, 0.0, 0, now)
        for window in windows
        for stage, counts in _counts(window).items()
        if (window.name, stage) not in known
    ]
    append_rows(lake, rows)


def _counts(window: Window) -> dict[Stage, dict[str, int]]:
    taken = {"positions": 0, "holes": 0} if window.ranges else {"objects": 0}
    return {"land": {**taken, **_LANDED}, **_COUNTS}
