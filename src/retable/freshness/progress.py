"""Reads how far a source is processed, and which watermarks this proves.

Only the windows after the source's newest watermark record are read.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retable.formats.registry import find_format
from retable.freshness.gate import Stuck
from retable.freshness.promises import TablePromises
from retable.freshness.watermark import SourceLine, Stamps, Watermarks, from_rows, partition_name
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import CLOCKS_APART, last_promised, read_evidence, read_stages, read_watermarks
from retable.ledger.rows import EvidenceRow, Stage
from retable.ledger.windows.contents import NO_FILES, window_contents
from retable.ledger.windows.recording import read_windows
from retable.model.window import Window, window_name, window_start
from retable.settings.sources import SourceSettings

_STAGES: tuple[Stage, ...] = ("land", "decode", "replay")


@dataclass(frozen=True, slots=True)
class SourceProgress:
    """How far a source is processed, and which watermarks this proves. `read_progress` makes it.

    - `lines`: how complete the source is. The first item is from its last watermark record, and proves nothing if there
      is no record. Then comes one item for each later window whose stages are all done.
    - `promised`: when that watermark record was written; None if there is no record.
    - `stuck`: the first window with an unfinished stage; None if there is no such window.
    - `recorded`: the end of the last recorded window.
    - `ahead`: for each Kafka partition, how many timestamps of the last line's window are ahead of the clock.
    - `tables`: the watermark records of single tables.
    """

    lines: tuple[SourceLine, ...]
    promised: datetime | None
    stuck: Stuck | None
    recorded: datetime | None
    ahead: Mapping[str, int]
    tables: TablePromises

    @property
    def line(self) -> SourceLine:
        """How complete the source is now, after the last window whose stages are all done."""
        return self.lines[-1]

    def free_until(self, table: str) -> str:
        """Return the last window up to which nothing blocked the gold table, or "" if there is no such window."""
        return self.tables.free_until(table, self.lines[0].window)

    def free_at(self, table: str) -> datetime | None:
        """Return when it was last recorded that nothing blocked the gold table; None if it never was."""
        return self.tables.free_at(table, self.promised)


def read_progress(lake: Lake, source: SourceSettings) -> SourceProgress:
    """Read how far a source is processed.

    Start at the source's newest watermark record, and add the later windows up to the first with an unfinished stage.
    """
    last = last_promised(lake, source.name)
    newest = [] if last is None else read_watermarks(lake, source.name, of_tables=False, window=last)
    tables = TablePromises(read_watermarks(lake, source.name, of_tables=True))
    lines = [from_rows(newest) if newest else SourceLine()]
    windows = read_windows(lake, source.name, last)
    behind = [window for window in windows if last is None or window.name > last]
    done = _done(lake, source.name, behind)
    # Evidence is written before the ledger has its window as decoded, so it is read after the ledger.
    evidence = read_evidence(lake, source.name, at_least={"window": last} if last else None)
    spoken = find_format(source.format)
    ordered = spoken.partitions_in_order
    if spoken.topic_per_table:
        # Older versions recorded the topics of heartbeats and statements, too.
        evidence = [row for row in evidence if _tells_of_rows(row)]
        if Stamps() in lines[0].partitions.values():
            lines[0] = lines[0].without(_of_no_table(lake, source.name, lines[0]))
    stuck = None
    for window in behind:
        undone = next((stage for stage in _STAGES if stage not in done[window.name]), None)
        if undone is not None:
            stuck = Stuck(window.name, undone)
            break
        lines.append(lines[-1].extended(window, [row for row in evidence if row.window == window.name], ordered))
    ahead = {partition_name(row): row.ahead for row in evidence if row.window == lines[-1].window and row.ahead}
    promised = max((row.recorded_at for row in newest), default=None)
    recorded = windows[-1].end if windows else None
    return SourceProgress(tuple(lines), promised, stuck, recorded, ahead, tables)


def _of_no_table(lake: Lake, source: str, line: SourceLine) -> set[str]:
    """Return the partitions that never had a row in any window, in any source epoch."""
    with_rows = {partition_name(row) for row in read_evidence(lake, source) if _tells_of_rows(row)}
    return {name for name, stamps in line.partitions.items() if stamps == Stamps() and name not in with_rows}


def _tells_of_rows(row: EvidenceRow) -> bool:
    return bool(row.row or row.canary or row.heartbeat or row.ahead)


def watermarks_before(lake: Lake, source: SourceSettings, progress: SourceProgress, window: str) -> Watermarks:
    """Return the watermarks of a source up to the window before `window`.

    They come from `progress`, or from `ops.watermarks` if `progress` does not have that window.
    """
    name = window_name(window_start(window) - source.every)
    if progress.line.window is None or name >= progress.line.window:
        return progress.line.watermarks
    at_hand = next((line.watermarks for line in progress.lines if line.window == name), None)
    if at_hand is not None:
        return at_hand
    rows = read_watermarks(lake, source.name, of_tables=False, window=name)
    return {row.grade: row.watermark for row in rows if row.watermark is not None}


def decoded_anew(lake: Lake, source: str, progress: SourceProgress) -> str | None:
    """Return the first window whose rows in silver changed after its replay; None if there is no such window.

    Gold does not have the new rows of this window yet. Only windows that were written to silver after the last
    watermark record are checked: that record would not exist if an earlier window had waited for its replay. They are
    found in the snapshots of silver, because silver changes before any other record of the window.
    """
    since = None if progress.promised is None else progress.promised - CLOCKS_APART
    last = progress.line.window or ""
    # The pieces of a baseline are windows of silver too. Until they are replayed, only their table waits for them.
    written = sorted(at for at in _written(lake, source, since) if FIRST_WINDOW <= at <= last)
    if not written:
        return None
    replayed = read_stages(lake, source, written[0])["replay"]
    content = window_contents(lake, source, replayed, written)
    for window in written:
        if window not in replayed or content.get(window, NO_FILES) != (replayed[window] or NO_FILES):
            return window
    return None


def _written(lake: Lake, source: str, since: datetime | None) -> set[str]:
    """The windows that were written since a time, from the snapshots of silver."""
    table = lake.find(f"silver.{source}")
    found = set[str]()
    for snapshot in () if table is None else table.snapshots():
        when = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC)
        window = snapshot.summary and snapshot.summary.additional_properties.get("retable.window")
        if window and (since is None or when >= since):
            found.add(window)
    return found


def _done(lake: Lake, source: str, windows: Sequence[Window]) -> dict[str, set[Stage]]:
    """The completed stages of each window."""
    done: dict[str, set[Stage]] = defaultdict(set)
    if windows:
        for stage, names in read_stages(lake, source, windows[0].name).items():
            for name in names:
                done[name].add(stage)
    return done
