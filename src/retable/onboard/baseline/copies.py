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
"""The number of bytes of CSV that are read at once. A row cannot be longer."""

_COMMA, _TAB = ",", "\t"
_SPELLED_TAB = r"\t"
_WHOLE: dict[pa.DataType, tuple[pa.DataType, GoldType]] = {
    **dict.fromkeys((pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16()), (pa.int32(), GoldType("int"))),
    **dict.fromkeys((pa.int64(), pa.uint32()), (pa.int64(), GoldType("long"))),
    pa.uint64(): (pa.decimal128(20, 0), GoldType("decimal", 20, 0)),
}
_WIDEST = 38
_OWN = "_retable_"
"""The prefix of Retable's own columns. If the copy is a gold table, these columns are left out."""

_HINT = "; correct that row, or say how the file is written: --delimiter, --encoding"


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How a CSV file is written. A value outside quotes that equals the text `null` is read as null.

    If `delimiter` is None, it is a tab for .tsv files and a comma for all other files. The two characters `\\t` mean a
    tab. InvalidSetting if the delimiter is not one ASCII character, is a quote or line end, or if Python does not know
    the encoding.
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
            raise InvalidSetting(
                rf"--delimiter {declared!r} is not a valid delimiter; give one ASCII character that is not a quote or "
                r"line end; write a tab as \t"
            )
        try:
            "".encode(self.encoding)
        except LookupError:
            raise InvalidSetting(f"--encoding {self.encoding!r} is not known; give utf8, latin1 or gb18030") from None

    def of(self, file: Path) -> "CsvForm":
        """Return the form for `file`, with `delimiter` set to the character that this file uses."""
        usual = _TAB if file.name.endswith((".tsv", ".tsv.gz")) else _COMMA
        declared = self.delimiter or usual
        return replace(self, delimiter=_TAB if declared == _SPELLED_TAB else declared)


@dataclass(frozen=True, slots=True)
class Copy:
    """A full copy of a table, to read in batches. Calling `batches` yields the rows, always in the same order.

    `origin` is the path or address of the copy, and `digest` identifies its contents. `types` has the gold type of each
    column. A type is None if the values are text, which is then read with the type of the gold table's column.
    Calling `behind` with a row (its columns and values) yields only the rows after that row. `behind` is None if the
    copy can only be read from its beginning.
    """

    origin: str
    digest: str
    types: Mapping[str, GoldType | None]
    batches: Callable[[], Iterator[pa.RecordBatch]]
    behind: Callable[[Mapping[str, object]], Iterator[pa.RecordBatch]] | None = None


def open_copy(origin: str, form: CsvForm) -> Copy:
    """Open a full copy: a Parquet or CSV file, a folder of such files, or the metadata file of an Iceberg table.

    `form` says how CSV files are written. NotFound if there is no file. InvalidSetting if the files differ in kind or
    columns, or if a column has a type that no gold column can have. EnvironmentFault if a file cannot be read.
    """
    path = Path(origin).expanduser()
    with _reading(origin):
        if path.name.endswith(".metadata.json"):
            return _iceberg(path)
        files = _files(path)
        if not files or not all(file.exists() for file in files):
            raise NotFound(
                f"there are no files at {origin}; give a Parquet or CSV file, a folder of such files, or Iceberg's "
                f".metadata.json",
                path=origin,
            )
        kinds = {_kind_of(file) for file in files}
        if len(kinds) > 1:
            raise InvalidSetting(
                f"{origin} holds files of several kinds; give a folder with only Parquet files or only CSV files"
            )
        copy = _parquet(origin, files) if kinds == {"parquet"} else _csv(origin, files, form)
        if path.is_dir():
            _check_folders(path, files, copy)
        return copy


def _files(path: Path) -> list[Path]:
    """Return the files of a copy. Names that begin with `_` or `.` are left out: Spark writes such marker files."""
    if not path.is_dir():
        return [path]
    found = (file for file in sorted(path.rglob("*")) if file.is_file())
    return [file for file in found if not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)]


def _check_folders(path: Path, files: list[Path], copy: Copy) -> None:
    """Raise InvalidSetting if a folder is named `column=value` and the files do not have this column."""
    known = {name.lower() for name in copy.types}
    for folder in dict.fromkeys(part for file in files for part in file.relative_to(path).parts[:-1]):
        name, is_column, _ = folder.partition("=")
        if is_column and name.lower() not in known:
            raise InvalidSetting(
                f"column {name!r} is only in the name of the folder {folder}; write it into the files of the folder too"
            )


@contextmanager
def _reading(what: object, hint: str = "") -> Iterator[None]:
    """Turn errors of reading into EnvironmentFault. `what` is the name of the copy or file; `hint` ends the error."""
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
            raise InvalidSetting(
                f"{file} and {files[0]} have different columns or types; all files of a copy must have the same"
            )
    declared = {field.name: _declared_type(field) for field in schema}

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            with _reading(file):
                for batch in pq.ParquetFile(file).iter_batches(batch_size=_BATCH):
                    yield _cast(batch, declared)

    return Copy(origin, _digest(files), {name: kind for name, (_, kind) in declared.items()}, batches)


def _csv(origin: str, files: list[Path], form: CsvForm) -> Copy:
    """Open CSV files. All values are text; the first line of each file names the columns."""
    forms = {file: form.of(file) for file in files}
    names = [_header(file, mine) for file, mine in forms.items()]
    if any(each != names[0] for each in names):
        raise InvalidSetting(
            f"the files of {origin} have different columns in their first lines; all files must have the same"
        )

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

    # The same files read with another form are another copy; the default form adds nothing to the digest.
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
    """Open the current snapshot of an Iceberg table's metadata file."""
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
    """Return the batch in gold's types. InvalidSetting names a column whose values would change."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            columns.append(column.cast(declared[name][0]))
        except pa.ArrowInvalid as error:
            raise InvalidSetting(
                f"column {name!r} of the copy has a value that gold's type {declared[name][1]} cannot hold exactly: "
                f"{error}"
            ) from error
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _declared_type(field: pa.Field) -> tuple[pa.DataType, GoldType]:
    """Return the Arrow type to which a column is cast, and its gold type. InvalidSetting if there is none."""
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
    raise InvalidSetting(
        f"column {field.name!r} of the copy has the type {kind}, which no gold column can have; write the copy without "
        f"this column"
    )


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
    """Return a digest of the files' names, sizes and times, and of `declared`. Another copy has another digest."""
    facts = [f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    return hashlib.sha256("\n".join([*facts, *declared]).encode()).hexdigest()[:16]
