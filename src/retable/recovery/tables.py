"""Find the tables of a warehouse from their Iceberg metadata files, without a catalog."""

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
    """A table of the warehouse: its name, its folder, and the metadata file that the catalog will name.

    `lacks_commits` is True if a newer metadata file is damaged or missing, so that the last commits are lost.
    """

    name: str
    folder: str
    metadata: MetadataFile
    lacks_commits: bool = False


@dataclass(frozen=True, slots=True)
class Unclear:
    """A question for a person: which of these metadata files is the right one for a table?

    `what` describes the problem. `choices` are the addresses of the metadata files. The person names one with `--take`.
    """

    what: str
    choices: tuple[str, ...]


@dataclass(slots=True)
class Findings:
    """The result of `find_tables`: the tables of a warehouse by name, and the questions for a person (`unclear`).

    The other fields are folders of tables that are not put into the catalog: `left` were removed from the catalog by
    Retable on purpose, `unnamed` have no known name, and `damaged` have no readable metadata file.
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

    `known` has the metadata file that the present catalog names, by table name. `taken` are metadata files that a
    person chose (`--take`). If several files of a table have the highest version, the person's choice decides, then the
    catalog. Without either, the result has a question for a person.
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
            findings.unclear.append(Unclear(f"{len(tables)} folders have a table with the name {name}", choices))
    return findings


def _choose(
    warehouse: Warehouse, folder: TableFolder, candidates: list[MetadataFile], findings: Findings
) -> tuple[MetadataFile, TableMetadata] | None:
    """Return the metadata file to use for a folder, with its content. `candidates` are the possible files.

    Return None if a person must choose, or if no file can be read; `findings` then has the question or the folder.
    """
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
        what = f"the newest metadata file {candidates[0].address} is damaged; an older one lacks the last commits"
        findings.unclear.append(Unclear(what, (older.address,)))
    return None


def _gold_names(
    io: FileIO, read: Iterable[tuple[TableFolder, MetadataFile, TableMetadata]]
) -> dict[tuple[str, str] | None, str]:
    """Return the names of gold tables by source and identity, from ops.tables.

    They are needed if the metadata of a gold table does not have its name.
    """
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
    """A table for which the catalog names another metadata file than the newest one in the warehouse.

    `catalog` and `warehouse` are these two files; None if the table is missing there. `behind` is the number of commits
    by which the catalog is older, below 0 if it is newer. It is None if the two files cannot be compared.
    """

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
                return "only in the catalog: the warehouse has no files of this table"
            case _, _, int(behind) if behind > 0:
                return f"the catalog is {behind:,} commits older"
            case _, _, int(behind) if behind < 0:
                return f"the catalog is {-behind:,} commits newer: their metadata files are gone"
        return "the catalog names another metadata file"


def differences(findings: Findings, known: Mapping[str, str]) -> list[Difference]:
    """Return the differences between the tables in the warehouse and those in the present catalog, by table name.

    `known` has the metadata file that the catalog names, by table name.
    """
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
    """Return the address under `new` of a file that was under `old`. An address that was not under `old` stays."""
    path = plain_path(address)
    return f"{new}{path.removeprefix(plain_path(old))}" if path.startswith(f"{plain_path(old)}/") else address


def _folder(address: str) -> str:
    return plain_path(address).rpartition("/metadata/")[0]


def _version(address: str) -> int:
    """Return the version in the name of a metadata file; 0 if the name has no version."""
    number = address.rpartition("/")[2].partition("-")[0].partition(".")[0].lstrip("v")
    return int(number) if number.isdigit() else 0
