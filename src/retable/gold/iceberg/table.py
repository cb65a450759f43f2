"""Write one gold table through Iceberg's Java API, for what Spark SQL cannot do, or cannot do in one transaction."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyiceberg.io import load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import SnapshotRefType

from retable.errors import DamagedFile, Fenced
from retable.formats.reading import Value
from retable.gold.damage import find_damage
from retable.gold.evolve import Evolution
from retable.gold.gold_metadata import GoldMetadata
from retable.gold.iceberg.commit_conflict import overtaken
from retable.gold.iceberg.partition_spec import Reparting
from retable.gold.iceberg.row_delta import Prepared, RowWriter, empty, java_member, literal, members, repart, type_of
from retable.gold.state import HEAD_PROPERTY, PREFIX, RUN_PROPERTY, first_schema_json
from retable.gold.store import RemoteChange, RowChange, RunTasks
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.identity import LEFT_PROPERTY
from retable.ledger.lake.warehouse import NAME_PROPERTY
from retable.model.partitioning import PartitionField
from retable.settings.load import CATALOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAIN = "main"
BRANCH = "retable_"
WINDOW_SUMMARY = f"{PREFIX}window"

_FORMAT = {
    "write.delete.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    "write.parquet.compression-codec": "zstd",
    "write.distribution-mode": "none",
    "commit.retry.num-retries": "20",
}


class IcebergCatalog:
    """The Iceberg catalog of one Spark session. It implements `retable.gold.store.GoldCatalog`."""

    def __init__(self, spark: "SparkSession", lake: Lake) -> None:
        self.lake = lake
        # A session loads its catalogs with the settings of the thread's active session, so run a statement first.
        spark.sql(f"USE {CATALOG}")
        self._jvm = cast(Any, spark._jvm)
        self.gateway: Any = spark.sparkContext._gateway
        self.io = load_file_io(dict(lake.catalog.properties), str(lake.settings.lake.warehouse))
        self._read: dict[str, tuple[str, TableMetadata]] = {}
        load = self.java("org.apache.iceberg.spark.Spark3Util.loadIcebergCatalog")
        self._catalog: Any = load(spark._jsparkSession, CATALOG)

    def java(self, path: str) -> Any:
        """Return a Java package, class or static member by its full name."""
        return java_member(self._jvm, path)

    def metadata(self, name: str, table: Any) -> TableMetadata:
        """Return the metadata of a loaded Java table, read from its file: to get it as text from the JVM is slow."""
        at = str(table.operations().current().metadataFileLocation())
        if self._read.get(name, ("",))[0] != at:
            self._read[name] = at, FromInputFile.table_metadata(self.io.new_input(at))
        return self._read[name][1]

    def find_metadata(self, name: str) -> GoldMetadata | None:
        """Return the metadata of `namespace.table`, or None if there is no such table. This is faster than `load`."""
        table = self.lake.find(name)
        if table is None:
            return None
        # `load` of the same table does not parse its metadata file again.
        self._read[name] = table.metadata_location, table.metadata
        return GoldMetadata(table.metadata)

    def load(self, name: str) -> "GoldTable | None":
        try:
            return GoldTable(self, name, self._catalog.loadTable(self._identifier(name)))
        except Py4JJavaError as error:
            if _is(error, self.gateway, "org.apache.iceberg.exceptions.NoSuchTableException"):
                return None
            raise

    def create(self, name: str, with_part: bool, location: str, format_version: int) -> "GoldTable":
        """Create an empty table in the folder `location`. If the table exists, load it.

        If `with_part` is set, the sequence column of the new table also has the source partition of each row.
        """
        schema = self.java("org.apache.iceberg.SchemaParser.fromJson")(first_schema_json(with_part))
        properties = self.java("java.util.HashMap")()
        for key, value in {**_FORMAT, "format-version": str(format_version), NAME_PROPERTY: name}.items():
            properties.put(key, value)
        identifier = self._identifier(name)
        try:
            self._ensure_namespace(name.rsplit(".", 1)[0])
            builder = self._catalog.buildTable(identifier, schema).withLocation(location).withProperties(properties)
            transaction = builder.createTransaction()
            transaction.newFastAppend().commit()
            transaction.commitTransaction()
        except Py4JJavaError as error:
            if not _is(error, self.gateway, "org.apache.iceberg.exceptions.AlreadyExistsException"):
                raise
        return GoldTable(self, name, self._catalog.loadTable(identifier))

    def rename(self, name: str, to: str) -> None:
        with self.conflicts(name):
            self._ensure_namespace(to.rsplit(".", 1)[0])
            self._catalog.renameTable(self._identifier(name), self._identifier(to))
            self._say(to, NAME_PROPERTY, to)

    def empty(self, name: str) -> None:
        """Remove all rows of a table, also if its manifests cannot be read. Its former snapshots stay."""
        with self.conflicts(name):
            empty(self._catalog, self._identifier(name))

    def drop(self, name: str) -> None:
        with self.conflicts(name):
            self._say(name, LEFT_PROPERTY, "true")
            self._catalog.dropTable(self._identifier(name), False)

    def _say(self, name: str, key: str, value: str) -> None:
        """Set a property that a catalog needs when it is made again from the warehouse."""
        self._catalog.loadTable(self._identifier(name)).updateProperties().set(key, value).commit()

    def names(self, namespace: str) -> list[str]:
        wanted = self._namespace(namespace)
        try:
            found = self._catalog.listTables(wanted)
        except Py4JJavaError:
            # Each catalog raises another error for a namespace that does not exist.
            if not self._catalog.namespaceExists(wanted):
                return []
            raise
        return [f"{namespace}.{identifier.name()}" for identifier in members(found)]

    def find_damage(self, name: str, failure: Exception) -> DamagedFile | None:
        return find_damage(self.lake, name, failure)

    @contextmanager
    def conflicts(self, name: str) -> Iterator[None]:
        """Raise Fenced if a commit in the block fails because another writer committed to the table first."""
        try:
            yield
        except Py4JJavaError as error:
            if _is(error, self.gateway, "org.apache.iceberg.exceptions.CommitFailedException"):
                raise Fenced(f"{name}: another writer committed first; run this window again", table=name) from error
            raise

    def _ensure_namespace(self, namespace: str) -> None:
        """Create a namespace if it does not exist; if another process created it first, use that one."""
        wanted = self._namespace(namespace)
        try:
            if not self._catalog.namespaceExists(wanted):
                self._catalog.createNamespace(wanted)
        except Py4JJavaError:
            if not self._catalog.namespaceExists(wanted):
                raise

    def _namespace(self, namespace: str) -> Any:
        levels = self.gateway.new_array(self.java("java.lang.String"), 1)
        levels[0] = namespace
        return self.java("org.apache.iceberg.catalog.Namespace.of")(levels)

    def _identifier(self, name: str) -> Any:
        namespace, table = name.split(".", 1)
        return self.java("org.apache.iceberg.catalog.TableIdentifier.of")(self._namespace(namespace), table)


class GoldTable(GoldMetadata):
    """A loaded gold table. `base` is the snapshot that the run started from; `publish` fails if main has another."""

    def __init__(self, catalog: IcebergCatalog, name: str, table: Any) -> None:
        super().__init__(catalog.metadata(name, table))
        self.catalog = catalog
        self.name = name
        self._table = table
        self.base = self.snapshot_id
        self._decided_on = self.fields()
        self._said = self._own_properties()
        self._prepared: Prepared | None = None
        self._branch: str | None = None

    def _refresh(self) -> None:
        self._table.refresh()
        self._metadata = self.catalog.metadata(self.name, self._table)

    def expand(self, evolution: Evolution, defaults: Mapping[str, Value]) -> None:
        """Drop columns that a killed run added, then add and promote. `defaults` has default values by `Column.id`."""
        with self.catalog.conflicts(self.name):
            if evolution.leftovers:
                cleaning = self._table.updateSchema()
                for name in evolution.leftovers:
                    cleaning.deleteColumn(name)
                cleaning.commit()
            update = self._table.updateSchema()
            for name, column in evolution.adds:
                kind, default = type_of(self.catalog, column.type), defaults.get(column.id)
                if default is None:
                    update.addColumn(name, kind)
                else:
                    update.addColumn(name, kind, None, literal(self.catalog, default, column.type))
            for name, promoted in evolution.promotions:
                update.updateColumn(name, type_of(self.catalog, promoted))
            update.commit()
        self._refresh()
        self._decided_on = self.fields()

    def part_by(self, fields: list[tuple[str, PartitionField]]) -> None:
        """Partition new files by these partition fields, each with its column's name in the Iceberg table."""
        change = Reparting.of(self._metadata, fields)
        if change.gone or change.fresh:
            with self.catalog.conflicts(self.name):
                repart(self.catalog, self._table, change)
            self._refresh()

    def replace(self, change: RowChange | RemoteChange, run: RunTasks[Any], run_id: str, window: str) -> bool:
        """Write a change as files that `publish` commits. If only a branch works, as in format v2, return False."""
        if self.has_defaults():
            summary = {RUN_PROPERTY: run_id, WINDOW_SUMMARY: window}
            self._prepared = self._writer().prepare(None if self.is_empty else self.base, change, run, summary)
        return self._prepared is not None

    def branch(self, run_id: str) -> str:
        """Create a branch for this run at `base`, and return its name. Remove the branches of dead runs."""
        with self.catalog.conflicts(self.name):
            for name, ref in self._metadata.refs.items():
                if name.startswith(BRANCH) and ref.snapshot_ref_type == SnapshotRefType.BRANCH:
                    self._table.manageSnapshots().removeBranch(name).commit()
            name = BRANCH + "".join(c if c.isalnum() else "_" for c in run_id)
            manage = self._table.manageSnapshots().createBranch(name, self.base)
            manage.setMaxRefAgeMs(name, 86_400_000).commit()
        self._branch = name
        return name

    def append(self, change: RowChange | RemoteChange, run: RunTasks[Any], run_id: str, window: str) -> None:
        """Append the new rows to this run's branch. `run` runs tasks. `run_id` and `window` go into the snapshot."""
        self._refresh()
        addition = self._table.newFastAppend().toBranch(self._branch)
        addition = addition.set(RUN_PROPERTY, run_id).set(WINDOW_SUMMARY, window)
        for file in self._writer().data_files(change, run):
            addition.appendFile(file)
        with self.catalog.conflicts(self.name):
            addition.commit()

    def _writer(self) -> RowWriter:
        return RowWriter(self.catalog, self._table, self._metadata, self.catalog.io, self._literal)

    def _literal(self, name: str, value: Value) -> Any:
        kind = next(kind for _, each, kind in self.fields() if kind is not None and each == name)
        return literal(self.catalog, value, kind)

    def publish(
        self,
        evolution: Evolution | None,
        properties: dict[str, str],
        window: str,
        on_progress: Callable[[str], None],
        tag: str | None = None,
    ) -> None:
        """Make the rows, the schema and the properties visible in one transaction, or make nothing visible.

        The last steps of `evolution` are done, too. `properties` are all properties of Retable. `on_progress` gets a
        text before and after the commit. `tag` is a new tag for the snapshot before it. Raise Fenced if main, columns
        or properties changed after the load. If the reply is lost, raise no error if the commit was applied.
        """
        self._refresh()
        if self.snapshot_id != self.base or not self._is_as_decided():
            raise self._overtaken()
        with self.catalog.conflicts(self.name):
            transaction = self._transaction(evolution, properties[RUN_PROPERTY], window, tag)
            head = transaction.table().currentSnapshot()
            properties = {**properties, HEAD_PROPERTY: self._head_of(head), NAME_PROPERTY: self.name}
            self._tell(transaction, properties)
        on_progress(f"{self.name}: before publishing")
        try:
            with self.catalog.conflicts(self.name):
                transaction.commitTransaction()
        except (Fenced, Py4JJavaError) as error:
            if not self._is_published(int(head.snapshotId()), properties):
                raise (self._overtaken() if isinstance(error, Fenced) else error) from error
        self._refresh()
        on_progress(f"{self.name}: published")

    def rebase(self) -> None:
        self._refresh()
        self.base, self._prepared, self._branch = self.snapshot_id, None, None

    def _overtaken(self) -> Fenced:
        return overtaken(self.name, self.base, self._table, self._is_as_decided())

    def _is_as_decided(self) -> bool:
        return (self.fields(), self._own_properties()) == (self._decided_on, self._said)

    def _is_published(self, head: int, properties: dict[str, str]) -> bool:
        """Return whether main contains this run's snapshot `head`. If the run wrote no rows, compare the properties."""
        self._refresh()
        if head == self.base:
            return self._own_properties() == properties
        return bool(self.catalog.java("org.apache.iceberg.util.SnapshotUtil.isAncestorOf")(self._table, head))

    def _transaction(self, evolution: Evolution | None, run: str, window: str, tag: str | None) -> Any:
        transaction = self._table.newTransaction()
        if tag is not None and tag not in self._metadata.refs:
            transaction.manageSnapshots().createTag(tag, self.base).commit()
        # Iceberg retries appends and property changes on a new main, but never a change of a branch.
        main = transaction.manageSnapshots()
        if self._branch is None:
            main.replaceBranch(MAIN, self.base).commit()
        else:
            main.fastForwardBranch(MAIN, self._branch).removeBranch(self._branch).commit()
        if self._prepared is not None:
            self._prepared.add_to(transaction.newRowDelta().validateFromSnapshot(self.base))
        if evolution is not None and evolution.contracts:
            update = transaction.updateSchema()
            for name in evolution.drops:
                update.deleteColumn(name)
            for name, new in evolution.renames:
                update.renameColumn(name, new)
            previous: str | None = None
            for name in evolution.order:
                update.moveFirst(name) if previous is None else update.moveAfter(name, previous)
                previous = name
            update.commit()
        if evolution is not None and (evolution.contracts or evolution.expands):
            transaction.newFastAppend().set(WINDOW_SUMMARY, window).set(RUN_PROPERTY, run).commit()
        return transaction

    def _head_of(self, head: Any) -> str:
        """Return the value of HEAD_PROPERTY: this snapshot, or the recorded snapshot if this run writes no rows."""
        here = f"{head.snapshotId()} {head.sequenceNumber()}"
        return self._said.get(HEAD_PROPERTY, here) if self._branch is None and self._prepared is None else here

    def _tell(self, transaction: Any, properties: dict[str, str]) -> None:
        change, said = transaction.updateProperties(), self._own_properties()
        for key, value in properties.items() - said.items():
            change.set(key, value)
        for key in said.keys() - properties.keys():
            change.remove(key)
        change.commit()


def _is(error: Py4JJavaError, gateway: Any, name: str) -> bool:
    cause = error.java_exception
    while cause is not None and not is_instance_of(gateway, cause, name):
        cause = cause.getCause()
    return cause is not None
