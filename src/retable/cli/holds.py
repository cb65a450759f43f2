"""Tables that stopped at a position: which, why, and how they go on."""

from collections.abc import Callable
from typing import Annotated

import typer

from retable.cli.arguments import Json, TableArgument, lake_of
from retable.cli.clock import new_run, user
from retable.cli.output import NeedsAttention, print_facts, print_json, say
from retable.cli.progress import Progress
from retable.cli.run import running_spark
from retable.errors import NotFound
from retable.gold.read import find_gold, gold_states
from retable.gold.state import hold_json
from retable.ledger.rows import ActionRow, StageReport
from retable.ledger.write import append_rows


def list_holds(ctx: typer.Context, as_json: Json = False) -> None:
    """List the held tables, each with its reason, the statement and the remedy."""
    held = [
        {"name": name, "source": state.source, **hold_json(state.hold)}
        for name, state in gold_states(lake_of(ctx)).items()
        if state.hold is not None
    ]
    if as_json:
        print_json(held)
    elif held:
        for facts in held:
            print_facts(facts)
    else:
        say("nothing is held")


def release_hold(
    ctx: typer.Context,
    table: TableArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept with your name.")],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Build the table anew from silver, then swap it in.")
    ] = False,
) -> None:
    """Let a held table go on."""
    if not rebuild:
        raise typer.BadParameter("say how the table goes on: --rebuild builds it anew from silver")
    lake = lake_of(ctx)
    _, state = find_gold(lake, table)
    if state.hold is None:
        raise NotFound(f"{table} is not held; `retable hold list` shows what is", table=table)
    source = lake.settings.source(state.source)
    say(f"{table} is held at {state.hold.position or 'its first row'}: {state.hold.reason}")
    say("It will be built anew, beside itself, from all of silver up to the last replayed window, and swapped in")
    say("in one step; readers see the old rows until then. If its cause is still there, it will be held again.")
    this = new_run()
    append_rows(lake, [ActionRow(source.name, "release --rebuild", table, reason, user(), this.now)])
    with Progress(1) as progress, running_spark(lake.settings) as spark:
        progress.begin(1, table, "rebuild")
        report = _rebuild_door()(spark, lake, source, table, this.id, this.now, progress.step)
        progress.done(report)
    if table in report.held:
        raise NeedsAttention(f"{table} is held again: `retable hold list` says why")


def _rebuild_door() -> Callable[..., StageReport]:
    # The room's door to Spark loads PySpark, which takes longer than most commands that need none.
    from retable.gold.spark import rebuild

    return rebuild
