"""`retable plan`: prints what is stale, held or not yet replayed, and what a run would do. It writes nothing."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of
from retable.cli.clock import now
from retable.cli.output import print_json, print_table, say
from retable.cli.patterns import warn_of_patterns
from retable.cli.progress import working
from retable.freshness.gate import format_time
from retable.gold.state import hold_json
from retable.ledger.rows import Stage
from retable.model.window import window_name
from retable.printable import amount
from retable.verify.outlook import CAUSES, Outlook, inspect_source

app = typer.Typer()

_DONE_BY = {"land": "landed", "decode": "decoded", "replay": "replayed"}


_LEFT_OUT = "the settings include it now, but did not when these windows were decoded"


@app.command()
def plan(
    ctx: typer.Context,
    source: Annotated[
        str | None, typer.Argument(metavar="[SOURCE]", help="A source of the settings. Not given: all.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what is stale, held or not yet replayed, and what a run would do.

    A window of a table is stale if the settings, silver or the decoder changed after it was replayed. Run it again to
    bring gold up to date.
    """
    lake = lake_of(ctx)
    names = sorted(lake.settings.sources) if source is None else [lake.settings.source(source).name]
    with working("comparing the ledger with the settings and with what has arrived"):
        found = [inspect_source(lake, lake.settings.source(name), now()) for name in names]
    if as_json:
        print_json([_json(each) for each in found])
        return
    rows = [row for each in found for row in _rows(each)]
    if rows:
        print_table(["SOURCE", "WHAT", "WINDOW", "TABLE", "WHY"], rows)
    for each in found:
        for line in _steps(each):
            say(f"{each.source}: {line}")
    warn_of_patterns(lake)


def _rows(outlook: Outlook) -> list[list[object]]:
    waiting: list[list[object]] = [
        [outlook.source, "behind", windows, None, f"not {_DONE_BY[stage]} yet"]
        for windows, stage in _stretches(outlook)
    ]
    stale: list[list[object]] = [
        [outlook.source, "stale", each.window, each.table, "; ".join(CAUSES[cause] for cause in each.because)]
        for each in outlook.stale
    ]
    moved: list[list[object]] = [
        [outlook.source, "stale", None, table, reason]
        for table, reason in outlook.moved.items()
        if table not in outlook.held
    ]
    held: list[list[object]] = [
        [outlook.source, "held", None, table, f"{hold.code} at {hold.place or 'its first row'}: {hold.reason}"]
        for table, hold in outlook.held.items()
    ]
    left_out: list[list[object]] = [
        [outlook.source, "left out", first if first == last else f"{first} to {last}", table, _LEFT_OUT]
        for table, (first, last) in outlook.left_out.items()
    ]
    return [*waiting, *stale, *left_out, *moved, *held]


def _stretches(outlook: Outlook) -> Iterator[tuple[str, Stage]]:
    """The waiting windows; adjacent windows that wait for the same stage are grouped."""
    for stage, stretch in groupby(outlook.waiting, key=outlook.waiting.__getitem__):
        first, *others = stretch
        yield first if not others else f"{first} to {others[-1]}", stage


def _steps(outlook: Outlook) -> list[str]:
    """Return what a person can do now, with the commands, one line each."""
    steps = []
    if outlook.unlisted is not None:
        steps.append(f"what has arrived is not known: {outlook.unlisted}")
    if outlook.paused is not None:
        waiting = f"; {outlook.arrived} new {outlook.unit} wait" if outlook.arrived else ""
        steps.append(f"it is paused, and no new window is recorded: {outlook.paused}{waiting}")
    elif outlook.arrived and outlook.opens is not None:
        opens, window = format_time(outlook.opens), window_name(outlook.opens)
        steps.append(
            f"{outlook.arrived} new {outlook.unit} wait for the window {window}: "
            f"`retable run {outlook.source}` records it from {opens} on"
        )
    elif outlook.arrived:
        ended = ""
        if outlook.ended is not None:
            ended = f"; {amount(outlook.ended, 'window has', 'windows have')} ended since the last recorded window"
        steps.append(f"`retable run {outlook.source}` would record {outlook.arrived} new {outlook.unit}{ended}")
    if outlook.waiting:
        stages = Counter(outlook.waiting.values())
        first = ", ".join(f"{count} from {stage} on" for stage, count in stages.items())
        waiting = amount(len(outlook.waiting), "window", "windows")
        steps.append(f"`retable run {outlook.source}` would finish {waiting}: {first}")
    if outlook.again is not None:
        start, end = (format_time(time) for time in outlook.again)
        windows, tables = ({getattr(each, name) for each in outlook.stale} for name in ("window", "table"))
        of = amount(len(tables), "table", "tables")
        again = [f"{amount(len(windows), 'stale window', 'stale windows')} of {of}"] if windows else []
        left_out = amount(len(outlook.left_out), "table", "tables")
        again += [f"the windows that left out {left_out}"] if outlook.left_out else []
        words = f"would run {' and '.join(again)} again, and all windows between them"
        steps.append(f"`retable run {outlook.source} --from {start} --to {end}` {words}")
    if outlook.moved:
        steps.append(f"`retable rebuild {' '.join(outlook.moved)} --reason ...` moves the rows to where they go now")
    if outlook.held:
        steps.append(f"{len(outlook.held)} held tables apply nothing after their hold: `retable hold list` says why")
    return [*(steps or ["nothing is stale, held or behind"]), *_kept(outlook)]


def _kept(outlook: Outlook) -> list[str]:
    """Return, for each layer, its oldest kept window and what this means for earlier windows."""
    words = {
        "bronze": "earlier windows cannot be decoded again",
        "silver": "it is the horizon: earlier changes are only in gold's state",
        "quarantine": "earlier rows that were accepted as lost are dropped",
    }
    return [f"{layer} is kept from {window} on; {words[layer]}" for layer, window in outlook.kept_from.items()]


def _json(outlook: Outlook) -> dict[str, object]:
    return {
        "source": outlook.source,
        "behind": [{"window": window, "next": stage} for window, stage in outlook.waiting.items()],
        "stale": [
            {"window": each.window, "table": each.table, "because": list(each.because)} for each in outlook.stale
        ],
        "left_out": [
            {"table": table, "first": first, "last": last} for table, (first, last) in outlook.left_out.items()
        ],
        "moved": [{"table": table, "because": reason} for table, reason in outlook.moved.items()],
        "held": [{"table": table, **hold_json(hold)} for table, hold in outlook.held.items()],
        "paused": outlook.paused,
        f"new_{outlook.unit}": outlook.arrived,
        "windows_ended": outlook.ended,
        "next_window_opens": None if outlook.opens is None else format_time(outlook.opens),
        "kept_from": dict(outlook.kept_from),
        "steps": _steps(outlook),
    }
