"""`retable accept-loss`: of positions that are lost, a person says that they held no change of a table."""

from typing import Annotated

import typer

from retable.cli.arguments import TableArgument, lake_of
from retable.cli.clock import now, user
from retable.cli.output import say
from retable.freshness.catalog import record, source_of
from retable.freshness.gaps import ACCEPT_LOSS, open_losses
from retable.gold.read import find_gold
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows


def accept_loss(
    ctx: typer.Context,
    table: TableArgument,
    reason: Annotated[str, typer.Option("--reason", help="How you know; it is kept with your name.")],
) -> None:
    """Say that the lost positions held no change of a table: they no longer keep it from being complete.

    Nothing of gold changes. Where it may have had one, `retable baseline` or `retable resync` makes it right.
    """
    lake = lake_of(ctx)
    source, state, moment = source_of(lake, table), find_gold(lake, table)[1], now()
    losses = open_losses(lake, source, table, state)
    if not losses:
        say(f"no lost positions keep {table} from being complete")
        return
    append_rows(lake, [ActionRow(source.name, ACCEPT_LOSS, loss.of(state), reason, user(), moment) for loss in losses])
    total, where = sum(loss.positions for loss in losses), ", ".join(sorted({loss.window for loss in losses}))
    say(f"accepted: {total:,} lost positions, before and in {where}, held no change of {table}")
    record(lake, source, moment)
