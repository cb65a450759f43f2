"""Find how many old windows retention may drop from each layer of a source, and which tables' rows must stay."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from retable.gold.read import known_states
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import read_open
from retable.ledger.read import read_stages
from retable.ledger.retained import KEPT_LAYERS, KeptLayer, is_dropped, kept_from
from retable.ledger.windows.contents import NO_FILES, silver_files
from retable.ledger.windows.recording import read_windows
from retable.model.event import TableName
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.histories import trace_tables
from retable.settings.sources import SourceSettings
from retable.upkeep.retention import Cut, Owner, WindowFacts, cut, owners_of, settled_through

_UNSETTLED = "is not replayed with its present content in silver: `retable plan` shows the waiting windows"
_OPEN = "has something in quarantine that no person accepted: `retable quarantine list` shows it"
_BASELINE = "a baseline waits to be replayed: run `retable baseline` again to continue it"


@dataclass(frozen=True, slots=True)
class Retained:
    """How far retention may drop the windows of a source.

    `cuts` has the cut of each layer (bronze, silver and quarantine): all windows before its `kept_from` may be dropped.
    `through` is a window number (`Window.ordinal`): this window and all before it are replayed with the content that
    silver has now. It is -1 if there is no such window, or if retention was never set.
    """

    cuts: Mapping[KeptLayer, Cut]
    through: int


def inspect_retention(lake: Lake, source: SourceSettings, now: datetime) -> Retained:
    """Return how far retention may drop old windows from each layer of a source. Nothing is written."""
    before = {layer: kept_from(lake, layer, source.name) for layer in KEPT_LAYERS}
    ages = {layer: getattr(source.retention, layer) for layer in KEPT_LAYERS}
    if not any(before.values()) and not any(ages.values()):
        return Retained(dict.fromkeys(KEPT_LAYERS, Cut(None)), -1)
    windows, settled = _windows(lake, source, before["silver"])
    cuts = {layer: cut(windows, ages[layer], now, before[layer]) for layer in KEPT_LAYERS}
    if waits := _waiting_baseline(lake, source.name):
        cuts["silver"] = Cut(before["silver"], waits if cuts["silver"].kept_from != before["silver"] else None)
    return Retained(cuts, settled_through(windows, settled))


def unsettled(lake: Lake, source: SourceSettings) -> set[str]:
    """Return the names of a source's windows whose present content in silver is not replayed."""
    settled = _windows(lake, source, kept_from(lake, "silver", source.name))[1]
    return {name for name, is_settled in settled.items() if not is_settled}


def _windows(lake: Lake, source: SourceSettings, horizon: str | None) -> tuple[list[WindowFacts], dict[str, bool]]:
    files = silver_files(lake, source.name)
    done = read_stages(lake, source.name)["replay"]
    replayed = {window: content or NO_FILES for window, content in done.items()}
    refused = set(read_open(lake, source.name)["window"].to_pylist())
    facts, settled = [], {}
    for window in read_windows(lake, source.name):
        name = window.name
        content = replayed.get(name)
        settled[name] = content is not None and (is_dropped(name, horizon) or content == files.get(name, NO_FILES))
        waits = _UNSETTLED if not settled[name] else _OPEN if name in refused else None
        facts.append(WindowFacts(name, window.ordinal, window.end, waits))
    return facts, settled


def _waiting_baseline(lake: Lake, source: str) -> str | None:
    """Return why silver may not be cut now; None if it may. The reason is a baseline that is not replayed.

    The rows of a baseline come before the rows of all windows.
    """
    pieces = read_whole_baselines(lake, source).names
    return _BASELINE if pieces - read_stages(lake, source)["replay"].keys() else None


def owners(lake: Lake, source: SourceSettings) -> dict[TableName, Owner]:
    """Return, for each table name in silver, the table to which its rows belong, and why old rows must stay.

    If several tables had a name at different times, the result has only one of them, and the old rows stay. Names that
    are neither in DDL statements nor in gold are not in the result. Raise DamagedFile if the metadata of a gold table
    cannot be read, and no earlier record of its state exists.
    """
    known, unread = known_states(lake)
    for error in unread:
        if error.facts.get("table") not in known:
            raise error
    states = {name: state for name, state in known.items() if state.source == source.name}
    return owners_of(trace_tables(lake, source).histories(), states, lake.settings)
