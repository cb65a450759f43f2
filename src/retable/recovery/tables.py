"""Find the tables of a warehouse from their metadata files alone."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO
from pyiceberg.table import StaticTable
from pyiceberg.table.metadata import TableMetadata

from retable.gold.state import from_properties
from retable.ledger.lake.identity import LEFT_PROPERTY
from retable.ledger.lake.small_files import read_rows
from retable.ledger.lake.warehouse import NAME_PROPERTY, MetadataFile, TableFolder, Warehouse, plain_path

_TABLES = "ops.tables"


@dataclass(frozen=True, slots=True)
class WarehouseTable:
    """A table of the warehouse: its name, its folder, and the metadata file that counts.

    `lacks_commits`: a newer metadata file is damaged or gone.
    """

    name: str
    folder: str
    metadata: MetadataFile
    lacks_commits: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """A decision for a person: one of these metadata files is the table's, but no record shows which."""

    what: str
    choices: tuple[str, ...]


@dataclass(slots=True)
class Findings:
    """Everything that was found: tables by name, unclear cases, and folders whose tables are not used.

    The last are tables that were `left` out of the catalog on purpose, that do not contain their name, or whose
    metadata files are all damaged.
    """

    tables: dict[str, WarehouseTable] = field(default_factory=dict)
    unclear: list[Unclear] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def find_tables(
    warehouse: Warehouse,
    known: Mapping[str, str],
    taken: Collection[str],
    on_progress: Callable[[str], None] = lambda _: None,
) -> Findings:
    """Find every table of a warehouse, and the newest metadata file of each.

    `known` gives, by name, the metadata file in the present catalog, `taken` the metadata files that a person chose. If
    several files have the highest version, the file that either of them names counts.
    """
    findings, read = Findings(), []
    chosen_by_hand, named = set(map(plain_path, taken)), set(map(plain_path, known.values()))
    versions = {_folder(address): _version(address) for address in known.values()}
    for folder in warehouse.tables():
        on_progress(folder.address)
        by_hand = [file for file in folder.metadata if plain_path(file.address) in chosen_by_hand]
        by_catalog = [file for file in folder.newest if plain_path(file.address) in named]
        chosen = _choose(warehouse, folder, by_hand or by_catalog or list(folder.newest), findings)
        if chosen is not None:
            read.append((folder, *chosen))
    golds = _gold_names(warehouse.io, read)
    by_name: dict[str, list[WarehouseTable]] = defaultdict(list)
    for folder, file, metadata in read:
        name = metadata.properties.get(NAME_PROPERTY) or golds.get(_identity(metadata))
        if LEFT_PROPERTY in metadata.properties:
            findings.left.append(folder.address)
        elif name is None:
            findings.unnamed.append(folder.address)
        else:
            lacks = file.version < max(folder.metadata[0].version, versions.get(plain_path(folder.address), 0))
            by_name[name].append(WarehouseTable(name, folder.address, file, lacks))
    for name, tables in sorted(by_name.items()):
        wanted = [table for table in tables if plain_path(table.metadata.address) in chosen_by_hand] or tables
        if len(wanted) == 1:
            findings.tables[name] = wanted[0]
        else:
            choices = tuple(table.metadata.address for table in tables)
            findings.unclear.append(Unclear(f"{len(tables)} folders are called {name}", choices))
    return findings


def _choose(
    warehouse: Warehouse, folder: TableFolder, candidates: list[MetadataFile], findings: Findings
) -> tuple[MetadataFile, TableMetadata] | None:
    """The metadata file of a folder that counts, with its content; None if a person must choose."""
    readable = [(file, metadata) for file in candidates if (metadata := warehouse.metadata(file)) is not None]
    if len(readable) == 1:
        return readable[0]
    if readable:
        what = f"{len(readable)} metadata files have the version {readable[0][0].version}"
        findings.unclear.append(Unclear(what, tuple(file.address for file, _ in readable)))
        return None
    older = next(
        (file for file in folder.metadata if file not in candidates and warehouse.metadata(file) is not None), None
    )
    if older is None:
        findings.damaged.append(folder.address)
    else:
        what = f"the newest metadata file {candidates[0].address} is damaged; the one before it lacks the last commit"
        findings.unclear.append(Unclear(what, (older.address,)))
    return None


def _gold_names(
    io: FileIO, read: Iterable[tuple[TableFolder, MetadataFile, TableMetadata]]
) -> dict[tuple[str, str] | None, str]:
    """The names of gold tables whose metadata lacks them, by source and identity, from ops.tables."""
    for _, file, metadata in read:
        if metadata.properties.get(NAME_PROPERTY) == _TABLES:
            rows = read_rows(StaticTable.from_metadata(file.address, io.properties), AlwaysTrue())
            return {(row["source"], row["identity"]): row["gold"] for row in rows.to_pylist()}
    return {}


def _identity(metadata: TableMetadata) -> tuple[str, str] | None:
    state = from_properties(metadata.properties)
    return None if state is None else (state.source, state.identity)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between catalog and warehouse for a table; `behind` counts commits, None if not comparable."""

    name: str
    catalog: str | None
    warehouse: str | None
    behind: int | None = None

    @property
    def words(self) -> str:
        match self.catalog, self.warehouse, self.behind:
            case None, _, _:
                return "not in the catalog"
            case _, None, _:
                return "only in the catalog: the warehouse has no such table"
            case _, _, int(behind) if behind > 0:
                return f"the catalog is {behind:,} commits older"
            case _, _, int(behind) if behind < 0:
                return f"the catalog is {-behind:,} commits newer: these files are gone"
        return "the catalog names another file"


def differences(findings: Findings, known: Mapping[str, str]) -> list[Difference]:
    """The differences between what was found and the present catalog, given as each table's metadata file by name."""
    found = []
    for name in sorted({*findings.tables, *known}):
        table = findings.tables.get(name)
        here, there = known.get(name), None if table is None else table.metadata.address
        if here is not None and there is not None:
            if plain_path(here) == plain_path(there):
                continue
            behind = None
            if table is not None and _folder(here) == _folder(there):
                behind = table.metadata.version - _version(here)
            found.append(Difference(name, here, there, behind))
        else:
            found.append(Difference(name, here, there))
    return found


def moved(address: str, old: str, new: str) -> str:
    """Translate an address in a warehouse that was at `old` to its address under `new`."""
    path = plain_path(address)
    return f"{new}{path.removeprefix(plain_path(old))}" if path.startswith(f"{plain_path(old)}/") else address


def _folder(address: str) -> str:
    return plain_path(address).rpartition("/metadata/")[0]


def _version(address: str) -> int:
    """The version in the name of a metadata file; 0 if the name has none."""
    number = address.rpartition("/")[2].partition("-")[0].partition(".")[0].lstrip("v")
    return int(number) if number.isdigit() else 0
