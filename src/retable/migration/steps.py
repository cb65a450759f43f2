"""The steps that upgrade a lake to the present layout. Each step makes one or more commits, and may be run again."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue, EqualTo, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.table import Table

from retable.decode.statements import has_statements, keep_statements
from retable.errors import ConflictError
from retable.ledger.counts import open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.identity import LAYOUT
from retable.ledger.lake.tables import LAYOUT_PROPERTY, OPS
from retable.migration.thinning import thin_cuts, thin_promises
from retable.replay.record import fill_first_rows, lacking_first_rows
from retable.upkeep.system import rewrite_ops

_THINNED: Mapping[str, Callable[[pa.Table], pa.Table]] = {"ops.cuts": thin_cuts, "ops.watermarks": thin_promises}

_ATTEMPTS = 20
_AT_ONCE = 20
"""The maximum number of tables whose ledger rows are in memory at one time."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a migration.

    `table` is the table that the step writes. `does` says, for people, what the step does. `rows` is the number of rows
    that it processes. Call `run` to do the step.
    """

    table: str
    does: str
    rows: int
    run: Callable[[], object]


def plan_steps(lake: Lake, run_id: str, now: datetime) -> list[Step]:
    """Return the steps of the migration that are not done yet. This writes nothing: call `run` of each step.

    `run_id` is the id of this run, and `now` is the time to record for it.
    """
    return [*_statements(lake), *_first_rows(lake, now), *_tables_of_ops(lake, run_id)]


def _statements(lake: Lake) -> Iterator[Step]:
    for name, source in lake.settings.sources.items():
        silver = lake.find(f"silver.{name}")
        if silver is None or has_statements(lake, name):
            continue
        run = partial(keep_statements, lake, name, source.source_system, wholly=True)
        yield Step(f"statements.{name}", "read the statements of silver", _count(lake, silver, "schema"), run)


def _first_rows(lake: Lake, now: datetime) -> Iterator[Step]:
    table = lake.find("ops.tables")
    if table is None:
        return
    for name in lake.settings.sources:
        lacking = lacking_first_rows(lake, table, name)
        if lacking:
            yield Step(
                "ops.tables", f"record where the rows of {name} begin", len(lacking), partial(_fill, lake, name, now)
            )


def _fill(lake: Lake, source: str, now: datetime) -> None:
    attempts = _ATTEMPTS
    while lacking_first_rows(lake, lake.load("ops.tables"), source):
        # The first call may only add the columns that the table lacks.
        if not fill_first_rows(lake, source, open_ledger(lake, source), now, _AT_ONCE):
            attempts -= 1
        if not attempts:
            raise ConflictError(
                f"the first windows of the tables of {source} were not recorded: other runs wrote ops.tables first, "
                f"{_ATTEMPTS} times; run `retable migrate` again when no other run works on the lake"
            )


def _tables_of_ops(lake: Lake, run_id: str) -> Iterator[Step]:
    for name in OPS:
        table = lake.find(name)
        if table is not None and int(table.properties.get(LAYOUT_PROPERTY, 0)) < LAYOUT:
            thin = _THINNED.get(name)
            does = "drop rows that only repeat the row before" if thin else "number rows by their commit, sort them"
            yield Step(name, does, _count(lake, table), partial(rewrite_ops, lake, name, thin, run_id))


def _count(lake: Lake, table: Table, kind: str | None = None) -> int:
    """Return the number of rows of a table, from its metadata. `kind` limits it to rows of silver of this kind."""
    condition = AlwaysTrue() if kind is None else EqualTo(term=Reference("kind"), value=literal(kind))
    with explained(lake.settings.lake):
        return sum(task.file.record_count for task in table.scan(row_filter=condition).plan_files())
