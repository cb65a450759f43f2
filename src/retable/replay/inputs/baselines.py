"""Read the baselines (full copies of tables) of a source, and convert them to statements that start tables again."""

from collections.abc import Callable

from retable.ledger.baselines import Baselines, Unfinished, identify, unfinished_baselines, whole_baselines
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_baselines, read_replayed_pieces
from retable.model.event import TableName
from retable.model.schema_change import StartTable
from retable.model.sequence import parse_sequence
from retable.schema_history.statement import Statement


def read_whole_baselines(lake: Lake, source: str) -> Baselines:
    """Return the complete baselines of a source: those whose last piece (part of the copy) was written."""
    return whole_baselines(read_baselines(lake, source))


def read_unfinished(lake: Lake, source: str) -> list[Unfinished]:
    """Return the baselines of a source that are not finished: a piece is not written yet, or not replayed."""
    rows = read_baselines(lake, source)
    return unfinished_baselines(rows, read_replayed_pieces(lake, source)) if rows else []


def start_statements(baselines: Baselines, takes: Callable[[TableName], bool]) -> list[Statement]:
    """Return one statement for each baseline: it starts the table again, empty, at the position of the baseline.

    `takes` returns whether the settings include a table. Baselines of other tables are skipped.
    """
    found: dict[tuple[str | None, ...], Statement] = {}
    for row in baselines.rows:
        name = TableName(row.database, row.schema, row.table)
        if takes(name):
            text = f"baseline from {row.origin}"
            at = parse_sequence(row.position)
            found[identify(row)] = Statement(
                position=at, part=row.part or None, table=name, text=text, changes=(StartTable(name),), offset=2**62
            )
    return list(found.values())
