"""Read one column of the final schema from a row image of any epoch (period between two schema changes)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from retable.errors import BadValue, InexactCast, UnsupportedChange
from retable.fold.casts import Inexact, changer, filler, is_carried, unchanged
from retable.formats.reading import Value, ValueRules, default_reader, number_reader, value_reader
from retable.schema_history.history import Column

Wire = Mapping[str, tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Cell:
    """How the value of one column of the final schema is read from a row image.

    `read` converts the raw value of the image's field `name`. If `name` is None, the image does not have the column,
    and the value is `default`. An image can lack the column even if it arrives after the statement that added it,
    because the message can be a redelivery. `number`, if it is not None, is used instead of `read` for JSON numbers.
    """

    name: str | None
    read: Callable[[str | None], object]
    default: object
    number: Callable[[str | None], object] | None = None


@dataclass(frozen=True, slots=True)
class Cells:
    """Makes the cells (one for each column) with which row images of one epoch are read.

    `then` has the columns of the epoch. `wire` has the name and type that columns have in the image. The keys of both
    are column identities (an identity is an ID that a rename does not change).
    """

    source_format: str
    rules: ValueRules
    then: Mapping[str, Column]
    wire: Wire

    def cell(self, column: Column) -> Cell:
        """Return the cell of a column of the final schema.

        If the column is newer than the epoch and replaced another column, the cell reads that other column.
        """
        was = self.then.get(column.id)
        if was is None and column.fill is not None:
            return self._filled(self.cell(column.fill.of), column)
        origin = column if was is None else was
        name, wire_type = self.wire.get(self._shown(origin), (None, None))
        change = changer(origin, column)
        kind = origin.type if is_carried(origin, column) else column.type
        how = (self.source_format, wire_type, kind, self.rules, origin.source_type or column.source_type)
        read, number = value_reader(*how), number_reader(*how)
        shows = name is None and (was is None or was.retained is None)
        default = default_value(column, self.rules) if shows else None
        if change is unchanged:
            return Cell(name, read, default, number)
        return Cell(name, _then(change, read), default, number and _then(change, number))

    @staticmethod
    def _shown(column: Column) -> str:
        follows = column.retained and column.retained.follows
        return follows or column.id

    def _filled(self, cell: Cell, column: Column) -> Cell:
        fill = column.fill
        assert fill is not None, "only a column that replaced another column is filled"
        cast, change = filler(fill, self.rules), changer(filled(column), column)
        number = cell.number and _then(change, _then(cast, cell.number))
        return Cell(cell.name, _then(change, _then(cast, cell.read)), change(cast(cell.default)), number)


def _then(change: Callable[[object], object], read: Callable[[str | None], object]) -> Callable[[str | None], object]:
    return lambda raw_value: change(read(raw_value))


def filled(column: Column) -> Column:
    """Return a copy of a column, with the type that it had at the statement by which it replaced another column.

    A later statement may have changed its type again.
    """
    fill = column.fill
    assert fill is not None, "only a column that replaced another column is filled"
    return Column(id=column.id, name=column.name, source_type=fill.source_type, type=fill.type)


def default_of(column: Column, rules: ValueRules) -> Value:
    """Return the value that a column shows in rows that are older than the column: its converted default.

    `rules` name the database, and say how dates in text are read. Raise InexactCast if it is not known to which value
    the source converted the default when the type changed. Raise UnsupportedChange or ZeroDate if the column cannot
    hold the default.
    """
    value = default_value(column, rules)
    if isinstance(value, Inexact):
        raise InexactCast(f"the default value: {value}", at=value.at)
    return value  # type: ignore[return-value]  # whatever else it is, it is a value of gold


def default_value(column: Column, rules: ValueRules) -> object:
    """Return the value that a column shows in rows that are older than the column, or Inexact.

    It is Inexact if it is not known to which value the source converted the default when the type changed. `rules` name
    the database, and say how dates in text are read. Raise ZeroDate if the default is a date such as `0000-00-00`, and
    UnsupportedChange if the column cannot hold the default for another reason.
    """
    if column.fill is not None:
        return changer(filled(column), column)(filler(column.fill, rules)(default_value(column.fill.of, rules)))
    if column.default is None:
        return None
    try:
        origin = column.born or column
        read = default_reader(origin.source_type or "", origin.type, rules)
        return changer(origin, column)(read(column.default))
    except BadValue as error:
        raise UnsupportedChange(f"the default of column {column.name!r}: {error.message}") from error
