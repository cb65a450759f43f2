"""Decodes and replays windows again that have messages or rows in quarantine, for `retable quarantine redecode`."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pyiceberg.expressions import And, EqualTo, NotNull, Reference
from pyiceberg.expressions.literals import literal

from retable.cli.clock import new_run
from retable.cli.output import NeedsAttention, say
from retable.cli.progress import WindowProgress
from retable.cli.run.stages import call_attention, run_window
from retable.errors import PositionsLost
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.quarantine import QuarantineRow, list_quarantined
from retable.ledger.read import read_ledger
from retable.ledger.rows import Stage, StageReport
from retable.settings.sources import Source

_VERDICTS = ("applied", "superseded", "duplicate", "voided", "held", "pending", "rejected", "excluded")
"""The possible outcomes of a row, in the order of the ledger's equation (docs/concepts/flow.md)."""


def decode_again(lake: Lake, source: Source, rows: Sequence[QuarantineRow], spark: Any) -> list[str]:
    """Decode and replay the windows of these quarantined messages and rows again, in order.

    `spark` is the Spark session. Return texts about what still needs a person after that; [] if nothing does.
    """
    windows = sorted({row.window for row in rows})
    before = _replayed(lake, source, windows)
    reports: list[StageReport] = []
    with WindowProgress(len(windows)) as progress:
        for number, window in enumerate(windows, start=1):
            if _has_cut_lines(lake, source, window):
                reports += _land_again(lake, source, window, spark)
            stages = _stages(lake, source, window)
            reports += run_window(lake, source, number, window, stages, spark, progress)
    left = [row for window in windows for row in list_quarantined(lake, source.name, window)]
    ids, places = {row.id for row in left}, {(row.window, *_place(row)) for row in left}
    gone = sum((row.window, *_place(row)) not in places for row in rows)
    moved = sum(row.id not in ids for row in rows) - gone
    words = [f"{gone:,} of {len(rows):,} left quarantine"]
    words.append(f"{moved:,} are refused at another stage or row now" if moved else "")
    words.append(f"{len(left):,} are in quarantine in these windows")
    say(f"{source.name}: {'; '.join(filter(None, words))}")
    became = _replayed(lake, source, windows)
    became.subtract(before)
    more = [f"{became[what]:+,} {what}" for what in _VERDICTS if became[what]]
    say(f"{source.name}: changes in the outcomes of rows in these windows: {', '.join(more) or 'none'}")
    try:
        call_attention(lake, source, reports)
    except NeedsAttention as attention:
        return [f"{source.name}: {attention}"]
    return []


def _replayed(lake: Lake, source: Source, windows: Sequence[str]) -> Counter[str]:
    """Return how many rows of these windows had each outcome in their last replay."""
    found: Counter[str] = Counter()
    for window in windows:
        for row in read_ledger(lake, source.name, window):
            if row.stage == "replay" and row.table is None:
                found.update(row.counts)
    return found


def _place(row: QuarantineRow) -> tuple[str, int, int]:
    return row.topic, row.partition, row.offset


def _stages(lake: Lake, source: Source, window: str) -> tuple[Stage, ...]:
    done = {row.stage for row in read_ledger(lake, source.name, window) if row.table is None}
    return ("decode", "replay") if "replay" in done else ("decode",)


def _has_cut_lines(lake: Lake, source: Source, window: str) -> bool:
    """Return whether landing cut a message of a window. For a window with an erased message, return False."""
    if any(row.counts.get("erased") for row in read_ledger(lake, source.name, window) if row.table is None):
        return False
    cut = And(EqualTo(term=Reference("window"), value=literal(window)), NotNull(term=Reference("problem")))
    with explained(lake.settings.lake):
        scan = lake.load(f"bronze.{source.name}").scan(row_filter=cut, selected_fields=("offset",), limit=1)
        return len(scan.to_arrow()) > 0


def _land_again(lake: Lake, source: Source, window: str, spark: Any) -> list[StageReport]:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.land.spark import land_window

    this = new_run()
    try:
        return [land_window(spark, lake, source, window, this.id, this.now, again=True)]
    except PositionsLost as lost:
        say(f"the lines that landing cut stay as they are: {lost.message}")
        return []
