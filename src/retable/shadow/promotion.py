"""Check whether a shadow may be promoted: all its inputs must be as they were when it was built."""

from collections.abc import Iterator

from retable.errors import InvalidSetting
from retable.formats.registry import find_format
from retable.gold.read import find_gold
from retable.gold.state import GoldState
from retable.ledger.baselines import identify
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_stages
from retable.ledger.windows.recording import find_window
from retable.model.window import window_name
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.imports import read_schema_imports
from retable.shadow.lake import Shadow, shadow_source
from retable.shadow.plan import check_ask


def check_promotion(lake: Lake, shadow: Shadow) -> None:
    """Check that a promotion of a shadow would give gold tables like those of the shadow. Nothing is changed.

    Raise InvalidSetting if the result could be different, for example because the decoder, or the settings or
    decisions for a table, have changed since the shadow was built. Raise the errors of `check_ask`, too, for example if
    bronze dropped the messages of a window. An interrupted promotion is no error, so that it can be repeated.
    """
    ask = shadow.ask
    _check_decoder(lake, shadow)
    for table in ask.tables:
        for change in _changes(lake, shadow, table):
            raise InvalidSetting(f"{change}; {_anew(shadow)}", table=table)
    end = window_name(find_window(lake, ask.source, ask.windows[-1]).end)
    check_ask(lake, ask.source, ask.tables, ask.windows[0], end, begun=True)


def _check_decoder(lake: Lake, shadow: Shadow) -> None:
    ask = shadow.ask
    now = find_format(lake.settings.source(ask.source).format).version
    for window, decoder in read_stages(lake, shadow_source(ask.source))["decode"].items():
        if window in ask.windows and decoder != now:
            raise InvalidSetting(
                f"the window {window} was decoded for the shadow by the decoder {decoder}, and the decoder is now {now}"
                f"; {_anew(shadow)}",
                window=window,
            )


def _changes(lake: Lake, shadow: Shadow, table: str) -> Iterator[str]:
    source = shadow.ask.source
    _, state = find_gold(lake, table)
    _, shadowed = find_gold(lake, shadow.name_of(table))
    if state.identity != shadowed.identity:
        yield f"{table} is now another table than the source table {shadowed.table}, from which its shadow was built"
    if any(
        identity.rpartition(":")[2] != _fingerprint(lake, source, shadowed) for identity in shadowed.applied.values()
    ):
        yield f"the settings of {table}, or its imported schema, have changed since its shadow was built"
    if _decisions(lake, source, state) != _decisions(lake, shadow_source(source), state):
        yield f"people's decisions on {table} (`retable hold release`) have changed since its shadow was built"
    if _baselines(lake, source, state) != _baselines(lake, shadow_source(source), state):
        yield f"the baselines of {table} have changed since its shadow was built"


def _fingerprint(lake: Lake, source: str, state: GoldState) -> str:
    imported = read_schema_imports(lake, source).fingerprint(state.identity, state.table)
    return "+".join(filter(None, (lake.settings.fingerprint(source, state.table), imported)))


def _decisions(lake: Lake, source: str, state: GoldState) -> set[object]:
    return {decision for decision in decisions_of(lake, source) if decision.identity == state.identity}


def _baselines(lake: Lake, source: str, state: GoldState) -> set[object]:
    name = state.table
    own = (name.database, name.schema, name.table)
    rows = read_whole_baselines(lake, source).rows
    return {identify(row) for row in rows if (row.database, row.schema, row.table) == own}


def _anew(shadow: Shadow) -> str:
    return f"drop the shadow and build it again: `retable shadow drop {shadow.ask.source}`"
