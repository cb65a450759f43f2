"""`retable recover`: restores a catalog from its warehouse, also if the warehouse was moved or copied."""

from typing import Annotated, Literal

import typer

from retable.cli.arguments import settings_of
from retable.cli.clock import now
from retable.cli.output import print_table, say
from retable.cli.progress import WindowProgress
from retable.errors import CatalogMismatch, NotFound
from retable.ledger.lake.catalog import open_lake_to_read, runs_behind
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import LakeRecord, check_place, read_record
from retable.ledger.lake.warehouse import Warehouse
from retable.recovery.adopt import adopt, known_tables
from retable.recovery.moving import check_move, rewrite_addresses
from retable.recovery.tables import Difference, Findings, differences, find_tables, moved

app = typer.Typer()


@app.command()
def recover(
    ctx: typer.Context,
    moved_or_copy: Annotated[
        Literal["moved", "copy"] | None,
        typer.Option(
            "--as", help="The lake is at another location: moved, or a copy that is used next to the original."
        ),
    ] = None,
    take: Annotated[
        list[str] | None,
        typer.Option("--take", metavar="FILE", help="The metadata file to use, if the command asks which."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
) -> None:
    """Restore the catalog from the tables in the warehouse.

    Use it for a catalog that is lost, empty, damaged, or restored from an old copy. Every table comes back with its
    newest metadata file. The command first shows the difference to the present catalog. For a lake that was moved, or
    copied as files, --as rewrites the addresses in the tables' metadata. No data file changes.
    """
    settings = settings_of(ctx)
    with explained(settings.lake):
        warehouse = Warehouse(settings.lake)
        record, known, former = _record(warehouse), known_tables(settings), None
        if moved_or_copy is not None:
            former, record = check_move(settings.lake, record, moved_or_copy == "copy")
            _rewrite(warehouse, former, yes)
            known = {name: moved(address, former, warehouse.address) for name, address in known.items()}
        elif record is not None:
            check_place(record, warehouse.address)
        findings = find_tables(warehouse, known, take or ())
    _check(findings, warehouse)
    changes = differences(findings, known)
    if moved_or_copy is None and not changes and record is not None and not runs_behind(open_lake_to_read(settings)):
        say("the catalog names the newest metadata of every table: nothing to do")
        return
    _show(findings, changes, f"{warehouse.address} has {len(findings.tables):,} tables, the catalog {len(known):,}")
    if not yes:
        typer.confirm(f"Make the catalog {settings.lake.catalog} name these tables?", abort=True, err=True)
    others = {each.name: each.catalog for each in changes if each.catalog is not None and each.warehouse is None}
    tables = others | {name: table.metadata.address for name, table in findings.tables.items()}
    golds = {
        name: each for name, each in findings.tables.items() if each.folder.startswith(f"{warehouse.address}/gold/")
    }
    lacking = [name for name, each in golds.items() if each.lacks_commits]
    kept = adopt(settings, tables, record, now(), former=former, lacking=lacking)
    say(f"recovered {len(findings.tables):,} tables" + ("" if kept is None else f"; the former catalog is {kept}"))
    for name in lacking:
        say(f"{name} is held: it lacks its last commits; `retable rebuild {name}` replays them")
    say("`retable status` shows the lake; `retable run SOURCE` continues after the newest run")


def _rewrite(warehouse: Warehouse, former: str, yes: bool) -> None:
    count = sum(1 for _ in warehouse.tables())
    say(f"{count:,} tables of {warehouse.address} contain addresses of {former}")
    if not yes:
        typer.confirm("Rewrite these addresses, in place?", abort=True, err=True)
    with WindowProgress(1) as progress:
        progress.begin(1, warehouse.address, "recover")
        done = rewrite_addresses(warehouse, former, progress.step)
    say(f"rewrote the addresses in {done.files:,} files")
    for path in done.missing:
        say(f"warning: a table names {path}, but there is no such file")


def _show(findings: Findings, changes: list[Difference], counted: str) -> None:
    say(counted)
    for folder in findings.unnamed:
        say(f"left out: {folder} does not say which table it is; an older Retable wrote it")
    for folder in findings.damaged:
        say(f"left out: every metadata file of {folder} is damaged; the contents of that table must be built again")
    if changes:
        print_table(["TABLE", "DIFFERENCE"], [[each.name, each.words] for each in changes])


def _record(warehouse: Warehouse) -> LakeRecord | None:
    """Return the record of the lake in the warehouse, or None. A damaged record is written again from the catalog."""
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
            f"it is not clear which metadata files of the warehouse {warehouse.address} count; run this again with "
            f"one --take for each of these tables"
        )
    if not findings.tables:
        raise NotFound(f"the warehouse {warehouse.address} has no tables; check `[lake] warehouse` of the settings")
