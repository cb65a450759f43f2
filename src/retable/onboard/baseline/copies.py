"""Reads full copies of tables in batches of rows: Parquet, CSV, an Iceberg table."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.table import StaticTable

from retable.errors import DamagedFile, EnvironmentFault, InvalidSetting, NotFound
from retable.ledger.lake import checksums  # noqa: F401  # it says which file cannot be read
from retable.ledger.lake.damage import without_remedy
from retable.model.schema import GoldType

CopyKind = Literal["parquet", "csv", "iceberg"]

_BATCH = 20_000
_BLOCK = 32 * 1024 * 1024
"""Bytes of CSV that are read at once: the maximum length of a row."""

_COMMA, _TAB = ",", "\t"
_SPELLED_TAB = r"\t"
_WHOLE: dict[pa.DataType, tuple[pa.DataType, GoldType]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), (pa.int32(), GoldType("int"))),
    **dict.fromkeys((pa.int64(), pa.uint32()), (pa.int64(), GoldType("long"))),
    pa.uint64(): (pa.decimal128(20, 0), GoldType("decimal", 20, 0)),
}
_WIDEST = 38
_OWN = "_retable_"
"""The prefix of Retable's own columns, if the copy is a gold table."""

_HINT = "; correct that row, or say how the file is written: --delimiter, --encoding"


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written; `null` is its spelling of null outside quotes.

    `delimiter` None means a tab in .tsv and a comma in all other files; the two characters `\\t` mean a tab, too.
    InvalidSetting for an impossible delimiter, and for an unknown encoding.
    """

    delimiter: str | None = None
    quote: str = '"'
    null: str = ""
    encoding: str = "utf8"

    def __post_init__(self) -> None:
        declared = self.delimiter
        if declared not in (None, _SPELLED_TAB) and (
            len(declared) != 1 or not declared.isascii() or declared in f"{self.quote}\r\n"
        ):
            raise InvalidSetting(rf"--delimiter {declared!r} is not one character of ASCII; a tab is \t")
        try:
            "".encode(self.encoding)
        except LookupError:
            raise InvalidSetting(f"--encoding {self.encoding!r} is not known; give utf8, latin1 or gb18030") from None

    def of(self, file: Path) -> "CsvForm":
        """The form of one file, with its delimiter."""
        usual = _TAB if file.name.endswith((".tsv", ".tsv.gz")) else _COMMA
        declared = self.delimiter or usual
        return replace(self, delimiter=_TAB if declared == _SPELLED_TAB else declared)


@dataclass(frozen=True, slots=True)
class Copy:
    """A full copy of a table: its origin, the digest of that, and its rows in an order that never changes.

    `types` are the gold types of its columns, None if its values are text that the table's own types read. `behind`
    gives the rows after a given row, named by its JSON, if they can be found without reading the rows before.
    """

    origin: str
    digest: str
    types: Mapping[str, GoldType | None]
    batches: Callable[[], Iterator[pa.RecordBatch]]
    behind: Callable[[Mapping[str, object]], Iterator[pa.RecordBatch]] | None = None


def open_copy(origin: str, form: CsvForm) -> Copy:
    """Open a copy: a file or a folder of files of Parquet or CSV, or the metadata of an Iceberg table.

    InvalidSetting for a column of a type that no gold column has; NotFound if there is nothing.
    """
    path = Path(origin).expanduser()
    with _reading(origin):
        if path.name.endswith(".metadata.json"):
            return _iceberg(path)
        files = _files(path)
        if not files or not all(file.exists() for file in files):
            raise NotFound(f"{origin} holds no files", path=origin)
        kinds = {_kind_of(file) for file in files}
        if len(kinds) > 1:
            raise InvalidSetting(f"{origin} holds files of several kinds; give a folder with one kind")
        copy = _parquet(origin, files) if kinds == {"parquet"} else _csv(origin, files, form)
        if path.is_dir():
            _check_folders(path, files, copy)
        return copy


def _files(path: Path) -> list[Path]:
    """The files of a copy, without names that begin with `_` or `.`: markers and leftovers of folder writers."""
    if not path.is_dir():
        return [path]
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return [file for file in found if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)]


def _check_folders(path: Path, files: list[Path], copy: Copy) -> None:
    """InvalidSetting for a folder `name=value` with a column that the files do not have."""
    known = {name.lower() for name in copy.types}
    for folder in dict.fromkeys(part for file in files for part in file.relative_to(path).parts[:-1]):
        name, is_column, _ = folder.partition("=")
        if is_column and name.lower() not in known:
            raise InvalidSetting(
                f"column {name!r} is only in the name of the folder {folder}; write it into the files of the folder too"
            )


@contextmanager
def _reading(what: object, hint: str = "") -> Iterator[None]:
    """Report errors while a copy is read as failures of the copy, with its name."""
    try:
        yield
    except DamagedFile as error:
        reason = without_remedy(error)
        if str(what).endswith(".json"):
            reason = "it is not the metadata of an Iceberg table; give the newest file of the table's folder `metadata`"
        raise EnvironmentFault(f"{what} cannot be read: {reason}", path=str(what)) from error
    except (OSError, pa.ArrowInvalid, UnicodeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise EnvironmentFault(f"{what} cannot be read: {reason}{hint}", path=str(what)) from error


def _kind_of(file: Path) -> CopyKind:
    if file.suffix == ".parquet":
        return "parquet"
    if file.name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        return "csv"
    raise InvalidSetting(f"{file} is not a readable copy; give .parquet, .csv, .tsv or Iceberg's .metadata.json")


def _parquet(origin: str, files: list[Path]) -> Copy:
    schema = pq.read_schema(files[0])
    for file in files:
        if not pq.read_schema(file).equals(schema):
            raise InvalidSetting(f"{file} has other columns than {files[0]}")
    declared = {field.name: _declared_type(field) for field in schema}

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            with _reading(file):
                for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH):
                    yield _cast(batch, declared)

    return Copy(origin, _digest(files), {name: kind for name, (_, kind) in declared.items()}, batches)


def _csv(origin: str, files: list[Path], form: CsvForm) -> Copy:
    """Rows of CSV, all values as text; the first line of each file names the columns."""
    forms = {file: form.of(file) for file in files}
    names = [_header(file, mine) for file, mine in forms.items()]
    if any(each != names[0] for each in names):
        raise InvalidSetting(f"the files of {origin} have different columns")

    def batches() -> Iterator[pa.RecordBatch]:
        for file, mine in forms.items():
            convert = csv.ConvertOptions(
                column_types=dict.fromkeys(names[0], pa.string()),
                null_values=[mine.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            )
            with _reading(file, _HINT), csv.open_csv(file, *_options(mine), convert) as reader:
                yield from reader

    # Another reading of the same files is another copy; the usual reading adds nothing to the digest.
    unusual = sorted({repr(mine) for mine in forms.values()} - {repr(CsvForm(_COMMA))})
    return Copy(origin, _digest(files, unusual), dict.fromkeys(names[0]), batches)


def _options(form: CsvForm) -> tuple[csv.ReadOptions, csv.ParseOptions]:
    parse = csv.ParseOptions(delimiter=form.delimiter, quote_char=form.quote, newlines_in_values=True)
    return csv.ReadOptions(encoding=form.encoding, block_size=_BLOCK), parse


def _header(file: Path, form: CsvForm) -> list[str]:
    with _reading(file, _HINT), csv.open_csv(file, *_options(form)) as reader:
        names: list[str] = reader.schema.names
        return names


def _iceberg(path: Path) -> Copy:
    """The rows of an Iceberg table at its metadata file."""
    table = StaticTable.from_metadata(str(path))
    names = [field.name for field in table.schema().fields if not field.name.startswith(_OWN)]
    wanted = table.schema().select(*names)
    schema = wanted.as_arrow()
    declared = {field.name: _declared_type(field) for field in schema}
    tasks = sorted(table.scan().plan_files(), key=lambda task: task.file.file_path)
    digest = hashlib.sha256("\n".join(task.file.file_path for task in tasks).encode()).hexdigest()[:16]

    def batches() -> Iterator[pa.RecordBatch]:
        for task in tasks:
            scan = ArrowScan(table.metadata, table.io, wanted, AlwaysTrue())
            with _reading(task.file.file_path):
                for batch in scan.to_record_batches([task]):
                    yield _cast(batch, declared)

    return Copy(str(path), digest, {name: kind for name, (_, kind) in declared.items()}, batches)


def _cast(batch: pa.RecordBatch, declared: Mapping[str, tuple[pa.DataType, GoldType]]) -> pa.RecordBatch:
    """The batch in gold's types; InvalidSetting names a column whose values do not fit exactly."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            columns.append(column.cast(declared[name][0]))
        except pa.ArrowInvalid as error:
            raise InvalidSetting(f"column {name!r} does not fit {declared[name][1]} exactly: {error}") from error
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _declared_type(field: pa.Field) -> tuple[pa.DataType, GoldType]:
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
    raise InvalidSetting(f"column {field.name!r} has the type {kind}, which gold does not have; leave the column out")


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


def _digest(files: list[Path], declared: Sequence[str] = ()) -> str:
    """Digest the files, their lengths and the other parameters: another copy has another digest."""
    facts = [f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    return hashlib.sha256("\n".join([*facts, *declared]).encode()).hexdigest()[:16]
