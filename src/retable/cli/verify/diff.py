"""`retable diff`: prints the difference between two states of a gold table, in columns and in rows by key."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from retable.cli.arguments import Json, TableArgument, lake_of
from retable.cli.output import print_json, print_table, say
from retable.cli.progress import working
from retable.cli.verify.differences import print_rows, rows_json
from retable.freshness.gate import format_time
from retable.gold.read import find_gold
from retable.model.window import is_window_name, window_start
from retable.settings.sources import Source
from retable.verify.states import ColumnDifference, ComparedState, StateDifference, compare_states

app = typer.Typer()

_HELP = "A state: now, a window (as it was after it), the number of a snapshot, a tag, or a time with its zone."


@app.command()
def diff(
    ctx: typer.Context,
    table: TableArgument,
    one: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    other: Annotated[str, typer.Argument(metavar="B", help=_HELP)],
    as_json: Json = False,
) -> None:
    """Print what changed in a gold table from state A to state B. Rows are compared by key, or whole without one."""
    lake = lake_of(ctx)
    with working(f"comparing {table}"), TemporaryDirectory(prefix="retable-diff-") as folder:
        found = compare_states(lake, table, one, other, Path(folder))
    if as_json:
        print_json(_json(table, found))
        return
    if found.columns:
        print_table(["COLUMN", "A", "B"], ([_what(change), *_sides(change)] for change in found.columns))
    if not found.rows.is_equal:
        print_rows(found.rows, "A", "B")
    by = f"by {', '.join(found.key)}" if found.key else "as whole rows"
    verdict = "equal" if found.rows.is_equal and not found.columns else "different"
    source = lake.settings.sources.get(find_gold(lake, table)[1].source)
    left, right = _format_state(found.left, source), _format_state(found.right, source)
    say(f"{table}: {left} and {right}, compared {by}: {verdict}")
    say(f"    {found.rows.left:,} rows in A, {found.rows.right:,} rows in B")


def _what(change: ColumnDifference) -> str:
    if change.left is None or change.right is None:
        return "added" if change.left is None else "dropped"
    return "renamed" if change.left[0] != change.right[0] else "retyped"


def _sides(change: ColumnDifference) -> list[str | None]:
    return [None if side is None else " ".join(side) for side in (change.left, change.right)]


def _format_state(state: ComparedState, source: Source | None) -> str:
    snapshot = "no row yet" if state.snapshot is None else f"snapshot {state.snapshot}"
    if source is None or not is_window_name(state.asked):
        return f"{state.asked} ({snapshot})"
    end = format_time(window_start(state.asked) + source.every)
    return f"{state.asked} (after this window, which ends at {end}; {snapshot})"


def _json(table: str, found: StateDifference) -> dict[str, object]:
    return {
        "table": table,
        "a": {"state": found.left.asked, "snapshot": found.left.snapshot},
        "b": {"state": found.right.asked, "snapshot": found.right.snapshot},
        "equal": found.rows.is_equal and not found.columns,
        "key": list(found.key),
        "columns": [
            {"change": _what(each), "a": _column(each.left), "b": _column(each.right)} for each in found.columns
        ],
        "rows": rows_json(found.rows, "a", "b"),
    }


def _column(side: tuple[str, str] | None) -> dict[str, str] | None:
    return None if side is None else {"name": side[0], "type": side[1]}
