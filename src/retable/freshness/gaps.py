"""Finds rows that gold lacks although each window is replayed.

Their positions were lost before Retable read them, or the settings left the rows out. A watermark record without a
blocker proves that its table lacks nothing up to the record's window. So only later windows are read, and windows that
were decoded again after the record.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retable.freshness.blockers import Before, names_ever
from retable.freshness.gate import Blocker, Cause, format_time
from retable.freshness.progress import SourceProgress
from retable.gold.state import GoldState
from retable.ledger.counts import read_left_out
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import CLOCKS_APART, read_actions, read_ledger
from retable.ledger.rows import LedgerRow
from retable.ledger.windows.recording import read_windows
from retable.model.sequence import Sequence as Position
from retable.model.sequence import parse_sequence
from retable.model.window import PartitionRange, Window, window_start
from retable.settings.sources import SourceSettings

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
ACCEPT_LOSS = "accept-loss"
"""The name of the action with which a person confirms that lost positions held no change of a table.

The action's target is the result of `Loss.of`."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A gap in a source: `positions` offsets that were lost before Retable recorded or landed the window `window`.

    `whole` is a source epoch (a number that is raised when positions start again). If a table's truncation point is in
    this source epoch or a later one, the table lacks nothing: its rows from before that point do not count.
    """

    window: str
    positions: int
    whole: int

    def of(self, state: GoldState) -> str:
        """Return the name of this loss for one table: `<window>/<identity of the table>`.

        If a person accepts the loss with `retable accept-loss`, this name is recorded in the field `target`.
        """
        return f"{self.window}/{state.identity}"


def read_gaps(
    lake: Lake,
    source: SourceSettings,
    states: Mapping[str, GoldState],
    progress: SourceProgress,
    before: Before,
) -> dict[str, list[Blocker]]:
    """Return the blockers of tables that may lack rows, by gold name. A table without such a blocker has no entry.

    A table may lack rows because positions of the source were lost, or because earlier settings left the table out.
    `states` are the states of the tables by gold name, only of tables that the settings include now. `before` takes a
    window, and returns the source's watermarks before it.
    """
    if not states:
        return {}
    since = {gold: progress.free_until(gold) for gold in states}
    free_at = {gold: _before(progress.free_at(gold)) for gold in states}
    left_out = _read_left_out(lake, source, min(since.values()), min(free_at.values()))
    names = names_ever(lake, source.name) if left_out else {}
    losses = _open(lake, source, states, since)
    blockers: dict[str, list[Blocker]] = defaultdict(list)
    for gold, state in states.items():
        called = {str(name) for name in (*state.names, *names.get(state.identity, ()))}
        mine = [row for row in left_out if row.table in called and _counts(row, state)]
        rows = [row for row in mine if row.window > since[gold] or row.recorded_at >= free_at[gold]]
        if rows:
            blockers[gold].append(Blocker(_left_out(source, gold, rows), before(min(row.window for row in rows))))
        if losses[gold]:
            first = losses[gold][0]
            blockers[gold].append(Blocker(_lost(source.name, gold, first), before(first.window)))
    return blockers


def _before(moment: datetime | None) -> datetime:
    """Return the earliest time that another machine's clock may have shown at a moment. None is before all times."""
    return _LONG_AGO if moment is None else moment - CLOCKS_APART


def _read_left_out(lake: Lake, source: SourceSettings, since: str, free_at: datetime) -> list[LedgerRow]:
    """The decodes that left out rows of tables which the settings include now.

    These are the decodes of windows from `since` on, and those from the time `free_at` on: a window may be decoded
    again after the watermark records count it.
    """
    if not since:
        return read_left_out(lake, source.name, None, source.takes_named)
    found = read_left_out(lake, source.name, {"window": since}, source.takes_named)
    again = read_left_out(lake, source.name, {"recorded_at": free_at}, source.takes_named)
    return [*found, *(row for row in again if row.window < since)]


