"""What could not be decoded or applied: which messages and rows, why, and their bytes."""

from typing import Annotated, Any

import typer
from pyiceberg.expressions import And, EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.cli.arguments import Json, lake_of
from retable.cli.output import print_facts, print_json, print_line, print_table, printable, say, shown_bytes
from retable.errors import NotFound
from retable.ledger.catalog import Lake
from retable.ledger.faults import explained
from retable.ledger.read import scan
from retable.model.event import TableName
from retable.model.window import window_start

_PLACE = ("window", "topic", "partition", "offset")
_MOST_BYTES = 4096

Quarantined = dict[str, Any]


def list_quarantine(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Option("--source", metavar="S", help="Of this source only.")] = None,
    window: Annotated[str | None, typer.Option("--window", metavar="W", help="Of this window only.")] = None,
    as_json: Json = False,
) -> None:
    """List what is quarantined; `retable quarantine show ID` shows one message."""
    if window is not None:
        window_start(window)
    lake = lake_of(ctx)
    sources = sorted(lake.settings.sources) if source is None else [lake.settings.source(source).name]
    found = [_facts(name, row) for name in sources for row in _read(lake, name, window)]
    if as_json:
        print_json(found)
    elif found:
        names = ("id", "window", "stage", "code", "table", "reason")
        print_table([name.upper() for name in names], ([facts[name] for name in names] for facts in found))
    else:
        say("nothing is quarantined")


def show_quarantined(
    ctx: typer.Context, address: Annotated[str, typer.Argument(metavar="ID", help="As `quarantine list` prints it.")]
) -> None:
    """Show one quarantined message: why, where, and its bytes."""
    lake = lake_of(ctx)
    source = address.partition(":")[0]
    known = _read(lake, source) if source in lake.settings.sources else []
    rows = [row for row in known if _id(source, row) == address]
    if not rows:
        raise NotFound(f"nothing of the address {address!r} is quarantined; `retable quarantine list` prints them")
    for row in rows:
        print_facts(_facts(source, row))
        for name, value in _message(lake, source, row).items():
            print_line(f"{name}, {len(value):,} bytes:")
            print_line(shown_bytes(value, _MOST_BYTES))


def _read(lake: Lake, source: str, window: str | None = None) -> list[Quarantined]:
    rows = scan(lake, lake.find(f"quarantine.{source}"), window=window).to_pylist()
    return sorted(rows, key=lambda row: (*(row[name] for name in _PLACE), row["row_index"] or 0))


def _message(lake: Lake, source: str, row: Quarantined) -> dict[str, bytes]:
    """Read the message's parts from bronze, and of its window only what stands at its place."""
    bronze = lake.load(f"bronze.{source}")
    place = [EqualTo(term=Reference(name), value=literal(row[name])) for name in _PLACE]
    with explained(lake.settings.lake):
        found = bronze.scan(row_filter=And(*place), selected_fields=("key", "value")).to_arrow().to_pylist()
    return {name: value for part in found for name, value in part.items() if value is not None}


def _facts(source: str, row: Quarantined) -> dict[str, object]:
    return {
        "id": _id(source, row),
        "source": source,
        "window": row["window"],
        "stage": row["stage"],
        "code": row["code"],
        "reason": row["reason"],
        "place": row["place"],
        "table": _table(row),
        "keys": row["keys"],
        "decoder_version": row["decoder_version"],
        "quarantined_at": row["quarantined_at"].isoformat(),
    }


def _id(source: str, row: Quarantined) -> str:
    index = "" if row["row_index"] is None else f"+{row['row_index']}"
    return printable(f"{source}:{row['topic']}/{row['partition']}@{row['offset']}{index}")


def _table(row: Quarantined) -> str | None:
    if row["database"] is None or row["table"] is None:
        return None
    return str(TableName(row["database"], row["schema"], row["table"]))
