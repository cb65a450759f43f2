"""`retable rows`, `tables`, `schema` and `history`: print the contents of gold."""

import json
from collections.abc import Collection
from datetime import UTC, datetime
from enum import StrEnum
from itertools import chain
from typing import Annotated

import typer

from retable.cli.arguments import Json, TableArgument, lake_of
from retable.cli.output import print_json, print_line, print_table, say
from retable.errors import DamagedFile
from retable.gold.damage import LOST
from retable.gold.read import (
    PublishedTable,
    columns,
    find_gold,
    is_retired,
    list_gold,
    lost_tables,
    read_rows_in_order,
    snapshot_of_cut,
)
from retable.gold.render import json_rows
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_schema_changes
from retable.ledger.rows import SchemaChangeRow
from retable.model.sequence import parse_sequence
from retable.replay.references.open_suspects import open_suspects

app = typer.Typer()


class RowFormat(StrEnum):
    """How rows are printed: one JSON object per line, or aligned columns."""

    JSONL = "jsonl"
    TABLE = "table"


@app.command()
def rows(
    ctx: typer.Context,
    table: TableArgument,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="W", help="The rows in the consistent cut of this window.")
    ] = None,
    row_format: Annotated[RowFormat, typer.Option("--format", help="The output format.")] = RowFormat.JSONL,
    limit: Annotated[int | None, typer.Option(min=0, help="The most rows to print.")] = None,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Include Retable's own columns, _retable_*.")
    ] = False,
) -> None:
    """Print the rows of a gold table, ordered by key.

    A table of more than 1,000,000 rows is printed in the order of its files.
    """
    lake = lake_of(ctx)
    _, state = find_gold(lake, table)
    snapshot = None if as_of is None else snapshot_of_cut(lake, table, as_of)
    if as_of is None and state.hold is not None:
        say(f"{table} is held: it shows its last state before {state.hold.place or 'its first row'}")
    if limit == 0 or (as_of is not None and snapshot is None):
        return
    batches = read_rows_in_order(lake, table, snapshot, limit, all_columns)
    if row_format is RowFormat.JSONL:
        for line in chain.from_iterable(map(json_rows, batches)):
            print_line(line)
        return
    objects = [json.loads(line) for line in chain.from_iterable(map(json_rows, batches))]
    names = list(objects[0]) if objects else [column.name for column in columns(lake, table)]
    print_table(names, ([_cell(row[name]) for name in names] for row in objects))


@app.command()
def tables(ctx: typer.Context, as_json: Json = False) -> None:
    """List the gold tables. A table that the settings no longer include is `retired` and does not change.

    `suspect`: the table has rows that its source may have deleted. `retable why TABLE` names them.
    """
    lake = lake_of(ctx)
    damaged: list[DamagedFile] = []
    listed = list_gold(lake, damaged.append)
    suspect = {each for source in lake.settings.sources.values() for each in open_suspects(lake, source)}
    if as_json:
        print_json(
            [
                {
                    "name": table.name,
                    "database": table.state.table.database,
                    "schema": table.state.table.schema,
                    "table": table.state.table.table,
                    "rows": table.rows,
                    "state": _state(lake, table, suspect),
                }
                for table in listed
            ]
        )
    elif listed or damaged:
        print_table(
            ["TABLE", "SOURCE", "ROWS", "STATE"],
            (
                [table.name, f"{table.state.source}: {table.state.table}", table.rows, _state(lake, table, suspect)]
                for table in listed
            ),
        )
    else:
        say("there is no gold table yet; `retable run SOURCE` makes them")
    lost = lost_tables(lake, (table.state for table in listed), damaged)
    for error in damaged:
        say(f"error: {error.message}")
    for name in sorted(lost):
        say(f"error: {name}: {LOST.reason}; {LOST.remedy.replace('TABLE', name)}")
    if damaged or lost:
        raise typer.Exit(1)


def _state(lake: Lake, table: PublishedTable, suspect: Collection[str]) -> str:
    if is_retired(lake, table.state):
        return "retired"
    return "suspect" if table.state.state == "live" and table.state.identity in suspect else table.state.state


@app.command()
def schema(ctx: typer.Context, table: TableArgument, as_json: Json = False) -> None:
    """Print the columns of a gold table with their names and types at the source."""
    lake = lake_of(ctx)
    _, state = find_gold(lake, table)
    found = columns(lake, table)
    if not as_json:
        print_table(
            ["COLUMN", "TYPE", "SOURCE COLUMN", "SOURCE TYPE", "DEFAULT", "KEY"],
            ([c.name, c.type, c.source_name, c.source_type, c.default, "key" if c.is_key else ""] for c in found),
        )
        return
    print_json(
        {
            "name": table,
            "database": state.table.database,
            "schema": state.table.schema,
            "table": state.table.table,
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "source_name": column.source_name,
                    "source_type": column.source_type,
                    "default": column.default,
                    "key": column.is_key,
                }
                for column in found
            ],
        }
    )


@app.command()
def history(ctx: typer.Context, table: TableArgument, as_json: Json = False) -> None:
    """Print the schema changes of a gold table in the order of its source, each with its status."""
    lake = lake_of(ctx)
    _, state = find_gold(lake, table)
    changes = [row for row in read_schema_changes(lake, state.source) if row.identity == state.identity]
    changes.sort(key=lambda row: (parse_sequence(row.position), row.part))
    if as_json:
        print_json([_change(row) for row in changes])
        return
    print_table(
        ["POSITION", "TIME", "WINDOW", "STATUS", "STATEMENT", "REASON"],
        ([row.position, _time(row), row.window, row.status, row.statement, row.reason] for row in changes),
    )


def _change(row: SchemaChangeRow) -> dict[str, object]:
    return {
        "position": row.position,
        "part": row.part or None,
        "time": _time(row),
        "window": row.window,
        "statement": row.statement,
        "meaning": json.loads(row.meaning),
        "status": row.status,
        "reason": row.reason,
        "recorded_at": row.recorded_at.isoformat(),
    }


def _time(row: SchemaChangeRow) -> str | None:
    if row.event_time_ms is None:
        return None
    return datetime.fromtimestamp(row.event_time_ms / 1000, UTC).isoformat(timespec="milliseconds")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
