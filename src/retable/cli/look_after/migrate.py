"""`retable migrate`: changes the lake of an older version of Retable to the layout of this version."""

from contextlib import ExitStack
from typing import Annotated

import typer

from retable.cli.arguments import newest_lake, settings_of
from retable.cli.clock import new_run
from retable.cli.output import print_table, say
from retable.cli.progress import WindowProgress
from retable.ledger.lake.catalog import layout_of, open_lake_to_migrate
from retable.ledger.lake.identity import LAYOUT
from retable.ledger.leases import LENGTH, Lease, check_free, leased
from retable.ledger.runs import migrating
from retable.migration.steps import plan_steps

app = typer.Typer()


@app.command()
def migrate(
    ctx: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be done.")] = False,
) -> None:
    """Bring the lake of an older Retable to the current layout.

    Nothing that a reader sees changes: gold, consistent cuts and holds stay as they are. No run may work at the same
    time, and an older Retable refuses the lake from then on. If the command is interrupted, run it again: it continues.
    """
    lake, this = newest_lake(ctx), new_run()
    layout = layout_of(lake)
    if layout >= LAYOUT:
        say(f"the lake has layout {layout} already: nothing to do")
        return
    if not dry_run:
        lake = open_lake_to_migrate(settings_of(ctx))
    steps = plan_steps(lake, this.id, this.now)
    if dry_run:
        print_table(["TABLE", "TO DO", "ROWS"], [[step.table, step.does, f"{step.rows:,}"] for step in steps])
        say(f"{len(steps):,} steps bring the lake from layout {layout} to {LAYOUT}")
        return
    until, holder = this.now + LENGTH, this.id
    leases = [
        Lease(source=name, target=name, purpose="upkeep", holder=holder, until=until, recorded_at=this.now)
        for name in ("", *lake.settings.sources)
    ]
    for lease in leases:
        check_free(lake, lease)
    with ExitStack() as stack:
        progress = stack.enter_context(WindowProgress(len(steps)))
        stack.enter_context(migrating(lake))
        for lease in leases:
            stack.enter_context(leased(lake, lease))
        for number, step in enumerate(steps, 1):
            progress.begin(number, step.table, step.does)
            step.run()
            say(f"[{number}/{len(steps)}] {step.table}: {step.does} · {step.rows:,} rows")
    say(
        f"the lake has layout {LAYOUT}; `retable run SOURCE` continues, `retable upkeep` drops what is no longer needed"
    )
