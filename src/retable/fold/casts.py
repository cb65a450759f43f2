"""Convert the values of a column after a statement changed the column's type.

If the new type holds every value of the old type, values are carried over. Otherwise each value is cast as the source
database casts it. The result is the same value if it fits, or the number to which MySQL rounds it. If it is not known
what the source made of a value, the cast returns Inexact. If a row with such a value existed when the type changed,
Retable holds the table (stops it there). Rows that were deleted before do not count (exactness.py).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from retable.ddl.dialect import ColumnCasts
from retable.ddl.registry import find_dialect, storer
from retable.ddl.type_text import read_type_text
from retable.errors import BadValue, ZeroDate
from retable.formats.reading import Value, ValueRules, default_reader
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Fill
from retable.values.number_text import as_float, fit_decimal, fit_double, fit_float, fit_whole, float_text
from retable.values.time_text import MICROS_PER_DAY, clock_text, day_text

_TEXTS = frozenset(
    {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "varchar2", "nvarchar2", "nchar", "nvarchar"}
    | {"clob", "nclob", "ntext", "long"}
)
_SPELLED = frozenset({"enum", "set", "time", "json", "uuid", "uniqueidentifier"})
_LABELLED = frozenset({"enum", "set"})
_NUMBERS = ("int", "long", "decimal", "float", "double", "boolean")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?\Z")
_TICK_MICROS = 10_000
"""SQL Server's DATETIME counts in 1/300 s. A multiple of 10 ms is exact in DATETIME and in every other time type."""
_MOST_DIGITS = 80
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e15
"""MySQL writes a double between these limits without an exponent."""

Conversion = Callable[[Any], Value]


@dataclass(frozen=True, slots=True)
class Inexact:
    """The result of a cast if it is not known what the source made of `value` when a column changed its type.

    `column` is the column's name, and `became` its new type. `at` is the position of the statement that changed it.
    """

    at: Sequence
    column: str
    value: str
    became: str

    def __str__(self) -> str:
        return (
            f"it is not known to which value the source converted {self.value} when the type of column "
            f"{self.column!r} became {self.became}"
        )


Cast = Callable[[Any], object]


def is_carried(old: Column, new: Column) -> bool:
    """Return whether older values of a column must be read with its old type, and then converted to its new type.

    `old` and `new` are the column before and after its type changed. Some values are valid for the old type only, such
    as `true` for a TINYINT(1) column that is now a BIGINT. If the result is False, read older values with the new type.
    """
    became_text = new.text_since is not None and old.text_since is None
    return became_text or old.type.rewrites_to(new.type) or (old.type.kind, new.type.kind) == ("int", "long")


def carrier(old: GoldType, new: GoldType) -> Cast:
    """Return a function that converts values of type `old` to type `new`, which holds them all.

    If Iceberg promotes the column itself, values stay as they are. None and Inexact always stay as they are.
    """
    if not old.rewrites_to(new):
        return unchanged
    match new.kind:
        case "string":
            convert: Conversion = "{:f}".format if old.kind == "decimal" else str
        case "timestamp":
            convert = MICROS_PER_DAY.__mul__
        case _:
            convert = fit_decimal(new.precision, new.scale)

    def carry(value: object) -> object:
        return value if value is None or isinstance(value, Inexact) else convert(value)

    return carry


def texter(column: Column, at: Sequence) -> Cast:
    """Return a function that converts the values of a column to their exact text.

    Bytes that are not UTF-8 become Inexact. `at` is the position of the statement that made the column text.
    """

    def as_text(value: object) -> object:
        if value is None or isinstance(value, Inexact):
            return value
        try:
            return _text(value, column)
        except UnicodeDecodeError:
            return Inexact(at, column.name, repr(value), "text")

    return as_text


