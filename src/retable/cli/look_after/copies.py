"""`retable copy` and `retable backup`: copy the whole lake to another location, or only its catalog."""

import os
from pathlib import Path
from typing import Annotated

import typer

from retable.cli.arguments import newest_lake
from retable.cli.clock import now
from retable.cli.output import print_line, say
from retable.cli.progress import WindowProgress
from retable.errors import InvalidSetting
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.sqlite_file import back_up
from retable.printable import toml_string
from retable.recovery.copying import copy_lake
from retable.settings.catalogs import GlueCatalog, PostgresCatalog, RestCatalog
from retable.settings.storage import S3, StorageLocation, bucket

app = typer.Typer()

_TOOLS = {
    PostgresCatalog: "back it up with PostgreSQL's own tools: pg_dump --table 'iceberg_*'",
    RestCatalog: "back it up with the tools of the server that keeps it",
    GlueCatalog: "AWS keeps it; `aws glue get-tables` prints its tables",
}


@app.command()
def copy(
    ctx: typer.Context,
    to: Annotated[str, typer.Argument(metavar="DEST", help="An empty folder, or an empty s3://bucket/prefix.")],
) -> None:
    """Copy the lake, as it is now, to another location. The copy is a separate lake.

    All tables are copied with all of their snapshots. The copy has its own lake ID, and neither lake changes a file of
    the other. Runs may continue in the meantime.
    """
    lake = newest_lake(ctx)
    with WindowProgress(1) as progress:
        progress.begin(1, to, "copy")
        copied = copy_lake(lake, _place(to), now(), progress.step)
    say(f"copied {copied.tables:,} tables, {copied.files:,} files to {to}; the settings of the copy:")
    print_line("[lake]")
    if copied.has_catalog:
        print_line(f"catalog = {toml_string(f'sqlite:///{copied.settings.catalog}')}")
    print_line(f"warehouse = {toml_string(str(copied.settings.warehouse))}")
    if not copied.has_catalog:
        say("add a separate catalog to these settings, then `retable recover` fills it")


@app.command()
def backup(
    ctx: typer.Context,
    to: Annotated[str, typer.Argument(metavar="DEST", help="A file that is not there yet, or a folder for one.")],
) -> None:
    """Write a complete copy of a SQLite catalog, also while runs are going on.

    It does not contain the tables' files: back them up as files, after the catalog. A catalog that you restore later is
    older than the warehouse. `retable recover` brings it up to date.
    """
    lake = newest_lake(ctx)
    file = lake.settings.lake.catalog_file
    if file is None:
        tool = _TOOLS[type(lake.settings.lake.catalog)]
        raise InvalidSetting(f"the catalog {lake.settings.lake.catalog} is not a file on this machine; {tool}")
    target = Path(to)
    if target.is_dir():
        target /= f"{file.stem}-{now():%Y%m%dT%H%M%SZ}{file.suffix}"
    elif to.endswith(os.sep):
        raise InvalidSetting(f"the folder {to} does not exist; make it first, or name a file")
    with explained(lake.settings.lake):
        back_up(file, target)
    say(f"the catalog is copied to {target}")


def _place(to: str) -> StorageLocation:
    if to.startswith(S3):
        try:
            return bucket(to)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return Path(to).absolute()
