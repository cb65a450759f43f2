"""Write the ops tables: append independent rows, or rows that depend on what the writer read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table, TableProperties

from retable.ledger.lake.catalog import Lake, widen
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import OPS_TABLES, OpsRow


def append_rows(lake: Lake, rows: Sequence[OpsRow]) -> None:
    """Append rows of any kinds, one commit for each ops table; ConflictError after twenty lost races.

    A file holds its rows newest first, as Iceberg lists its commits.
    """
    for kind, name in OPS_TABLES.items():
        if mine := [asdict(row) for row in rows if type(row) is kind]:
            table = lake.ensure(name)
            if widen(lake, table):
                table = lake.load(name)
            with explained(lake.settings.lake):
                table.append(pa.Table.from_pylist(mine[::-1], schema=OPS[name].columns))


def append_to_loaded(lake: Lake, table: Table, rows: Sequence[OpsRow | Mapping[str, Any]]) -> bool:
    """Append rows to a table as it was loaded; False, and nothing is written, if another process has committed since.

    The writer then reads and decides again; the same happens if the table only now got new columns.
    """
    if widen(lake, table):
        return False
    records = [dict(row) if isinstance(row, Mapping) else asdict(row) for row in rows]
    shape = OPS[".".join(table.name())]
    with explained(lake.settings.lake):
        try:
            committed_once(table).append(pa.Table.from_pylist(records[::-1], schema=shape.columns))
        except CommitFailedException:
            return False
    return True


def committed_once(table: Table) -> Table:
    """Give a loaded table without commit retries; a commit raises CommitFailedException if another came first."""
    once = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    table.metadata = table.metadata.model_copy(update={"properties": once})
    return table
