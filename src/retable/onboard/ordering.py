"""By what the changes of a source are ordered: across all of it, or inside each partition of the queue alone."""

from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, NotNull, Reference
from pyiceberg.expressions.literals import literal

from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.model.event import Scope
from retable.replay.inputs.imports import read_schema_imports
from retable.settings.sources import SourceSettings

INSIDE_PARTITIONS = frozenset({"canal_json", "dts_avro", "lindorm_debezium"})
"""The formats whose messages tell no order, so that of every change the offset does."""

_ACROSS = {"debezium_json": frozenset({"mysql", "mariadb", "postgresql", "sqlserver"})}
"""The databases whose changes a format orders across all partitions, where it does not order all of them alike."""


def scope_of(lake: Lake, source: SourceSettings) -> Scope:
    """How far the positions of a source's changes compare: as one that came says, else as its format does."""
    found = _seen(lake, source.name)
    if found is not None:
        return found
    if source.format in INSIDE_PARTITIONS:
        return "partition"
    system = source.source_system or read_schema_imports(lake, source.name).dialect
    across = _ACROSS.get(source.format)
    return "partition" if across is not None and system is not None and system not in across else "stream"


def _seen(lake: Lake, source: str) -> Scope | None:
    """The scope of one change in silver, whichever; rows of copies are none."""
    silver = lake.find(f"silver.{source}")
    if silver is None:
        return None
    of_windows = GreaterThanOrEqual(term=Reference("window"), value=literal(FIRST_WINDOW))
    rows = And(EqualTo(term=Reference("kind"), value=literal("row")), NotNull(term=Reference("sequence_scope")))
    with explained(lake.settings.lake):
        found = silver.scan(row_filter=And(of_windows, rows), selected_fields=("sequence_scope",), limit=1).to_arrow()
    told: list[Scope] = found["sequence_scope"].to_pylist()
    return told[0] if told else None
