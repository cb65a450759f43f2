"""The only writer of the ops tables but `ops.windows`."""

from collections.abc import Sequence
from dataclasses import asdict

import pyarrow as pa

from retable.ledger.lake.catalog import Lake, widen
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import OPS
from retable.ledger.rows import OPS_TABLES, OpsRow


def append_rows(lake: Lake, rows: Sequence[OpsRow]) -> None:
    """Append rows of any kinds, one commit for each ops table; ConflictError after twenty lost races.

    A file holds its rows newest first, as Iceberg lists its commits: so rows of one instant keep their order.
    """
    for kind, name in OPS_TABLES.items():
        if mine := [asdict(row) for row in rows if type(row) is kind]:
            table = lake.ensure(name)
            if widen(lake, table):
                table = lake.load(name)
            with explained(lake.settings.lake):
                table.append(pa.Table.from_pylist(mine[::-1], schema=OPS[name].columns))
