"""Check a request for a shadow: its source, tables and windows."""

from collections.abc import Sequence
from dataclasses import dataclass

from retable.errors import InvalidSetting, NotFound, NotReady
from retable.gold.read import find_gold, gold_states, is_retired
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import standing_files
from retable.ledger.read import read_ledger, read_stages
from retable.ledger.retained import check_decodable
from retable.ledger.windows.recording import find_window, read_windows
from retable.model.window import window_start
from retable.replay.table.horizon import not_kept
from retable.verify.outlook import inspect_again


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for a shadow of a source: decode these windows again, and build these gold tables with the result."""

    source: str
    tables: tuple[str, ...]
    windows: tuple[str, ...]


def check_ask(lake: Lake, source: str, tables: Sequence[str], start: str, end: str, begun: bool = False) -> Ask:
    """Check a request for a shadow of the windows from `start` to before `end` (window names), and return it.

    Raise an error with advice if the shadow cannot be built, for example if bronze dropped the messages of a window.
    Raise InvalidSetting if a repeated run of these windows would also change tables that are not in `tables`.

    `begun` is true if the check is for the promotion of a shadow. An earlier promotion may have been interrupted after
    it decoded the windows again and before it replayed them. So a table that is not in `tables` then raises no error if
    the only reason for a change is that its windows were decoded again.
    """
    name = lake.settings.source(source).name
    windows = check_windows(lake, name, start, end)
    if not tables:
        mine = sorted(gold for gold, state in gold_states(lake).items() if state.source == name)
        raise InvalidSetting(f"name the gold tables to rebuild in `tables`; {name} has {', '.join(mine) or 'none yet'}")
    for table in tables:
        state = find_gold(lake, table)[1]
        if state.source != name:
            raise InvalidSetting(f"{table} belongs to the source {state.source}, not to {name}", table=table)
        if is_retired(lake, state):
            raise InvalidSetting(
                f"{table}: the settings exclude the table, so its messages are not decoded, and it has no shadow; "
                f"include {state.table} again first (`include`, `exclude` of {name})",
                table=table,
            )
        if state.missing is not None:
            raise not_kept(table, state.missing, "a shadow of the table cannot be built")
    bronze = lake.find(f"bronze.{name}")
    ledger = read_ledger(lake, name, at_least={"window": start}, stage="land", of_tables=False)
    landed = {row.window: row.counts.get("landed", 0) for row in ledger}
    for window in windows:
        if landed.get(window) and (bronze is None or not standing_files(lake, bronze, {"window": window})):
            raise NotFound(
                f"bronze no longer has the messages of the window {window} of {name}; choose a later `from`",
                window=window,
            )
    ask = Ask(name, tuple(dict.fromkeys(tables)), windows)
    _check_others(lake, ask, begun)
    return ask


def _check_others(lake: Lake, ask: Ask, begun: bool) -> None:
    """Raise InvalidSetting if a repeated run of these windows would also change tables that are not in the shadow.

    Held tables are ignored: every run of these windows applies the settings to them below the hold, and their readers
    know that they are not complete.
    """
    states, run = gold_states(lake), f"the repeated run of {ask.source} from {ask.windows[0]} to {ask.windows[-1]}"
    golds = {str(state.table): name for name, state in states.items() if state.source == ask.source}
    again = inspect_again(lake, lake.settings.source(ask.source), ask.windows)
    found = {each.table for each in again.stale if not begun or each.because != ("silver",)}
    found |= {golds[name] for name in again.left_out if name in golds}
    free = {name for name, state in states.items() if state.hold is None}
    if others := sorted(found & free - {*ask.tables}):
        raise InvalidSetting(
            f"{run} would also change {', '.join(others)}, and the shadow would not show it: name these tables too "
            f"(`tables`), or undo what made them stale; `retable plan {ask.source}` shows the cause"
        )
    if new := sorted(again.left_out - golds.keys()):
        raise InvalidSetting(
            f"{run} would also add {', '.join(new)}, which the settings excluded when these windows were decoded: "
            f"exclude these tables until the shadow is promoted, or run these windows first"
        )


def check_windows(lake: Lake, source: str, start: str, end: str) -> tuple[str, ...]:
    """Return the names of the recorded windows from `start` to before `end`.

    `start` and `end` are window names, as `20260301T0000Z`. The window `end` is not included. Raise an error with the
    reason if a window is not recorded or not replayed, or if silver or bronze dropped its rows.
    """
    first, behind = window_start(start), window_start(end)
    if first >= behind:
        raise InvalidSetting(f"`from` {start} is not before `to` {end}: the window that `to` names is not included")
    find_window(lake, source, start)
    windows = [each for each in read_windows(lake, source) if first <= each.start < behind]
    if windows[-1].end < behind:
        raise NotFound(
            f"the windows of {source} are recorded up to {windows[-1].end:%Y%m%dT%H%MZ}, not to {end}; use that "
            f"time as `to`, or run `retable run {source}` first",
            source=source,
        )
    replayed = read_stages(lake, source, start)["replay"]
    if waiting := [each.name for each in windows if each.name not in replayed]:
        raise NotReady(
            f"{waiting[0]} of {source} is not replayed yet; run `retable run {source}`, then try again",
            source=source,
            window=waiting[0],
        )
    for each in windows:
        check_decodable(lake, source, each.name)
    return tuple(each.name for each in windows)
