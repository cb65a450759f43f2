"""`retable accept-loss`: a person states that lost positions held no change of some tables."""

from typing import Annotated

import typer

from retable.cli.arguments import lake_to_write
from retable.cli.clock import now, user
from retable.cli.output import say
from retable.freshness.catalog import record, source_of
from retable.freshness.gaps import ACCEPT_LOSS, open_losses
from retable.freshness.progress import read_progress
from retable.gold.read import find_gold
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows

app = typer.Typer()


@app.command()
def accept_loss(
    ctx: typer.Context,
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Gold tables, as `retable tables` has them.")],
    reason: Annotated[str, typer.Option("--reason", help="How you know. It is stored with your name.")],
) -> None:
    """State that lost positions held no change of these tables, so that the tables count as complete.

    Gold does not change. If there may have been a change, use `retable baseline` or `retable resync` instead.
    """
    lake, moment, who = lake_to_write(ctx), now(), user()
    found = {table: (source_of(lake, table), find_gold(lake, table)[1]) for table in tables}
    actions = []
    for table, (source, state) in found.items():
        losses = open_losses(lake, source, table, state, read_progress(lake, source).free_until)
        if not losses:
            say(f"there are no lost positions that keep {table} from being complete")
            continue
        actions += [ActionRow(source.name, ACCEPT_LOSS, loss.of(state), reason, who, moment) for loss in losses]
        total, where = sum(loss.positions for loss in losses), ", ".join(sorted({loss.window for loss in losses}))
        say(f"accepted: {total:,} lost positions, before and in {where}, held no change of {table}")
    append_rows(lake, actions)
    for name in sorted({action.source for action in actions}):
        record(lake, lake.settings.source(name), moment)
