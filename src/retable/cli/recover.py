"""Making a catalog again from its warehouse."""

from typing import Annotated

import typer

from retable.cli.arguments import settings_of
from retable.cli.clock import now
from retable.cli.output import print_table, say
from retable.errors import CatalogMismatch, NotFound
from retable.ledger.catalog import open_lake_to_read, runs_behind
from retable.ledger.faults import explained
from retable.ledger.identity import LakeRecord, check_place, read_record
from retable.ledger.warehouse import Warehouse
from retable.recovery.adopt import adopt, known_tables
from retable.recovery.tables import Findings, differences, find_tables


def recover(
    ctx: typer.Context,
    take: Annotated[
        list[str] | None,
        typer.Option("--take", metavar="FILE", help="The metadata file that counts, where the command asks which."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Make the catalog again from the tables that the warehouse has.

    For a catalog that was lost, emptied, damaged, or restored from an old copy. Every table comes back with its newest
    metadata file; what differs from the catalog that is there is shown first. No file of a table changes.
    """
    settings = settings_of(ctx)
    with explained(settings.lake):
        warehouse = Warehouse(settings.lake)
        record = _record(warehouse)
        if record is not None:
            check_place(record, warehouse.address)
        known = known_tables(settings)
        findings = find_tables(warehouse, known, take or ())
    _check(findings, warehouse)
    changes = differences(findings, known)
    say(f"{warehouse.address} has {len(findings.tables):,} tables, the catalog {settings.lake.catalog} {len(known):,}")
    for folder in findings.unnamed:
        say(f"left out: {folder} does not say which table it is; an older Retable wrote it")
    for folder in findings.damaged:
        say(f"left out: every metadata file of {folder} is damaged; what was in that table must be made again")
    if changes:
        print_table(["TABLE", "DIFFERENCE"], [[each.name, each.words] for each in changes])
    elif record is not None and not runs_behind(open_lake_to_read(settings)):
        say("the catalog names the newest metadata of every table: nothing to do")
        return
    if not yes:
        typer.confirm("Make the catalog name these tables?", abort=True, err=True)
    others = {each.name: each.catalog for each in changes if each.catalog is not None and each.warehouse is None}
    tables = others | {name: table.metadata.address for name, table in findings.tables.items()}
    kept = adopt(settings, tables, record, now())
    say(f"recovered {len(findings.tables):,} tables" + ("" if kept is None else f"; the former catalog is {kept}"))
    say("`retable status` shows the lake; `retable run SOURCE` goes on behind the newest run")


def _record(warehouse: Warehouse) -> LakeRecord | None:
    """The warehouse's record; a damaged one is written again from what the catalog's record says."""
    try:
        return read_record(warehouse)
    except CatalogMismatch as error:
        say(f"warning: {error.message.partition(';')[0]}")
        return None


def _check(findings: Findings, warehouse: Warehouse) -> None:
    if findings.unclear:
        for each in findings.unclear:
            say(f"{each.what}:")
            for choice in each.choices:
                say(f"    --take {choice}")
        raise NotFound(
            f"the warehouse {warehouse.address} does not tell which metadata files count; run this again with "
            f"one --take for each of these tables"
        )
    if not findings.tables:
        raise NotFound(f"the warehouse {warehouse.address} has no tables; check `[lake] warehouse` of the settings")
