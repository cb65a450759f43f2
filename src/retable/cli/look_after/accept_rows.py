"""`retable accept-rows`: a person states that rows in doubt are right in gold."""

from dataclasses import replace
from typing import Annotated

import typer

from retable.cli.arguments import lake_to_write
from retable.cli.clock import now, user
from retable.cli.output import say
from retable.freshness.blockers import ACCEPT_ROWS, half_of, open_halves
from retable.freshness.catalog import record, source_of
from retable.gold.read import find_gold
from retable.ledger.rows import ActionRow, OpsRow
from retable.ledger.write import append_rows
from retable.replay.references.open_suspects import open_suspects

app = typer.Typer()


@app.command()
def accept_rows(
    ctx: typer.Context,
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Gold tables, as `retable tables` has them.")],
    reason: Annotated[str, typer.Option("--reason", help="How you know. It is stored with your name.")],
) -> None:
    """State that rows in doubt are right as they are in gold, so that the tables count as complete.

    These are rows that a foreign key of the source may have deleted or changed without a message, for example by ON
    DELETE CASCADE. They are also rows for which only half of an update arrived. Gold does not change. If the rows are
    wrong, use `retable baseline` or `retable resync` instead.
    """
    lake, moment, who = lake_to_write(ctx), now(), user()
    found = {table: (source_of(lake, table), find_gold(lake, table)[1]) for table in tables}
    rows: list[OpsRow] = []
    for table, (source, state) in found.items():
        suspects = open_suspects(lake, source).get(state.identity, [])
        halves = open_halves(lake, source.name, state)
        rows += [replace(row, state="accepted", recorded_at=moment) for row in suspects]
        targets = [f"{row.identity} {row.constraint} {row.window}" for row in suspects]
        targets += [half_of(state, at) for at in halves]
        rows += [ActionRow(source.name, ACCEPT_ROWS, target, reason, who, moment) for target in targets]
        if suspects:
            say(f"accepted: {sum(row.rows for row in suspects):,} suspect rows of {table} are right")
        if halves:
            say(f"accepted: the rows of {table} with {len(halves):,} updates of which only half arrived are right")
        if not targets:
            say(f"no rows of {table} are in doubt")
    append_rows(lake, rows)
    for name in sorted({source.name for source, _ in found.values()}):
        record(lake, lake.settings.source(name), moment)
