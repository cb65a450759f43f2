"""Windows in which no message arrived: no stage runs for them, and one ledger row covers many such windows."""

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_stages
from retable.ledger.rows import LedgerRow, Stage
from retable.ledger.write import append_rows
from retable.model.window import Window

_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")
_LANDED = {"bytes": 0, "landed": 0}
_COUNTS: dict[Stage, dict[str, int]] = {
    "decode": {"landed": 0, "decoded": 0, "events": 0, "rows": 0},
    "replay": {"rows": 0},
}


def close_empty(lake: Lake, windows: Sequence[Window], run_id: str, now: datetime) -> None:
    """Write the ledger rows that windows without messages still lack, as if land, decode and replay had run for them.

    `windows` are windows without messages, of one source, in order. `run_id` and `now` are recorded in the rows.
    """
    if not windows:
        return
    source = windows[0].source
    done = read_stages(lake, source, windows[0].name)
    rows = []
    for stage in _STAGES:
        flagged = [(window.name in done[stage], window) for window in windows]
        for is_done, stretch in groupby(flagged, key=itemgetter(0)):
            if not is_done:
                rows.append(_row([window for _, window in stretch], stage, run_id, now))
    append_rows(lake, rows)


def _row(windows: Sequence[Window], stage: Stage, run_id: str, now: datetime) -> LedgerRow:
    counts, last = _counts(windows[-1])[stage], windows[-1]
    has_several = len(windows) > 1
    return LedgerRow(
        source=last.source,
        window=last.name,
        stage=stage,
        table=None,
        counts=counts,
        lowest={},
        highest={},
        snapshot_id=None,
        identity=None,
        run_id=run_id,
        seconds=0.0,
        bytes=0,
        recorded_at=now,
        first=windows[0].name if has_several else None,
        count=len(windows) if has_several else None,
    )


def _counts(window: Window) -> dict[Stage, dict[str, int]]:
    taken = {"positions": 0, "holes": 0} if window.ranges else {"objects": 0}
    return {"land": {**taken, **_LANDED}, **_COUNTS}
