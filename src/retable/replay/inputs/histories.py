"""Build the tables of a source from all of its statements in silver, for use outside of a run."""

from collections.abc import Iterable

from retable.decode.statements import read_statements
from retable.gold.store import RowDict
from retable.ledger.counts import open_ledger
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_tables
from retable.ledger.retained import kept_from
from retable.ledger.windows.recording import read_ordinals
from retable.model.event import TableName
from retable.model.sequence import Sequence
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.inputs.known import known_tables
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.rules import SourceRules
from retable.replay.inputs.silver import system_of, taken, to_statement
from retable.schema_history.statement import Statement
from retable.settings.sources import SourceSettings


def trace_tables(lake: Lake, source: SourceSettings) -> Tables:
    """Return the tables of a source, as all statements in silver define them.

    The result includes gold tables that no statement created, because their rows came without statements.
    """
    rules, statements = read_source_statements(lake, source)
    return Tables.trace(statements, rules, [], read_known(lake, source.name))


def read_source_statements(
    lake: Lake, source: SourceSettings, more: Iterable[RowDict] = ()
) -> tuple[SourceRules, list[Statement]]:
    """Return the rules of a source and its statements: all statements in silver, then those in `more`.

    `more` are further statements as rows of silver. The rules come from the settings, and from the recorded decisions,
    schema dumps and baselines of the source.
    """
    ordinals = read_ordinals(lake, source.name)
    imports = read_schema_imports(lake, source.name)
    setting = source.source_system or imports.dialect
    records = read_statements(lake, source.name, max(ordinals, default=""))
    records.sort(key=lambda record: (ordinals.get(str(record["window"]), -1), int(str(record["offset"]))))
    records += more
    system = system_of(records, setting)
    rules = SourceRules(
        lake.settings, source, system, decisions_of(lake, source.name), imports, read_whole_baselines(lake, source.name)
    )
    statements: dict[Statement, None] = {}
    for record in records:
        statements.setdefault(taken(to_statement(record, setting, system), source.takes))
    return rules, list(statements)


def read_known(lake: Lake, source: str) -> dict[TableName, Sequence | None]:
    """Return the tables of gold that no statement created, each with the position of its first row (`known_tables`)."""
    ledger, kept = open_ledger(lake, source), kept_from(lake, "silver", source)
    return known_tables(read_tables(lake, source), ledger, kept or "")
