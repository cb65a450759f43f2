"""What retention has left: the oldest whole window of bronze, silver and quarantine, as each table says itself."""

from typing import Literal

from pyiceberg.table import Table

from retable.errors import NotKept
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake

KEPT_FROM = "retable.kept_from"
"""The property of a table of a source that names its oldest whole window; committed with what it says."""

KeptLayer = Literal["bronze", "silver", "quarantine"]
KEPT_LAYERS: tuple[KeptLayer, ...] = ("bronze", "silver", "quarantine")


def kept_from(lake: Lake, layer: KeptLayer, source: str) -> str | None:
    """The oldest window that is whole; None where nothing was ever dropped. Of silver it is the horizon."""
    return kept_from_of(lake.find(f"{layer}.{source}"))


def kept_from_of(table: Table | None) -> str | None:
    """The same of a table that is loaded."""
    return None if table is None else table.properties.get(KEPT_FROM)


def is_dropped(window: str, kept: str | None) -> bool:
    """Whether a window lies behind the oldest whole one; pieces of baselines never do."""
    return kept is not None and FIRST_WINDOW < window < kept


def check_decodable(lake: Lake, source: str, window: str) -> None:
    """NotKept where the messages of a window were dropped, or where what they say would stand behind the horizon."""
    bronze, horizon = kept_from(lake, "bronze", source), kept_from(lake, "silver", source)
    if is_dropped(window, horizon):
        raise _behind(source, window, horizon)
    if is_dropped(window, bronze):
        raise NotKept(
            f"bronze no longer holds the messages of {window} of {source}, it begins at {bronze} (retention.bronze): "
            f"it cannot be decoded again. Silver has what they said: `retable replay {source} --window {window}`",
            source=source,
            window=window,
        )


def check_replayable(lake: Lake, source: str, window: str) -> None:
    """NotKept where a window lies behind the horizon: gold's state stands for what it held."""
    if is_dropped(window, horizon := kept_from(lake, "silver", source)):
        raise _behind(source, window, horizon)


def _behind(source: str, window: str, horizon: str | None) -> NotKept:
    return NotKept(
        f"{window} of {source} lies behind the horizon {horizon} (retention.silver): it was replayed, gold holds what "
        f"it came to, and it cannot be decoded or replayed again. Begin at {horizon}",
        source=source,
        window=window,
    )
