"""`retable shadow`: rebuild tables from bronze next to gold, compare them, then promote or drop them."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from retable.cli.arguments import Json, SourceName, lake_of, lake_to_write
from retable.cli.clock import new_run, user
from retable.cli.output import print_json, print_table, say
from retable.cli.progress import WindowProgress
from retable.cli.run.stages import call_attention_to_rebuilt, running_spark
from retable.cli.verify.differences import print_rows, rows_json
from retable.ledger.lake.catalog import Lake
from retable.ledger.rows import ActionRow
from retable.ledger.write import append_rows
from retable.shadow.difference import ShadowDifference, compare_shadow
from retable.shadow.lake import drop_shadow, end_builds, the_shadow
from retable.shadow.plan import check_ask

app = typer.Typer(no_args_is_help=True, help="Rebuild tables next to gold, compare them, then promote or drop them.")

Reason = Annotated[str, typer.Option("--reason", help="The reason. It is stored with your name.")]
_WINDOW = "as 20260301T0500Z"


@app.command()
def build(
    ctx: typer.Context,
    source: SourceName,
    tables: Annotated[list[str], typer.Option("--tables", metavar="TABLE", help="A gold table. May be repeated.")],
    start: Annotated[str, typer.Option("--from", metavar="W", help=f"The first window to decode again, {_WINDOW}.")],
    end: Annotated[str, typer.Option("--to", metavar="W", help="The window after the last one.")],
    reason: Reason,
) -> None:
    """Rebuild tables next to gold, with these windows decoded again from bronze. Gold does not change."""
    lake = lake_to_write(ctx)
    ask = check_ask(lake, source, tables, start, end)
    this = new_run()
    with WindowProgress(1) as progress, running_spark(lake.settings) as spark:
        progress.begin(1, source, "shadow")
        _entry_points().build(spark, lake, ask, reason, user(), this.id, this.now, progress.step)
    say(f"built next to gold: {', '.join(ask.tables)}; `retable shadow diff {source}` shows how they differ")


@app.command()
def diff(ctx: typer.Context, source: SourceName, as_json: Json = False) -> None:
    """Print how the tables of a source's shadow differ from gold: columns, rows by key, samples."""
    lake = lake_of(ctx)
    found = list(differences(lake, source))
    if as_json:
        print_json([difference_json(each) for each in found])
        return
    for each in found:
        if each.columns:
            sides = ([" ".join(side) if side else None for side in (one.left, one.right)] for one in each.columns)
            print_table(["COLUMN IN GOLD", "IN THE SHADOW"], sides)
        if not each.rows.is_equal:
            print_rows(each.rows, "gold", "shadow")
        for line in words_of(each):
            say(line)


@app.command()
def promote(ctx: typer.Context, source: SourceName, reason: Reason) -> None:
    """Make the shadow's rows those of gold. Each table changes in one commit and stays the same Iceberg table."""
    lake = lake_to_write(ctx)
    shadow = the_shadow(lake, source)
    this = new_run()
    with WindowProgress(1) as progress, running_spark(lake.settings) as spark:
        progress.begin(1, source, "promote")
        reports = _entry_points().promote(spark, lake, source, reason, user(), this.id, this.now, progress.step)
    say(f"promoted: {', '.join(shadow.ask.tables)}")
    # A table that waited for its turn was held until then: only the last state counts.
    call_attention_to_rebuilt(lake, lake.settings.source(source), reports, reports[-1].held)


@app.command()
def drop(ctx: typer.Context, source: SourceName, reason: Reason) -> None:
    """Remove a source's shadow and its files, also after a killed build. Gold does not change."""
    lake = lake_to_write(ctx)
    name, this = lake.settings.source(source).name, new_run()
    end_builds(lake, name, this.now)
    gone = drop_shadow(lake, name)
    if not gone:
        say(f"{source} has no shadow")
        return
    append_rows(lake, [ActionRow(name, "shadow drop", ", ".join(gone), reason, user(), this.now)])
    say(f"dropped the shadow of {source}; gold is unchanged")


def differences(lake: Lake, source: str) -> Iterator[ShadowDifference]:
    """Yield, for each table of a source's shadow (tables rebuilt next to gold), how it differs from gold."""
    shadow = the_shadow(lake, source)
    for table in shadow.ask.tables:
        with TemporaryDirectory(prefix="retable-shadow-") as folder:
            yield compare_shadow(lake, shadow, table, Path(folder))


def words_of(found: ShadowDifference) -> list[str]:
    """Describe how one table of a shadow differs from gold, as lines of text without values of rows."""
    by = f"by {', '.join(found.key)}" if found.key else "as whole rows"
    rows = found.rows
    lines = [f"{found.table}: {'equal' if found.is_equal else 'different'}, compared {by}"]
    lines += [f"    {rows.left:,} rows in gold, {rows.right:,} rows in the shadow"]
    if found.held is not None:
        lines.append(f"    the shadow is held: {found.held}")
    if found.moved:
        lines.append("    gold has changed since the shadow was built: the newer changes are only in gold")
    lines += [f"    {n:,} changes do not fit the shadow: {code}, {reason}" for code, n, reason in found.rejected]
    return lines


def difference_json(found: ShadowDifference) -> dict[str, object]:
    """Return how one table of a shadow differs from gold, as a dictionary for JSON, with samples of rows."""
    return {
        "table": found.table,
        "equal": found.is_equal,
        "key": list(found.key),
        "held": found.held,
        "moved": found.moved,
        "rejected": [{"code": code, "changes": n, "reason": reason} for code, n, reason in found.rejected],
        "columns": [{"gold": _column(each.left), "shadow": _column(each.right)} for each in found.columns],
        "rows": rows_json(found.rows, "gold", "shadow"),
    }


def _column(side: tuple[str, str] | None) -> dict[str, str] | None:
    return None if side is None else {"name": side[0], "type": side[1]}


def _entry_points() -> Any:
    # Loading Spark's entry point loads PySpark, which takes longer than most commands that do not need it.
    from retable.shadow import spark

    return spark
