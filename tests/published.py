"""Makes gold tables without Spark, for tests of what reads them."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from retable.gold.names import gold_column, gold_table
from retable.gold.rows import sequence_type, to_column
from retable.gold.state import SEQUENCE_COLUMN, GoldColumn, GoldState, to_properties
from retable.ledger.lake.catalog import Lake
from retable.ledger.rows import TableState
from retable.model.event import TableName
from retable.model.schema import parse_gold_type
from retable.schema_history.history import Hold


def publish(
    lake: Lake,
    table: TableName,
    columns: Mapping[str, str],
    rows: Sequence[Sequence[Any]],
    keys: tuple[str, ...] = (),
    source: str = "dump",
    state: TableState = "live",
    hold: Hold | None = None,
) -> str:
    """Make a gold table of these columns (source name to gold type) and rows; give its name.

    Dates are days and timestamps microseconds since 1970, as everywhere in replay.
    """
    kinds = {name: kind for name, text in columns.items() if (kind := parse_gold_type(text))}
    assert kinds.keys() == columns.keys(), f"a type of {columns} is no gold type"
    names = [*map(gold_column, columns), SEQUENCE_COLUMN]
    arrays = [to_column([row[at] for row in rows], kind) for at, kind in enumerate(kinds.values())]
    sequences = [{"epoch": 0, "hi": Decimal(number), "lo": 0} for number in range(len(rows))]
    content = pa.Table.from_arrays([*arrays, pa.array(sequences, sequence_type(with_part=False))], names=names)
    made = GoldState(
        source=source, identity=f"{table}@base", table=table, state=state, columns=_columns(kinds), keys=keys, hold=hold
    )
    name = gold_table(lake.settings.lake, table)
    lake.catalog.create_namespace_if_not_exists(name.partition(".")[0])
    created = lake.catalog.create_table(name, content.schema, lake.new_location("gold"), properties=to_properties(made))
    if rows:
        created.append(content)
    return name


def _columns(kinds: Mapping[str, Any]) -> tuple[GoldColumn, ...]:
    return tuple(
        GoldColumn(f"base:{number}", number, name, gold_column(name), f"source {kind}", kind, None)
        for number, (name, kind) in enumerate(kinds.items(), start=1)
    )
