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
    """Append rows of any kinds, with one commit for each ops table.

    `rows` are in order, the newest row last. A data file has them in reverse order, because readers expect the newest
    row of a file first. Raise ConflictError if other processes commit first, twenty times.
    """
    for kind, name in OPS_TABLES.items():
        if mine := [asdict(row) for row in rows if type(row) is kind]:
            table = lake.ensure(name)
            if widen(lake, table):
                table = lake.load(name)
            with explained(lake.settings.lake):
                table.append(pa.Table.from_pylist(mine[::-1], schema=OPS[name].columns))


def append_to_loaded(lake: Lake, table: Table, rows: Sequence[OpsRow | Mapping[str, Any]]) -> bool:
    """Append rows only if no other process has committed since `table` was loaded. Return whether they were appended.

    Also return False if the table lacked columns of this version, which are then added. If the result is False, no row
    is written: the caller must load the table again, and decide again which rows to append.
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
    """Switch off commit retries of a loaded table, and return the table.

    A commit then raises CommitFailedException if another process committed first.
    """
    once = {**table.metadata.properties, TableProperties.COMMIT_NUM_RETRIES: "0"}
    table.metadata = table.metadata.model_copy(update={"properties": once})
    return table