def caster(fill: Fill, rules: ValueRules) -> Cast:
    """Return a function that casts values of an old column to the type of the column that replaced it.

    It casts as the source database does: MySQL rounds `1.5` to 2 for an INT column. If it is not known what the source
    makes of a value, the function returns Inexact. `fill` has the old column and the new type. `rules` name the
    database, and say how dates in text are read.
    """
    convert = _converter(fill, rules)
    store = storer(rules.system, fill.source_type or "")

    def cast(value: object) -> object:
        if value is None or isinstance(value, Inexact):
            return value
        try:
            return store(convert(value))
        except (ValueError, ArithmeticError, BadValue, ZeroDate):
            shown = repr(value) if isinstance(value, str | bytes) else _text(value, fill.of)
            return Inexact(fill.at, fill.of.name, shown, fill.source_type or str(fill.type))

    return cast


def filler(fill: Fill, rules: ValueRules) -> Cast:
    """Return a function that converts the values of a column to values of the column that replaced it.

    `fill` has the old column and the new type. If the new type holds all old values (`fill.keeps`), each value stays
    the same. Otherwise the function casts as the source database does, and returns Inexact if it is not known what the
    source makes of a value. `rules` name the database.
    """
    return carrier(fill.of.type, fill.type) if fill.keeps else caster(fill, rules)


def changer(old: Column, new: Column) -> Cast:
    """Return a function that converts values of `old` to values of `new`, a later version of the same column.

    If the column became text in gold between the two versions, it returns the exact text of a value. If values need no
    conversion, the result is the function `unchanged`.
    """
    if new.text_since is None or old.text_since is not None:
        return carrier(old.type, new.type)
    if old.type.rewrites_to(new.type):
        return carrier(old.type, new.type)
    return texter(old, new.text_since)


def unchanged(value: Any) -> Value:
    """Return the value as it is. Other modules compare a conversion with this function, to see that there is none."""
    return value  # type: ignore[no-any-return]  # a value of gold, whatever its type


def _refuse(_: Any) -> Value:
    raise ValueError("it is not known to which value the source converts the value")


def _base(source_type: str | None) -> str:
    return read_type_text(source_type or "").name.split(" ")[0]


def _converter(fill: Fill, rules: ValueRules) -> Conversion:
    old, new, was, becomes = fill.of.type, fill.type, _base(fill.of.source_type), _base(fill.source_type)
    casts = find_dialect(rules.system).casts
    if new.kind == "string":
        return _to_text(fill.of, was, becomes, casts)
    if old.kind == "string" and (was not in _TEXTS or becomes in casts.not_of_text):
        return _refuse
    if was in casts.ticks and old.kind == new.kind:
        return _whole_ticks
    if old.kind == new.kind and old.kind not in _NUMBERS:
        return unchanged
    match old.kind, new.kind:
        case "string", "date" | "timestamp":
            return default_reader(fill.source_type or "", new, rules)
        case "string", kind if kind in _NUMBERS and kind != "boolean":
            return _through(_number_of_text, _fitting(new))
        case "decimal", "int" | "long" | "decimal" if casts.rounds_half_away:
            return _through(_rounded(new.scale), _fitting(new))
        case "float" | "double", "decimal" if new.precision > (casts.double_digits or new.precision):
            return _refuse
        case kind, other if kind in _NUMBERS and other in _NUMBERS:
            return _through(_number, _fitting(new))
        case "date", "timestamp":
            return MICROS_PER_DAY.__mul__
        case "timestamp", "date":
            return _day_of
        case "string", "binary":
            return _ascii_bytes
    return _refuse


