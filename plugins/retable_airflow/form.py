"""The form of `replay_window`. It offers the gold tables, and shows the recorded time of each source.

To open the lake takes longer than the parsing of a DAG file may take. So a task of `watch_holds` writes the offers into
an Airflow variable every few minutes, and the DAG file reads the variable.
"""

import json
import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from airflow.sdk import Param, Variable

from retable_airflow.lakes import Reference, lake_of

VARIABLE = "retable_offers"
"""The Airflow variable with the offers of each settings address, as JSON."""

REPLAY_WINDOW = "replay_window"
IN_PLACE, SHADOW = "in place", "shadow"
REFUSED = "refused"
"""The XCom key under which the task `check` leaves the reason of a refusal."""

_WINDOW = r"^\d{8}T\d{4}Z$"
_MODE = f"""\
**{IN_PLACE}**: lands, decodes and replays the recorded windows again. If the settings have changed, gold changes at
once. Nothing is lost at any time.

**{SHADOW}**: builds the tables next to gold from these windows, shows the differences, and waits for an approval. Gold
changes only after the approval. *Tables* and *Reason* are needed.
"""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Offers:
    """What the form of `replay_window` offers: the names of gold tables, and the recorded time of each source.

    `recorded` has, for each source, the start of its first window and the end of its last window.
    """

    tables: list[str] = field(default_factory=list)
    recorded: dict[str, list[str]] = field(default_factory=dict)


def form(sources: list[str], offers: Offers) -> dict[str, Any]:
    """Return the fields of the form of `replay_window`, as parameters of the DAG. `sources` are names of sources."""
    recorded = "; ".join(f"{name}: {first} to {last}" for name, (first, last) in sorted(offers.recorded.items()))
    known = f". Recorded: {recorded}" if recorded else ""
    time: dict[str, Any] = {"type": ["null", "string"], "format": "date-time"}
    examples: dict[str, Any] = {"examples": offers.tables} if offers.tables else {}
    return {
        "source": Param(sources[0], enum=sources, title="Source"),
        "mode": Param(IN_PLACE, enum=[IN_PLACE, SHADOW], title="Mode", description_md=_MODE),
        "from": Param(None, **time, title="From", description=f"The window of this time is the first one{known}"),
        "to": Param(None, **time, title="To", description="Windows that start before this time are replayed"),
        "window": Param(
            None,
            type=["null", "string"],
            pattern=_WINDOW,
            title="Window",
            description="Instead of From and To: one window by its name, which is its start in UTC: 20260301T0500Z",
        ),
        "tables": Param(
            [],
            type=["null", "array"],
            items={"type": "string"},
            title="Tables",
            description=f"Only for a {SHADOW}, which needs them, as gold_shop.orders",
            **examples,
        ),
        "reason": Param(
            None,
            type=["null", "string"],
            title="Reason",
            description=f"Why; a {SHADOW} needs it. It is stored with your name",
        ),
    }


def offers_of(settings: Reference) -> Offers:
    """Return what the form can offer, from the Airflow variable `retable_offers`.

    The result has no tables and no sources if the first run of `watch_holds` has not written the variable yet, or if
    the variable cannot be read.
    """
    try:
        return Offers(**_read().get(str(settings), {}))
    except Exception:  # noqa: BLE001  # without its database, Airflow must still be able to parse the DAG file
        _log.debug("the variable %s cannot be read", VARIABLE, exc_info=True)
        return Offers()


def write_offers(settings: Reference) -> None:
    """Read from the lake what the form can offer. Write it into the variable `retable_offers` if it has changed."""
    from retable.gold.read import gold_states, is_retired
    from retable.ledger.windows.recording import read_ordinals
    from retable.model.window import window_start

    with lake_of(settings) as lake:
        states = gold_states(lake, lambda _: None)
        tables = sorted(name for name, state in states.items() if not is_retired(lake, state))
        recorded = {}
        for name, source in lake.settings.sources.items():
            if windows := [*read_ordinals(lake, name)]:
                first, last = window_start(min(windows)), window_start(max(windows)) + source.every
                recorded[name] = [f"{first:%Y-%m-%dT%H:%MZ}", f"{last:%Y-%m-%dT%H:%MZ}"]
    known = _read()
    found = asdict(Offers(tables, recorded))
    if known.get(str(settings)) != found:
        Variable.set(VARIABLE, json.dumps({**known, str(settings): found}))


def _read() -> dict[str, Any]:
    text = Variable.get(VARIABLE, default=None)
    known: dict[str, Any] = {} if text is None else json.loads(text)
    return known
