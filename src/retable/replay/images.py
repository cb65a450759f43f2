"""Row images of any epoch to rows of the final schema: by column identity, never by today's name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from retable.decode.number_text import fit_decimal
from retable.decode.values import Value, ValueRules, default_reader, read_image, value_reader
from retable.errors import BadValue, KeyUnknown, OrderUndefined, UnsupportedChange
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.fold import ABSENT, Key, Read, RowEvent, Values
from retable.replay.history import AppliedChange, Column, Epoch, TableHistory
from retable.replay.traced import ImplicitColumn

_MOST_PLANS = 4096
_MICROS_PER_DAY = 86_400_000_000

_Types = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    """How one column of the final schema is read: from `name` of the image, or the default of older rows."""

    name: str | None
    read: Callable[[str | None], Value]
    default: Value


@dataclass(slots=True)
class TableReader:
    """Reads the row events of one table.

    `keys` are source column names of the final schema; empty = the table has no key and whole rows stand for it.
    """

    history: TableHistory
    keys: tuple[str, ...]
    source_format: str
    rules: ValueRules
    defaults: dict[str, Value] = field(default_factory=dict)
    key_columns: list[int] = field(default_factory=list)
    _plans: dict[tuple[Sequence | None, _Types], list[_Cell]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key_columns = key_columns(self.history, self.keys)
        for column in self.history.final.columns:
            self.defaults[column.id] = default_value(column, self.rules)

    def read(self, event: RowEvent) -> Read:
        """What the event does. MessageError rejects this row, TableError holds the table here."""
        self._check_order(event)
        after = None
        if event.op != "DELETE" and event.half != "before":
            after = self._row(event, event.after, event.partial)
        if not self.keys:
            return self._read_whole(event, after)
        if after is None:
            return Read(self._key(self._row(event, event.before)), None, None)
        if event.op != "UPDATE" or event.half is not None or event.before is None:
            return Read(None, self._key(after), after)
        before = self._row(event, event.before, partial=True)
        after = tuple(
            before[at] if value is ABSENT and at in self.key_columns else value for at, value in enumerate(after)
        )
        key, old = self._key(after), self.key_of(before)
        return Read(old if old != key and ABSENT not in old else None, key, after)

    def _read_whole(self, event: RowEvent, after: Values | None) -> Read:
        """What an event does to a table without a key, where whole rows stand for themselves."""
        if after is not None and ABSENT in after:
            raise KeyUnknown("an update tells only some columns, and the table has no key by which to find its row")
        comes_alone = event.op in ("INSERT", "READ") or event.half == "after"
        return Read(None if comes_alone else self._row(event, event.before), None, after)

    def key_of(self, row: Values) -> Key:
        """The key's values of a row of the final schema."""
        return tuple(row[index] for index in self.key_columns)

    def _key(self, row: Values) -> Key:
        key = self.key_of(row)
        if None in key:
            raise BadValue(f"key column {self.keys[key.index(None)]!r} is null")
        if ABSENT in key:
            raise BadValue(f"key column {self.keys[key.index(ABSENT)]!r} is not in the row image")
        return key

    def _check_order(self, event: RowEvent) -> None:
        clash = ordering_clash(self.history.changes, event.part, event.sequence.epoch)
        if clash is not None:
            raise OrderUndefined(
                f"a row of partition {event.part} and a statement of partition {clash.part} at {clash.position}:"
                f" nothing tells which came first ({clash.statement[:200]})"
            )

    def _row(self, event: RowEvent, image: str | None, partial: bool = False) -> Values:
        """Read an image; a column that it leaves out is null, or, in a partial one, absent."""
        if image is None:
            raise BadValue(f"{event.op} without the row image that it needs")
        lexemes = read_image(image)
        types: _Types = tuple(event.types.items()) if event.types is not None else tuple((n, None) for n in lexemes)
        epoch = self.history.epoch_of(event.sequence)
        plan = self._plans.get((epoch.start, types))
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[(epoch.start, types)] = self._compile(epoch, types)
        row: list[object] = []
        for cell in plan:
            if partial and cell.name not in lexemes:
                row.append(ABSENT)
                continue
            try:
                row.append(cell.default if cell.name is None else cell.read(lexemes.get(cell.name)))
            except BadValue as error:
                raise BadValue(f"column {cell.name!r}: {error.message}", **error.facts) from error
        return tuple(row)

    def _compile(self, epoch: Epoch, types: _Types) -> list[_Cell]:
        known = {name: epoch.column(name) for name, _ in types}
        strange = [name for name, column in known.items() if column is None]
        if strange:
            raise BadValue(f"column {strange[0]!r} is not one of {self.history.name}")
        wire = {column.id: (name, dict(types)[name]) for name, column in known.items() if column is not None}
        then = {column.id: column for column in epoch.columns}
        cells = []
        for column in self.history.final.columns:
            name, wire_type = wire.get(column.id, (None, None))
            default = None if column.id in then else self.defaults[column.id]
            was = then.get(column.id, column)
            kind = was.type if _is_read_as_then(was.type, column.type) else column.type
            declared = was.source_type or column.source_type
            reader = value_reader(self.source_format, wire_type, kind, self.rules, declared)
            cells.append(_Cell(name, _rewritten(reader, kind, column.type), default))
        return cells


