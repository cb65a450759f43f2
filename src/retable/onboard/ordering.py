"""Finds whether positions of a source can be compared in the whole source, or only inside each Kafka partition."""

from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual, NotNull, Reference
from pyiceberg.expressions.literals import literal

from retable.formats.registry import find_format
from retable.ledger.baselines import FIRST_WINDOW
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.error_translation import explained
from retable.model.event import Scope
from retable.replay.inputs.imports import read_schema_imports
from retable.settings.sources import SourceSettings


def scope_of(lake: Lake, source: SourceSettings) -> Scope:
    """Return where two positions of a source can be compared.

    `stream` means in the whole source, `partition` only inside one Kafka partition. If silver has a row change of the
    source, return the scope that is stored with it. Otherwise the format and the database system of the source decide.
    """
    found = _seen(lake, source.name)
    if found is not None:
        return found
    system = source.source_system or read_schema_imports(lake, source.name).dialect
    return find_format(source.format).order_scope(system)


def _seen(lake: Lake, source: str) -> Scope | None:
    """Return the scope of any row change in silver, without rows of full copies; None if there is none."""
    silver = lake.find(f"silver.{source}")
    if silver is None:
        return None
    of_windows = GreaterThanOrEqual(term=Reference("window"), value=literal(FIRST_WINDOW))
    rows = And(EqualTo(term=Reference("kind"), value=literal("row")), NotNull(term=Reference("sequence_scope")))
    with explained(lake.settings.lake):
        found = silver.scan(row_filter=And(of_windows, rows), selected_fields=("sequence_scope",), limit=1).to_arrow()
    scopes: list[Scope] = found["sequence_scope"].to_pylist()
    return scopes[0] if scopes else None
