"""Find all source names under which rows of the tables of a shadow may have arrived, before or after a RENAME."""

from retable.decode.statements import read_statements
from retable.gold.read import find_gold
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_stages
from retable.ledger.windows.recording import read_ordinals
from retable.model.event import TableName
from retable.replay.inputs.baselines import read_whole_baselines
from retable.replay.inputs.decisions import decisions_of
from retable.replay.inputs.histories import read_known
from retable.replay.inputs.imports import read_schema_imports
from retable.replay.inputs.rules import SourceRules
from retable.shadow.plan import Ask
from retable.verify import decoded
from retable.verify.rebuild import SourceHistory, names_of


def names_of_tables(lake: Lake, ask: Ask) -> set[TableName]:
    """Return all source names that the requested gold tables had, as the DDL statements in silver show."""
    source = lake.settings.source(ask.source)
    ordinals = read_ordinals(lake, ask.source)
    replayed = frozenset(read_stages(lake, ask.source)["replay"])
    records = read_statements(lake, ask.source, max(ordinals))
    records.sort(key=lambda record: (ordinals.get(str(record["window"]), -1), int(str(record["offset"]))))
    imports = read_schema_imports(lake, ask.source)
    statements, system = decoded.read_statements(records, source, imports.dialect)
    baselines = read_whole_baselines(lake, ask.source)
    rules = SourceRules(lake.settings, source, system, decisions_of(lake, ask.source), imports, baselines)
    history = SourceHistory(rules, statements, ordinals, replayed, read_known(lake, ask.source))
    return {name for table in ask.tables for name in names_of(history, find_gold(lake, table)[1])}
