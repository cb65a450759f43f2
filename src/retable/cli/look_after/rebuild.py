"""`retable rebuild`: makes tables again from silver, next to the rows that readers see, and swaps them in."""

from typing import Annotated

import typer

from retable.cli.arguments import lake_to_write
from retable.cli.look_after.holds import go_on

app = typer.Typer()


@app.command()
def rebuild(
    ctx: typer.Context,
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Gold tables: gold_shop.orders.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; it is kept with your name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Make tables anew from all of silver, held or not, and swap them in; readers see the old rows until the end.

    For a hold whose remedy it is, for settings that change older rows, and for a damaged file. What will happen is said
    first, and asked. `retable shadow build` makes a table beside gold, to compare it first.
    """
    go_on(lake_to_write(ctx), tables, "rebuild", reason, yes=yes)
