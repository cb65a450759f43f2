"""`retable resync`: starts a table again, empty, so that a new full load by the producer fills it."""

from collections.abc import Iterator
from typing import Annotated

import pyarrow as pa
import typer

from retable.cli.arguments import TableArgument, lake_to_write
from retable.cli.clock import new_run, user
from retable.cli.output import NeedsAttention, say
from retable.cli.run.baseline import find_table, part_of, replay_pieces, target_of
from retable.ledger.baselines import NOTHING, format_start
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows
from retable.model.sequence import LOWEST
from retable.onboard.baseline.copies import Copy
from retable.onboard.baseline.pieces import land_baseline
from retable.onboard.schema.imports import read_start

app = typer.Typer()


@app.command()
def resync(
    ctx: typer.Context,
    table: TableArgument,
    reason: Annotated[str, typer.Option("--reason", help="The reason. It is stored with your name.")],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="P", help="The position, epoch:hi. Not given: where `source_epoch` began."),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition", metavar="TOPIC/N", help="The partition of the table's rows, if only offsets order them."
        ),
    ] = None,
) -> None:
    """Start a table again, empty, at a position. No change before the position counts, every change after it does.

    Use it if a table has lost changes and its producer loads the whole table again. If you have a full copy, use
    `retable baseline`. To run it again changes nothing.
    """
    lake = lake_to_write(ctx)
    known = find_table(lake, table)
    if at is None:
        # A source epoch begins after all changes before it and before all in it, in every partition.
        target = target_of(lake, known, LOWEST._replace(epoch=known.source.source_epoch), None)
    else:
        target = target_of(lake, known, read_start(at), part_of(lake, known, partition))
    this = new_run()
    pieces = land_baseline(lake, target, Copy(NOTHING, NOTHING, {}, _no_rows), this.now, say)
    where = f"source epoch {target.position.epoch}" if at is None else format_start(str(target.position))
    append_rows(lake, [ActionRow(target.source, f"resync from {where}", table, reason, user(), this.now)])
    reports = replay_pieces(lake, known.source, pieces)
    say(f"{table} starts again at {where}: the rows that its source loads from there on fill it")
    if any(known.gold in report.held for report in reports):
        raise NeedsAttention(f"done, but {known.gold} is held: `retable hold list` says why")


def _no_rows() -> Iterator[pa.RecordBatch]:
    return iter(())
