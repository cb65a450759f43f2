"""The tables of a source as all of its statements in silver tell them, outside of a run."""

from retable.gold.baselines import read_whole_baselines
from retable.gold.imports import read_schema_imports
from retable.gold.plan import Tables
from retable.gold.rules import Rules
from retable.gold.rulings import read_rulings
from retable.gold.silver import read_statements, system_of, taken, to_statement
from retable.ledger.catalog import Lake
from retable.ledger.read import read_tables
from retable.ledger.windows import read_windows
from retable.model.event import TableName
from retable.replay.statement import Statement
from retable.source_settings import SourceSettings


def trace_tables(lake: Lake, source: SourceSettings) -> Tables:
    """Trace every statement of silver, and the tables that gold has though none made them."""
    windows = read_windows(lake, source.name)
    ordinals = {window.name: window.ordinal for window in windows}
    imports = read_schema_imports(lake, source.name)
    setting = source.source_system or imports.dialect
    records = read_statements(lake, source.name, max(ordinals, default=""))
    records.sort(key=lambda record: (ordinals.get(str(record["window"]), -1), int(str(record["offset"]))))
    system = system_of(records, setting)
    rules = Rules(
        lake.settings, source, system, read_rulings(lake, source.name), imports, read_whole_baselines(lake, source.name)
    )
    told: dict[Statement, None] = {}
    for record in records:
        told.setdefault(taken(to_statement(record, setting, system), source.takes))
    named = {row.identity: TableName(row.database, row.schema, row.table) for row in read_tables(lake, source.name)}
    known = [name for identity, name in named.items() if identity == f"{name}@base"]
    return Tables.trace(list(told), rules, [], known)
