"""`retable upkeep`: keeps tables small and quick to read. No row that a reader of gold sees changes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import cache, partial
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of, lake_to_write
from retable.cli.clock import new_run, now
from retable.cli.output import print_json, print_table, say
from retable.cli.progress import WindowProgress
from retable.cli.run.stages import running_spark
from retable.ledger.cuts import read_cuts
from retable.ledger.lake.catalog import Lake
from retable.ledger.retained import KEPT_LAYERS, kept_from
from retable.upkeep.dropping import format_stays
from retable.upkeep.inspection import TablePlace, choose, places
from retable.upkeep.outlook import inspect_retention, owners
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import UpkeepRules
from retable.upkeep.report import UpkeepResult, check_damaged

app = typer.Typer()

_SIZES = ("files", "bytes", "deleted_rows", "snapshots")


@app.command()
def upkeep(
    ctx: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE|SOURCE]...", help="Tables, also bronze.<source> or ops.<name>. Not given: all."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done.")] = False,
    as_json: Json = False,
) -> None:
    """Drop rows that retention no longer keeps, compact files, expire snapshots, and remove orphan files.

    These snapshots stay: those of the consistent cuts of the last `keep_cuts` windows, tagged ones, and those younger
    than a day. A table that a replay works on is skipped until the next time.
    """
    lake = lake_of(ctx) if dry_run else lake_to_write(ctx)
    chosen = choose(places(lake), tables or ())
    if dry_run:
        _print_plans(lake, chosen, as_json)
        return
    if not chosen:
        say("the lake has no tables yet")
        return
    with WindowProgress(1) as progress, running_spark(lake.settings) as spark:
        progress.begin(1, "upkeep", "")
        kept = _entry_point()(spark, lake, chosen, new_run().id, now, progress.step)
    _print_kept(kept, as_json)
    check_damaged(kept)


def _print_plans(lake: Lake, chosen: Sequence[TablePlace], as_json: bool) -> None:
    at = now()
    cuts_of = cache(partial(read_cuts, lake))
    plans = [(place, *plan_place(lake, place, at, UpkeepRules(), cuts_of)) for place in chosen if place.damage is None]
    cuts = _cuts(lake, chosen, at)
    if as_json:
        print_json(
            [
                {"table": place.name, "size": facts.counts, "todo": plan.counts, **_cut_json(cuts.get(place.name))}
                for place, facts, plan in plans
            ]
        )
        return
    rows = [
        [place.name, *(facts.counts[name] for name in _SIZES), plan.counts["files"], plan.counts["snapshots"]]
        for place, facts, plan in plans
        if plan.has_work
    ]
    if rows:
        print_table(["TABLE", *map(_heading, _SIZES), "TO COMPACT", "TO EXPIRE"], rows)
    for place in chosen:
        if place.damage is not None:
            say(f"{place.name} is skipped: {place.damage.message}")
    for name, cut in cuts.items():
        for line in _cut_lines(name, cut):
            say(line)
    say(f"{len(rows)} of {len(plans)} tables need work; a dry run does not look for orphan files")


@dataclass(frozen=True, slots=True)
class _Cut:
    """The oldest kept window of a layer, `now` and after retention (`then`). `notes` say which older rows stay."""

    now: str | None
    then: str | None
    notes: tuple[str, ...]


def _cuts(lake: Lake, chosen: Sequence[TablePlace], at: datetime) -> dict[str, _Cut]:
    found = {}
    for name in dict.fromkeys(place.source for place in chosen if place.source and place.layer in KEPT_LAYERS):
        source = lake.settings.source(name)
        for layer, cut in inspect_retention(lake, source, at).cuts.items():
            has_horizon = layer == "silver" and cut.kept_from is not None
            stays = format_stays(owners(lake, source), {}) if has_horizon else ()
            found[f"{layer}.{name}"] = _Cut(kept_from(lake, layer, name), cut.kept_from, (*cut.notes, *stays))
    return {place.name: found[place.name] for place in chosen if place.name in found}


def _cut_json(cut: _Cut | None) -> dict[str, object]:
    return {} if cut is None else {"kept_from": cut.now, "keep_from": cut.then, "stays": list(cut.notes)}


def _cut_lines(name: str, cut: _Cut) -> list[str]:
    lines = [f"{name}: {note}" for note in cut.notes]
    if cut.then == cut.now:
        return lines + ([] if cut.now is None else [f"{name} is kept from {cut.now} on"])
    kept = f"now it is kept from {cut.now or 'its first window'} on"
    return [*lines, f"{name}: windows before {cut.then} would be dropped; {kept}"]


def _print_kept(kept: Sequence[UpkeepResult], as_json: bool) -> None:
    if as_json:
        print_json([asdict(each) for each in kept])
        return
    worked = [each for each in kept if any(each.done.values())]
    if worked:
        print_table(["TABLE", *map(_heading, _SIZES), "ORPHANS"], map(_line, worked))
    for each in kept:
        for note in each.notes:
            say(f"{each.table}: {note}")
        if each.left is not None:
            say(f"{each.table} is skipped: {each.left}")
    say(f"{len(worked)} of {len(kept)} tables were worked on")


def _line(kept: UpkeepResult) -> list[object]:
    sizes = [f"{kept.before[name]:,} → {kept.after[name]:,}" for name in _SIZES]
    return [kept.table, *sizes, kept.done["orphans"]]


def _heading(name: str) -> str:
    return name.replace("_", " ").upper()


def _entry_point() -> Callable[..., list[UpkeepResult]]:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.upkeep.spark import upkeep as upkeep_stage

    return upkeep_stage
