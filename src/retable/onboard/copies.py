"""Reads full copies of tables, some rows at a time: Parquet, CSV, an Iceberg table."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import StaticTable

from retable.errors import EnvironmentFault, InvalidSetting, NotFound
from retable.model.schema import GoldType

CopyKind = Literal["parquet", "csv", "iceberg"]

_BATCH = 20_000
_WHOLE: dict[pa.DataType, tuple[pa.DataType, GoldType]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), (pa.int32(), GoldType("int"))),
    **dict.fromkeys((pa.int64(), pa.uint32()), (pa.int64(), GoldType("long"))),
    pa.uint64(): (pa.decimal128(20, 0), GoldType("decimal", 20, 0)),
}
_WIDEST = 38
_OWN = "_retable_"
"""Columns of Retable, where the copy is a gold table."""


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written; `null` is how it spells null, where quotes do not make a text of it."""

    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    encoding: str = "utf8"


@dataclass(frozen=True, slots=True)
class Copy:
    """A full copy of a table: what it was read from, the digest of that, and its rows in an order that never changes.

    `types` are the gold types of its columns, None where its values are text that the table's own types read. `behind`
    gives the rows behind one of them, by what was its JSON, where they can be found without reading those before.
    """

    origin: str
    digest: str
    types: Mapping[str, GoldType | None]
    batches: Callable[[], Iterator[pa.RecordBatch]]
    behind: Callable[[Mapping[str, object]], Iterator[pa.RecordBatch]] | None = None


def open_copy(origin: str, form: CsvForm) -> Copy:
    """Open a copy: a file or a folder of files of Parquet or CSV, or the metadata of an Iceberg table.

    InvalidSetting for a column of a type that no gold column has; NotFound where there is nothing.
    """
    path = Path(origin).expanduser()
    try:
        if path.name.endswith(".metadata.json"):
            return _iceberg(path)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        files = [file for file in files if file.is_file() and not file.name.startswith(("_", "."))]
        if not files or not all(file.exists() for file in files):
            raise NotFound(f"{origin} holds no files", path=origin)
        kinds = {_kind_of(file) for file in files}
        if len(kinds) > 1:
            raise InvalidSetting(f"{origin} holds files of several kinds; give a folder that holds one of them")
        return _parquet(origin, files) if kinds == {"parquet"} else _csv(origin, files, form)
    except (OSError, pa.ArrowInvalid) as error:
        raise EnvironmentFault(f"{origin} cannot be read: {error}", path=origin) from error


def _kind_of(file: Path) -> CopyKind:
    if file.suffix == ".parquet":
        return "parquet"
    if file.name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return "csv"
    raise InvalidSetting(f"{file} is no copy that is read; give .parquet, .csv, .tsv or Iceberg's .metadata.json")


def _parquet(origin: str, files: list[Path]) -> Copy:
    schema = pq.read_schema(files[0])
    for file in files:
        if not pq.read_schema(file).equals(schema):
            raise InvalidSetting(f"{file} has other columns than {files[0]}")
    told = {field.name: _told(field) for field in schema}

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH):
                yield _cast(batch, told)

    return Copy(origin, _digest(files), {name: kind for name, (_, kind) in told.items()}, batches)


def _csv(origin: str, files: list[Path], form: CsvForm) -> Copy:
    """Rows of CSV, all values as text: the first line of each file names the columns."""
    names = [_header(file, form) for file in files]
    if any(each != names[0] for each in names):
        raise InvalidSetting(f"the files of {origin} have different columns")

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            convert = csv.ConvertOptions(
                column_types=dict.fromkeys(names[0], pa.string()),
                null_values=[form.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            )
            with csv.open_csv(file, *_options(form), convert) as reader:
                yield from reader

    return Copy(origin, _digest(files), dict.fromkeys(names[0]), batches)


def _options(form: CsvForm) -> tuple[csv.ReadOptions, csv.ParseOptions]:
    parse = csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote, newlines_in_values=True)
    return csv.ReadOptions(encoding=form.encoding), parse


def _header(file: Path, form: CsvForm) -> list[str]:
    with csv.open_csv(file, *_options(form)) as reader:
        names: list[str] = reader.schema.names
        return names


def _iceberg(path: Path) -> Copy:
    """The rows of an Iceberg table as its metadata file tells them."""
    table = StaticTable.from_metadata(str(path))
    names = [field.name for field in table.schema().fields if not field.name.startswith(_OWN)]
    wanted = table.schema().select(*names)
    schema = wanted.as_arrow()
    told = {field.name: _told(field) for field in schema}
    tasks = sorted(table.scan().plan_files(), key=lambda task: task.file.file_path)
    digest = hashlib.sha256("\n".join(task.file.file_path for task in tasks).encode()).hexdigest()[:16]

    def batches() -> Iterator[pa.RecordBatch]:
        for task in tasks:
            scan = ArrowScan(table.metadata, table.io, wanted, AlwaysTrue())
            for batch in scan.to_record_batches([task]):
                yield _cast(batch, told)

    return Copy(str(path), digest, {name: kind for name, (_, kind) in told.items()}, batches)


def _cast(batch: pa.RecordBatch, told: Mapping[str, tuple[pa.DataType, GoldType]]) -> pa.RecordBatch:
    """The batch in the types that gold has; InvalidSetting names a column whose values do not fit exactly."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            columns.append(column.cast(told[name][0]))
        except pa.ArrowInvalid as error:
            raise InvalidSetting(f"column {name!r} does not fit {told[name][1]} exactly: {error}") from error
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _told(field: pa.Field) -> tuple[pa.DataType, GoldType]:
    """How values of a column are read, and the gold type that holds all of them."""
    kind = field.type
    if kind in _WHOLE:
        return _WHOLE[kind]
    if pa.types.is_decimal(kind) and kind.precision <= _WIDEST and kind.scale >= 0:
        return pa.decimal128(kind.precision, kind.scale), GoldType("decimal", kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        zone = "UTC" if kind.tz else None
        return pa.timestamp("us", zone), GoldType("timestamptz" if kind.tz else "timestamp")
    for test, cast, gold in _OTHERS:
        if test(kind):
            return cast, gold
    raise InvalidSetting(f"column {field.name!r} is of the type {kind}, which no column of gold has; leave it out")


_OTHERS: tuple[tuple[Callable[[pa.DataType], bool], pa.DataType, GoldType], ...] = (
    (pa.types.is_boolean, pa.bool_(), GoldType("boolean")),
    (pa.types.is_float32, pa.float32(), GoldType("float")),
    (pa.types.is_float64, pa.float64(), GoldType("double")),
    (pa.types.is_date, pa.date32(), GoldType("date")),
    (pa.types.is_time, pa.string(), GoldType("string")),
    (pa.types.is_string, pa.string(), GoldType("string")),
    (pa.types.is_large_string, pa.string(), GoldType("string")),
    (pa.types.is_dictionary, pa.string(), GoldType("string")),
    (pa.types.is_binary, pa.binary(), GoldType("binary")),
    (pa.types.is_large_binary, pa.binary(), GoldType("binary")),
    (pa.types.is_fixed_size_binary, pa.binary(), GoldType("binary")),
    (pa.types.is_null, pa.string(), GoldType("string")),
)


def _digest(files: list[Path]) -> str:
    """Digest what files are there and how long each is: another copy has another digest."""
    facts = "\n".join(f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files)
    return hashlib.sha256(facts.encode()).hexdigest()[:16]
