"""The tables of a shadow: gold tables of a source, built again next to gold, to be compared with gold.

A shadow is like a separate source, with its own bronze, silver and gold, and the same stages build it. No action on a
shadow changes tables of its source.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.exceptions import NamespaceNotEmptyError, NoSuchNamespaceError, NoSuchTableError
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.errors import InvalidSetting, NotFound
from retable.gold.read import SHADOW
from retable.gold.state import from_properties
from retable.ledger.lake.catalog import Lake, widen
from retable.ledger.lake.error_translation import explained
from retable.ledger.lake.tables import OPS
from retable.ledger.leases import LENGTH, Lease, end_leases, leased
from retable.ledger.read import scan
from retable.shadow.plan import Ask

_MANIFEST = "retable.shadow"
_COPIED = ("ops.windows", "ops.ledger", "ops.tables", "ops.decisions", "ops.imports", "ops.baselines")


_LAYERS = ("bronze", "silver", "statements", "quarantine")


@dataclass(frozen=True, slots=True)
class Shadow:
    """A shadow: what a person requested (`ask`), who the person is (`who`), and why (`reason`).

    `snapshots` has the snapshot ids that the source's gold tables had when the build began, by gold name.
    """

    ask: Ask
    reason: str
    who: str
    snapshots: dict[str, int | None]

    def name_of(self, table: str) -> str:
        """Return the name of the shadow's copy of the gold table `table`."""
        return f"{shadow_source(self.ask.source)}__{table}"


def shadow_source(source: str) -> str:
    """Return the name of a source's shadow. A source has at most one shadow at a time."""
    return f"{SHADOW}{source}"


def shadow_lake(lake: Lake, source: str) -> Lake:
    """Return the lake with settings for a source's shadow: its own source name, and its own namespaces for gold."""
    name, settings = _free_name(lake, source), lake.settings
    mine = settings.source(source).model_copy(update={"name": name})
    gold = settings.lake.model_copy(update={"gold": f"{name}__{settings.lake.gold}"})
    return Lake(settings.model_copy(update={"lake": gold, "sources": {**settings.sources, name: mine}}), lake.catalog)


def _free_name(lake: Lake, source: str) -> str:
    """Return the name of a source's shadow. Raise InvalidSetting if the settings have a source of this name."""
    name = shadow_source(source)
    if name in lake.settings.sources:
        raise InvalidSetting(f"sources.{name}: the shadow of {source} needs the name {name}; rename this source")
    return name


def find_shadow(lake: Lake, source: str) -> Shadow | None:
    """Return the shadow of a source, or None if it has no shadow that is completely built."""
    table = lake.find(f"silver.{shadow_source(source)}")
    manifest = None if table is None else table.properties.get(_MANIFEST)
    if manifest is None:
        return None
    facts = json.loads(manifest)
    ask = Ask(facts["ask"]["source"], tuple(facts["ask"]["tables"]), tuple(facts["ask"]["windows"]))
    return Shadow(ask, facts["reason"], facts["who"], facts["snapshots"])


def the_shadow(lake: Lake, source: str) -> Shadow:
    """Return the shadow of a source. If there is none, raise NotFound, which says how to build one."""
    shadow = find_shadow(lake, lake.settings.source(source).name)
    if shadow is None:
        raise NotFound(f"{source} has no shadow; `retable shadow build {source} --tables … --from W --to W` makes one")
    return shadow


@contextmanager
def building(lake: Lake, source: str, run_id: str, now: datetime) -> Iterator[None]:
    """Return a context in which only this run builds the shadow of a source. First drop what a killed build left.

    The run holds a lease, which ends with the context. Raise Leased if another build is running. Raise InvalidSetting
    if there is a finished shadow: a person must promote or drop it.
    """
    name = shadow_source(source)
    with leased(
        lake, Lease(source=source, target=name, purpose="build", holder=run_id, until=now + LENGTH, recorded_at=now)
    ):
        if (standing := find_shadow(lake, source)) is not None:
            raise InvalidSetting(
                f"{source} already has a shadow, of {', '.join(standing.ask.tables)} ({standing.reason}); promote it "
                f"(`retable shadow promote {source}`) or drop it: `retable shadow drop {source}`"
            )
        drop_shadow(lake, source)
        yield


def end_builds(lake: Lake, source: str, now: datetime) -> None:
    """End the leases of killed builds, so that the next build of the source's shadow can start."""
    end_leases(lake, source, shadow_source(source), now)


def finish(lake: Lake, shadow: Shadow) -> None:
    """Record that a shadow is completely built, in a property of the shadow's silver table."""
    table = lake.load(f"silver.{shadow_source(shadow.ask.source)}")
    with explained(lake.settings.lake), table.transaction() as change:
        change.set_properties({_MANIFEST: json.dumps(asdict(shadow))})


def copy_record(lake: Lake, source: str) -> None:
    """Copy the source's rows of the `ops` tables (windows, stages, tables, decisions and others) for its shadow.

    The copies have the shadow's names. The shadow needs them, because it is built like a separate source.
    """
    name = shadow_source(source)
    for ops in _COPIED:
        if (table := lake.find(ops)) is None:
            continue
        if widen(lake, table):
            table = lake.load(ops)
        rows = scan(lake, table, source=source)
        if not rows.num_rows:
            continue
        if ops == "ops.ledger":
            rows = rows.filter(pc.is_null(rows["table"]))
        if ops == "ops.tables":
            rows = _with(rows, "gold", [f"{name}__{gold}" for gold in rows["gold"].to_pylist()])
        with explained(lake.settings.lake):
            # A file holds its rows newest first.
            names = OPS[ops].columns.names
            table.append(_with(rows, "source", [name] * rows.num_rows).select(names).cast(OPS[ops].columns)[::-1])


def drop_shadow(lake: Lake, source: str) -> list[str]:
    """Remove the shadow of a source, also an incomplete shadow: its tables with files, and its rows in `ops` tables.

    Return the names of the tables that were removed.
    """
    name = _free_name(lake, source)
    gone = []
    with explained(lake.settings.lake):
        for namespace in [levels[0] for levels in lake.catalog.list_namespaces() if levels[0].startswith(f"{name}__")]:
            tables = [".".join(table) for table in lake.catalog.list_tables(namespace)]
            # The shadow of another source may begin alike: source names may contain the separator.
            gone += [table for table in tables if _is_of(lake, table, name)]
        gone += [table for layer in _LAYERS if lake.find(table := f"{layer}.{name}")]
        for table in gone:
            with suppress(NoSuchTableError):
                lake.catalog.purge_table(table)
        for namespace in {table.partition(".")[0] for table in gone if table.startswith(name)}:
            with suppress(NoSuchNamespaceError, NamespaceNotEmptyError):
                lake.catalog.drop_namespace(namespace)
        for record in map(lake.find, OPS):
            if record is not None and scan(lake, record, source=name).num_rows:
                record.delete(EqualTo(term=Reference("source"), value=literal(name)))
    return gone


def _is_of(lake: Lake, table: str, source: str) -> bool:
    found = lake.find(table)
    state = None if found is None else from_properties(found.properties)
    return state is not None and state.source == source


def _with(rows: pa.Table, column: str, values: list[str]) -> pa.Table:
    return rows.set_column(rows.column_names.index(column), column, pa.array(values, pa.string()))
