"""Returns for OpenLineage what a stage reads and writes, from topics or a folder through bronze and silver to gold."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.openlineage.facet import Dataset
from airflow.providers.openlineage.extractors import OperatorLineage

from retable_airflow.lakes import Reference, lake_of, settings_of

if TYPE_CHECKING:
    from retable.ledger.rows import Stage
    from retable.settings.load import Settings
    from retable.settings.sources import Source


def lineage_of(
    settings: Reference | None, source: str, stages: "Sequence[Stage]", window: str | None = None
) -> "OperatorLineage[Any, Any]":
    """Return the datasets that these stages of a source read and write, for OpenLineage.

    Gold tables are included only if `window` is given and `replay` is one of the stages. They are the tables that the
    replay of this window changed. A dataset that one of the stages writes is not an input. For example, bronze is only
    an output of `land` and `decode` together, although `decode` reads it.
    """
    loaded = settings_of(settings)
    inputs, outputs = [], []
    for stage in stages:
        inputs += list(_read_by(loaded, source, stage))
        outputs += list(_written_by(loaded, source, stage))
    if window is not None and "replay" in stages:
        outputs += [_table(loaded, gold) for gold in _replayed(settings, source, window)]
    between = {(each.namespace, each.name) for each in outputs}
    return OperatorLineage(
        inputs=[each for each in inputs if (each.namespace, each.name) not in between], outputs=outputs
    )


def _read_by(settings: "Settings", source: str, stage: "Stage") -> Iterable[Dataset]:
    match stage:
        case "land":
            yield from _origin(settings.source(source))
        case "decode":
            yield _table(settings, f"bronze.{source}")
        case "replay":
            yield _table(settings, f"silver.{source}")


def _written_by(settings: "Settings", source: str, stage: "Stage") -> Iterable[Dataset]:
    match stage:
        case "land":
            yield _table(settings, f"bronze.{source}")
        case "decode":
            yield _table(settings, f"silver.{source}")
            yield _table(settings, f"quarantine.{source}")
        case "replay":
            pass


def _replayed(settings: Reference | None, source: str, window: str) -> list[str]:
    from retable.ledger.read import read_ledger

    with lake_of(settings) as lake:
        rows = read_ledger(lake, source, window)
    return sorted({row.table for row in rows if row.table and row.stage == "replay"})


def _origin(source: "Source") -> Iterable[Dataset]:
    if source.kind == "kafka":
        for topic in source.topics:
            yield Dataset(namespace=f"kafka://{source.bootstrap.partition(',')[0]}", name=topic)
    else:
        folder = str(source.path)
        yield Dataset(namespace=folder if "://" in folder else "file", name="/" if "://" in folder else folder)


def _table(settings: "Settings", name: str) -> Dataset:
    warehouse = str(settings.lake.warehouse)
    return Dataset(namespace=warehouse if "://" in warehouse else f"file:{warehouse}", name=name)