def open_losses(
    lake: Lake, source: SourceSettings, gold: str, state: GoldState, free_until: Callable[[str], str]
) -> list[Loss]:
    """Return the losses (gaps of lost positions) that block a table, oldest first.

    `free_until` takes a gold name. It returns the last window up to which nothing blocked the table, or "".
    """
    since = {gold: free_until(gold)}
    return _open(lake, source, {gold: state}, since)[gold]


def find_losses(windows: Iterable[Window], ledger: Iterable[LedgerRow]) -> list[Loss]:
    """Return the losses: positions in a window, or between two windows, that were never landed.

    `windows` are in order, and `ledger` has the rows about their landing. Lost positions stop the runs of a source. The
    runs skip them only after a person raised `source_epoch`, so only these losses are found here. If a topic was
    deleted and created again, positions between its windows cannot be counted and are left out.
    """
    unlanded = {row.window: row.counts.get("lost", 0) for row in ledger if row.stage == "land" and row.table is None}
    ends: dict[tuple[str, int], PartitionRange] = {}
    found = []
    for window in windows:
        epoch = window.ranges[0].epoch if window.ranges else window.epoch or 0
        if lost := unlanded.get(window.name):
            found.append(Loss(window.name, lost, epoch + 1))
        if skipped := sum(_skipped(ends.get(each.address), each) for each in window.ranges):
            found.append(Loss(window.name, skipped, epoch))
        ends |= {each.address: each for each in window.ranges}
    return found


def _skipped(last: PartitionRange | None, now: PartitionRange) -> int:
    """The positions between the ranges of two windows."""
    if last is None or ("" not in (last.topic_id, now.topic_id) and last.topic_id != now.topic_id):
        return 0
    return max(0, now.begin - last.end)


def _open(
    lake: Lake,
    source: SourceSettings,
    states: Mapping[str, GoldState],
    since: Mapping[str, str],
) -> dict[str, list[Loss]]:
    """The losses of each table that no person accepted. Positions are skipped only if the source epoch was raised."""
    losses, least = [], min(since.values())
    bounds = {"window": least} if least else None
    ledger = read_ledger(lake, source.name, at_least=bounds, stage="land", of_tables=False)
    if source.source_epoch or any(row.counts.get("lost") for row in ledger):
        losses = find_losses(read_windows(lake, source.name, least or None), ledger)
    actions = read_actions(lake, source.name) if losses else []
    accepted = {action.target for action in actions if action.action == ACCEPT_LOSS}
    return {
        gold: [
            loss
            for loss in losses
            if loss.window > since[gold]
            and (state.truncated_at is None or state.truncated_at.epoch < loss.whole)
            and loss.of(state) not in accepted
        ]
        for gold, state in states.items()
    }


def _counts(row: LedgerRow, state: GoldState) -> bool:
    """Return whether a window can have rows after the position at which the table started again."""
    highest: list[Position] = [parse_sequence(text) for text in row.highest.values()]
    return state.truncated_at is None or not highest or any(at >= state.truncated_at for at in highest)


def _left_out(source: SourceSettings, gold: str, rows: Sequence[LedgerRow]) -> Cause:
    first, last = min(row.window for row in rows), max(row.window for row in rows)
    count = sum(row.counts["excluded"] for row in rows)
    where = f"the window {first}" if first == last else f"the windows {first} to {last}"
    begin, end = format_time(window_start(first)), format_time(window_start(last) + source.every)
    return Cause(
        "LEFT_OUT",
        f"{count:,} rows of the table in {where} were not stored, because the settings left the table out at that time",
        f"`retable run {source.name} --from {begin} --to {end}` stores these rows; if bronze no longer has them, "
        f"`retable baseline {gold} --from COPY --at P`",
        table=gold,
        window=first,
    )


def _lost(source: str, gold: str, loss: Loss) -> Cause:
    return Cause(
        "LOST",
        f"{loss.positions:,} positions of {source} were lost before the window {loss.window} was landed: it is not "
        f"known whether they held changes of this table",
        f"`retable baseline {gold} --from COPY --at P`, or `retable resync {gold} --reason …` if the source "
        f"loads the table again; if these positions held no change of it, `retable accept-loss {gold} --reason …`",
        table=gold,
        window=loss.window,
    )
