"""Keeping tables small and quick to read; no row that a reader sees changes."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from retable.cli.arguments import Json, lake_of
from retable.cli.clock import new_run
from retable.cli.output import print_json, print_table, say
from retable.cli.progress import Progress
from retable.cli.run import running_spark
from retable.ledger.catalog import Lake
from retable.upkeep.look import Place, choose, places
from retable.upkeep.plan import plan_place
from retable.upkeep.policy import Rules
from retable.upkeep.report import Kept

_SIZES = ("files", "bytes", "deleted_rows", "snapshots")


def upkeep(
    ctx: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE|SOURCE]...", help="Tables, also bronze.<source> or ops.<name>; else all."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what there is to do.")] = False,
    as_json: Json = False,
) -> None:
    """Compact files, expire snapshots that nobody needs, and remove files that no table knows.

    The snapshots that the cuts of the last `keep_cuts` windows name stay, and so do tags and all that is younger than a
    day. A table that a replay is at is left for the next time.
    """
    lake = lake_of(ctx)
    chosen = choose(places(lake), tables or ())
    if dry_run:
        _print_plans(lake, chosen, as_json)
        return
    if not chosen:
        say("the lake has no tables yet")
        return
    this = new_run()
    with Progress(1) as progress, running_spark(lake.settings) as spark:
        progress.begin(1, "upkeep", "")
        kept = _door()(spark, lake, chosen, this.id, this.now, progress.step)
    _print_kept(kept, as_json)


def _print_plans(lake: Lake, chosen: Sequence[Place], as_json: bool) -> None:
    now = new_run().now
    plans = [(place, *plan_place(lake, place, now, Rules())) for place in chosen]
    if as_json:
        print_json([{"table": place.name, "size": facts.counts, "todo": plan.counts} for place, facts, plan in plans])
        return
    rows = [
        [place.name, *(facts.counts[name] for name in _SIZES), plan.counts["files"], plan.counts["snapshots"]]
        for place, facts, plan in plans
        if plan.has_work
    ]
    if rows:
        print_table(["TABLE", *map(_heading, _SIZES), "TO COMPACT", "TO EXPIRE"], rows)
    say(f"{len(rows)} of {len(plans)} tables want work; orphan files are only looked for when it is done")


def _print_kept(kept: Sequence[Kept], as_json: bool) -> None:
    if as_json:
        print_json([asdict(each) for each in kept])
        return
    worked = [each for each in kept if any(each.done.values())]
    if worked:
        print_table(["TABLE", *map(_heading, _SIZES), "ORPHANS"], map(_line, worked))
    for each in kept:
        if each.left is not None:
            say(f"{each.table} is left alone: {each.left}")
    say(f"{len(worked)} of {len(kept)} tables were worked on")


def _line(kept: Kept) -> list[object]:
    sizes = [f"{kept.before[name]:,} → {kept.after[name]:,}" for name in _SIZES]
    return [kept.table, *sizes, kept.done["orphans"]]


def _heading(name: str) -> str:
    return name.replace("_", " ").upper()


def _door() -> Callable[..., list[Kept]]:
    # The room's door to Spark loads PySpark, which takes longer than most commands that need none.
    from retable.upkeep.spark import keep

    return keep
