"""`retable rebuild`: replays tables again from all of silver, then replaces the rows that readers see."""

from typing import Annotated

import typer

from retable.cli.arguments import lake_to_write
from retable.cli.look_after.holds import go_on

app = typer.Typer()


@app.command()
def rebuild(
    ctx: typer.Context,
    tables: Annotated[list[str], typer.Argument(metavar="TABLE...", help="Gold tables: gold_shop.orders.")],
    reason: Annotated[str, typer.Option("--reason", help="The reason. It is stored with your name.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Replay tables again from all of silver and swap them in. Readers see the old rows until the end.

    Use it for a hold whose remedy names it, after settings that change older rows, and for a damaged file. The command
    says what it will do and asks. `retable shadow build` rebuilds a table next to gold, to compare it first.
    """
    go_on(lake_to_write(ctx), tables, "rebuild", reason, yes=yes)