def _to_text(of: Column, was: str, becomes: str, casts: ColumnCasts) -> Conversion:
    """Return a function that converts a value to the text that the source shows.

    Numbers and times are converted only if all servers write them in the same way.
    """
    if becomes not in _TEXTS and not (becomes in _LABELLED and was in _TEXTS | _LABELLED) and becomes != was:
        return _refuse
    if was == "bit" or "zerofill" in (of.source_type or "").lower():
        return _refuse
    plain = casts.plain_text_of
    if plain is not None and was not in _TEXTS | plain | {becomes}:
        return _refuse
    match of.type.kind:
        case "string":
            return unchanged if was in _TEXTS | _SPELLED else _refuse
        case "int" if was == "year":
            return "{:04}".format
        case "int" | "long" | "decimal" | "date":
            return _text_of(of)
        case "float" | "double" if read_type_text(of.source_type or "").arguments:
            return _refuse
        case "float":
            return _through(_six_digits, _text_of(of))
        case "double":
            return _through(_plain, _text_of(of))
        case "timestamp" if was == "datetime":
            return _text_of(of)
        case "binary":
            return _ascii_text
    return _refuse


def _fitting(kind: GoldType) -> Conversion:
    match kind.kind:
        case "int":
            return fit_whole(-(2**31), 2**31 - 1)
        case "long":
            return fit_whole(-(2**63), 2**63 - 1)
        case "decimal":
            return fit_decimal(kind.precision, kind.scale)
        case "float":
            return fit_float
        case "double":
            return fit_double
    return _truth


def _through(first: Callable[[Any], Any], then: Conversion) -> Conversion:
    return lambda value: then(first(value))


def _number(value: Any) -> Decimal:
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _rounded(scale: int) -> Callable[[Decimal], Decimal]:
    unit, digits = Decimal(1).scaleb(-scale), Context(_MOST_DIGITS)
    return lambda number: number.quantize(unit, ROUND_HALF_UP, digits)


def _number_of_text(text: str) -> Decimal:
    if not _NUMBER.match(text):
        raise ValueError("the text is not a plain number such as -12.5")
    return Decimal(text)


def _truth(number: Decimal) -> bool:
    if number not in (0, 1):
        raise ValueError("the number is neither 0 nor 1, and a boolean column takes only these")
    return bool(number)


def _day_of(micros: int) -> int:
    day, rest = divmod(micros, MICROS_PER_DAY)
    if rest:
        raise ValueError("the value has a time of day, which a date cannot hold")
    return day


def _whole_ticks(micros: int) -> int:
    if micros % _TICK_MICROS:
        raise ValueError("the time is not a multiple of 10 ms, so its digits in the new type are not known")
    return micros


def _ascii_bytes(text: str) -> bytes:
    return text.encode("ascii")


def _ascii_text(value: bytes) -> str:
    return value.decode("ascii")


def _plain(number: float) -> float:
    if number and not _PLAIN_FROM <= abs(number) < _PLAIN_BELOW:
        raise ValueError("the number needs an exponent as text, which servers write in different ways")
    return number


def _six_digits(number: float) -> float:
    """Accept a FLOAT only if the six digits that MySQL writes are its whole value."""
    if as_float(float(f"{_plain(number):.6g}")) != number:
        raise ValueError("the source writes this float with fewer digits than it stores")
    return number


def _text_of(column: Column) -> Conversion:
    return lambda value: _text(value, column)


def _text(value: Any, column: Column) -> str:
    """Return a value as text: decimals without an exponent, and times as a wall clock shows them."""
    match column.type.kind:
        case "boolean":
            return str(int(value))
        case "decimal":
            return f"{value:f}"
        case "float" | "double":
            text = float_text(value) if column.type.kind == "float" else repr(value)
            return text.removesuffix(".0")
        case "date":
            return day_text(value)
        case "timestamp":
            return _clock(value, column.source_type)
        case "timestamptz":
            return f"{clock_text(value)}Z"
        case "binary":
            return str(value, "utf-8")
    return str(value)


def _clock(micros: int, source_type: str | None) -> str:
    """Return a wall clock time with as many fractional digits as the column declares, otherwise with all digits."""
    digits = read_type_text(source_type or "").lengths
    second = clock_text(micros - micros % 1_000_000)
    fraction = f"{micros % 1_000_000:06}"
    shown = fraction[: digits[0]] if digits else fraction.rstrip("0")
    return f"{second}.{shown}" if shown else second