def _is_read_as_then(old: GoldType, new: GoldType) -> bool:
    """Say whether a value is read as the type that its column had, and then made one of the type that it has now.

    A wire form may fit the old one only, as `true` does of a TINYINT(1) that is a BIGINT by now.
    """
    return old.rewrites_to(new) or (old.kind, new.kind) == ("int", "long")


def _rewritten(read: Callable[[str | None], Value], old: GoldType, new: GoldType) -> Callable[[str | None], Value]:
    """Read values of the type that a column had as those of the type that it has now."""
    if not old.rewrites_to(new):
        return read
    match new.kind:
        case "string":
            convert: Callable[[Any], Value] = "{:f}".format if old.kind == "decimal" else str
        case "timestamp":
            convert = _MICROS_PER_DAY.__mul__
        case _:
            convert = fit_decimal(new.precision, new.scale)

    def read_anew(lexeme: str | None) -> Value:
        value = read(lexeme)
        return None if value is None else convert(value)

    return read_anew


def key_columns(history: TableHistory, keys: tuple[str, ...]) -> list[int]:
    """Where the key's columns stand in the final schema; KeyUnknown when one is not there."""
    names = [column.name.lower() for column in history.final.columns]
    missing = [key for key in keys if key.lower() not in names]
    if missing:
        raise KeyUnknown(f"key column {missing[0]!r} is not a column of {history.name}")
    return [names.index(key.lower()) for key in keys]


def default_value(column: Column, rules: ValueRules) -> Value:
    """What rows older than the column show; UnsupportedChange or ZeroDate where the column cannot hold that."""
    if column.default is None:
        return None
    try:
        told = column.born or column
        read = default_reader(told.source_type or "", told.type, rules)
        return _rewritten(read, told.type, column.type)(column.default)
    except BadValue as error:
        raise UnsupportedChange(f"the default of column {column.name!r}: {error.message}") from error


def ordering_clash(changes: Iterable[AppliedChange], part: str | None, epoch: int) -> AppliedChange | None:
    """The first change that orders rows but came in another partition of the source epoch: nothing orders the two."""
    return next((c for c in changes if c.orders_rows and c.part != part and c.position.epoch == epoch), None)


def strange_columns(
    events: Iterable[RowEvent], history: TableHistory, type_of: Callable[[str, str | None], tuple[str | None, GoldType]]
) -> list[ImplicitColumn]:
    """The columns that images bring though no statement told of them, each once, at the start of its epoch.

    `type_of` gives the source type, where messages tell one, and the gold type for a column and its wire type.
    """
    found: dict[tuple[Sequence | None, str], ImplicitColumn] = {}
    seen: set[tuple[Sequence | None, tuple[str, ...]]] = set()
    for event in events:
        epoch = history.epoch_of(event.sequence)
        types = event.types or dict.fromkeys(read_image(event.after or event.before or "{}"))
        if (epoch.start, tuple(types)) in seen:
            continue
        seen.add((epoch.start, tuple(types)))
        for name, wire in types.items():
            place = (epoch.start, name.lower())
            if epoch.column(name) is None and place not in found:
                found[place] = ImplicitColumn(history.identity, epoch.start, name, *type_of(name, wire))
    return list(found.values())
