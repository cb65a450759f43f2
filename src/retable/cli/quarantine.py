"""What could not be decoded or applied: which messages and rows, why, and their bytes."""

import re
from typing import Annotated, Any

import typer
from pyiceberg.expressions import And, EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.cli.arguments import Json, lake_of
from retable.cli.output import print_json, print_line, print_table, printable, say, shown_bytes
from retable.errors import NotFound
from retable.ledger.catalog import Lake
from retable.ledger.faults import explained
from retable.ledger.read import scan
from retable.model.event import TableName

_ID = re.compile(r"(?P<source>[a-z][a-z0-9_]*):.*@(?P<offset>\d+)(\+\d+)?")
_MOST_BYTES = 4096

Quarantined = dict[str, Any]


def list_quarantine(
    ctx: typer.Context,
    source: Annotated[str | None, typer.Option("--source", metavar="S", help="Of this source only.")] = None,
    window: Annotated[str | None, typer.Option("--window", metavar="W", help="Of this window only.")] = None,
    as_json: Json = False,
) -> None:
    """List what is quarantined; `retable quarantine show ID` shows one message."""
    lake = lake_of(ctx)
    sources = sorted(lake.settings.sources) if source is None else [lake.settings.source(source).name]
    found = [(name, row) for name in sources for row in _read(lake, name, window)]
    if as_json:
        print_json([_facts(name, row) for name, row in found])
    elif found:
        print_table(
            ["ID", "WINDOW", "STAGE", "CODE", "TABLE", "REASON"],
            (
                [_id(name, row), row["window"], row["stage"], row["code"], _table(row), row["reason"]]
                for name, row in found
            ),
        )
    else:
        say("nothing is quarantined")


def show_quarantined(
    ctx: typer.Context, address: Annotated[str, typer.Argument(metavar="ID", help="As `quarantine list` prints it.")]
) -> None:
    """Show one quarantined message: why, where, and its bytes."""
    lake = lake_of(ctx)
    match = _ID.fullmatch(address)
    source = match["source"] if match else None
    rows = (
        []
        if source not in lake.settings.sources
        else [row for row in _read(lake, source) if _id(source, row) == address]
    )
    if source is None or not rows:
        raise NotFound(f"nothing of the address {address!r} is quarantined; `retable quarantine list` prints them")
    for row in rows:
        facts = _facts(source, row)
        print_table([address, ""], ((f"  {name}", facts[name]) for name in facts if facts[name] is not None))
        for name, value in _message(lake, source, row).items():
            print_line(f"\n{name}, {len(value):,} bytes:\n{shown_bytes(value, _MOST_BYTES)}")


def _read(lake: Lake, source: str, window: str | None = None) -> list[Quarantined]:
    rows = scan(lake, lake.find(f"quarantine.{source}"), window=window).to_pylist()
    place = ("window", "stage", "topic", "partition", "offset")
    return sorted(rows, key=lambda row: (*(row[name] for name in place), row["row_index"] or 0))


def _message(lake: Lake, source: str, row: Quarantined) -> dict[str, bytes]:
    """The message's parts as bronze has them, without reading more of the window than its place."""
    bronze = lake.load(f"bronze.{source}")
    place = [
        EqualTo(term=Reference(name), value=literal(row[name])) for name in ("window", "topic", "partition", "offset")
    ]
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
