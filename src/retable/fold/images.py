"""Convert row images of any epoch (period between two schema changes) to rows of the final schema.

Columns are matched by identity, which stays the same when a column is renamed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial as partial_of

from retable.errors import BadValue, KeyUnknown, MessageError, NameClash, OrderUndefined, TableError
from retable.fold.casts import changer, unchanged
from retable.fold.cells import Cell, Cells, default_of
from retable.fold.fold import ABSENT, Key, RowAction, Values
from retable.formats.image_text import numbers_in
from retable.formats.reading import Value, ValueRules, number_reader, read_image
from retable.model.row_event import RowEvent
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.history import AppliedChange, Column, Epoch, TableHistory
from retable.schema_history.shards.parts import SHARD_ID
from retable.schema_history.traced import InferredColumn
from retable.values.baseline_encoding import baseline_type, is_baseline

_MOST_PLANS = 4096

_Types = tuple[tuple[str, str | None], ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the columns of images with the same epoch and types are read.

    `has_numbers` is True if some cells read JSON numbers differently from texts.
    """

    cells: list[Cell]
    has_numbers: bool


@dataclass(slots=True, kw_only=True)
class TableReader:
    """Reads the row events of one table as rows of its final schema.

    - `keys`: the source names of the key columns in the final schema. If it is empty, the table has no key, and whole
      rows are compared.
    - `source_format`, `rules`: the message format, and the settings by which its values are read.
    - `columns`: the columns of the result rows; by default those of the final schema.
    - `key_ids`: the identities of the key columns (IDs that a rename does not change). Required if `columns` is given.
    - `defaults`: filled by the reader. By column identity, the value of rows that are older than the column.
    - `key_columns`: filled by the reader. The indices of the key columns in a result row.
    """

    history: TableHistory
    keys: tuple[str, ...]
    source_format: str
    rules: ValueRules
    columns: tuple[Column, ...] = ()
    key_ids: tuple[str, ...] = ()
    defaults: dict[str, Value] = field(default_factory=dict)
    key_columns: list[int] = field(default_factory=list)
    _shards: "dict[str | None, TableReader]" = field(default_factory=dict)
    _plans: dict[tuple[Sequence | None, _Types], _Plan] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.columns:
            places = {column.id: at for at, column in enumerate(self.columns)}
            self.key_columns = [places[identity] for identity in self.key_ids]
        else:
            self.columns = self.history.final.columns
            self.key_columns = key_columns(self.history, self.keys)
        for column in self.columns:
            self.defaults[column.id] = default_of(column, self.rules)
        for shard in self.history.shards:
            key = tuple(shard.columns[at].id for at in self.key_columns)
            self._shards[shard.label] = TableReader(
                history=shard.history,
                keys=self.keys,
                source_format=self.source_format,
                rules=self.rules,
                columns=shard.columns,
                key_ids=key,
            )

    def read(self, event: RowEvent, keys_only: bool = False) -> RowAction:
        """Return what the event does to the table. `keys_only`: read only the columns of the key, if there is one.

        Raise MessageError if the row must go to quarantine, and TableError if the table must be held at this event.
        """
        if self._shards:
            return self._shards[event.shard].read(event, keys_only)
        self._check_order(event)
        after = None
        if event.op != "DELETE" and event.half != "before":
            after = self._row(event, event.after, event.partial, keys_only and bool(self.keys))
        if not self.keys:
            return self._read_whole(event, after)
        if after is None:
            gone = self._key(self._row(event, event.before, keys_only=True))
            return RowAction(gone, None, None, partial_of(self._leaving_row, event) if event.half is not None else None)
        if event.op != "UPDATE" or event.half is not None or event.before is None:
            return RowAction(None, self._key(after), after)
        before = self._row(event, event.before, partial=True, keys_only=True)
        after = tuple(
            before[at] if value is ABSENT and at in self.key_columns else value for at, value in enumerate(after)
        )
        key, old = self._key(after), self.key_of(before)
        if old == key or ABSENT in old:
            return RowAction(None, key, after)
        return RowAction(old, key, after, partial_of(self._leaving_row, event))

    def sides(self, event: RowEvent) -> tuple[Values | None, Values | None]:
        """Return the row before an event and the row after it, with this reader's columns.

        A row is None if the event has no such image. A column that the image does not have is ABSENT.
        """
        before = None if event.before is None else self._row(event, event.before, partial=True)
        goes = event.op == "DELETE" or event.after is None
        return before, None if goes else self._row(event, event.after, event.partial)

    def of(self, shard: str | None) -> "TableReader":
        """Return the reader for the rows of a shard (one of several source tables of one gold table).

        If the table has no shards, return this reader.
        """
        return self._shards[shard] if self._shards else self

    def image_names(
        self, types: Mapping[str, str | None], first: Sequence, last: Sequence
    ) -> dict[str, tuple[str, str | None]] | None:
        """Return the name and type in the message of each column, by column identity (an ID that a rename keeps).

        Return None if the rows with sequences from `first` to `last` are not plain. Plain rows can all be read in the
        same way, and their values need no conversion to the final schema. So these must be true:

        - All of the rows are of one epoch (period between two schema changes).
        - No column changed its type later, replaced another column, or was dropped.
        - No column is read in one way if its value is a JSON number, and in another way if its value is a text.

        `types` has the types in the message by column name. A type is None if the message does not name it.
        """
        epoch = self.history.epoch_of(first)
        if self.history.epoch_of(last) != epoch:
            return None
        wire = self.wire(epoch, types)
        then, is_last = {column.id: column for column in epoch.columns}, epoch == self.history.final
        for column in self.columns:
            was = then.get(column.id)
            if was is None:
                is_same = column.fill is None
            else:
                is_same = was.type == column.type and was.retained is None and (is_last or _is_read_alike(was, column))
            if not is_same:
                return None
            how = (self.source_format, wire.get(column.id, (None, ""))[1], column.type, self.rules, column.source_type)
            if number_reader(*how) is not None:
                return None
        return wire

    def _leaving_row(self, event: RowEvent) -> Values | None:
        """Return the old row of an update that changes the key; None if one of its columns cannot be read."""
        try:
            return self._row(event, event.before, partial=True)
        except (MessageError, TableError):
            return None

    def _read_whole(self, event: RowEvent, after: Values | None) -> RowAction:
        """Return what an event does to a table without a key. Whole rows are compared there."""
        if after is not None and ABSENT in after:
            raise KeyUnknown(
                "a change contains only some columns, and the table has no key to find its row; set `keys` for it"
            )
        comes_alone = event.op in ("INSERT", "READ") or event.half == "after"
        return RowAction(None if comes_alone else self._row(event, event.before), None, after)

    def key_of(self, row: Values) -> Key:
        """Return the values of the key columns of a row."""
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
                f"a row came in partition {event.part}, and a statement in partition {clash.part} at {clash.position}, "
                f"so it is not known which of the two is earlier; the statement is {clash.statement[:200]}"
            )

    def _row(self, event: RowEvent, image: str | None, partial: bool = False, keys_only: bool = False) -> Values:
        """Read a row image. A column that the image does not have is null or, if the image is `partial`, ABSENT.

        If `keys_only` is True, read only the key columns; all other columns are None.
        """
        if image is None:
            raise BadValue(f"the {event.op} event does not have the row image (before or after) that it needs")
        raw_values = read_image(image)
        types: _Types = tuple(event.types.items()) if event.types is not None else tuple((n, None) for n in raw_values)
        epoch = self.history.epoch_of(event.sequence)
        plan = self._plans.get((epoch.start, types))
        if plan is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            plan = self._plans[(epoch.start, types)] = self._compile(epoch, types)
        numbers = numbers_in(image) if plan.has_numbers else frozenset()
        row: list[object] = [None] * len(plan.cells)
        for at in self.key_columns if keys_only else range(len(row)):
            cell = plan.cells[at]
            if partial and cell.name not in raw_values and self.columns[at].id != SHARD_ID:
                row[at] = ABSENT
                continue
            try:
                read = cell.number if cell.number is not None and cell.name in numbers else cell.read
                row[at] = cell.default if cell.name is None else read(raw_values.get(cell.name))
            except BadValue as error:
                raise BadValue(f"column {cell.name!r}: {error.message}", **error.facts) from error
        return tuple(row)

    def _compile(self, epoch: Epoch, types: _Types) -> "_Plan":
        wire = self.wire(epoch, dict(types))
        cells = Cells(self.source_format, self.rules, {column.id: column for column in epoch.columns}, wire)
        found = [cells.cell(column) for column in self.columns]
        return _Plan(found, any(cell.number is not None for cell in found))

    def wire(self, epoch: Epoch, types: Mapping[str, str | None]) -> dict[str, tuple[str, str | None]]:
        """Return the name and type that columns have in the message, by column identity (an ID that a rename keeps).

        `types` has the types in the message by column name. A type is None if the message does not name it. Raise
        BadValue if the schema of the epoch lacks a column of `types`. Raise NameClash if two names in `types` differ
        only by case, because they mean the same column.
        """
        found: dict[str, tuple[str, str | None]] = {}
        for name, kind in types.items():
            column = epoch.column(name)
            if column is None:
                raise BadValue(
                    f"the row has a column {name!r}, which {self.history.name} does not have at this position"
                )
            if column.id in found:
                raise NameClash(
                    f"a row has the columns {found[column.id][0]!r} and {name!r}: the names differ only by case"
                )
            found[column.id] = name, kind
        return found


def _is_read_alike(was: Column, column: Column) -> bool:
    return was.source_type == column.source_type and changer(was, column) is unchanged


def key_columns(history: TableHistory, keys: tuple[str, ...]) -> list[int]:
    """Return the indices of the key columns in the final schema. Raise KeyUnknown if one of them is missing."""
    names = [column.name.lower() for column in history.final.columns]
    missing = [key for key in keys if key.lower() not in names]
    if missing:
        raise KeyUnknown(f"the key column {missing[0]!r} is not a column of {history.name}")
    return [names.index(key.lower()) for key in keys]


def ordering_clash(changes: Iterable[AppliedChange], part: str | None, epoch: int) -> AppliedChange | None:
    """Return the first of these schema changes whose order relative to some rows is not known, or None.

    The rows are of the source partition `part` and the source epoch `epoch`. The order is not known if the schema
    change came in another partition of the same source epoch.
    """
    return next((c for c in changes if c.orders_rows and c.part != part and c.position.epoch == epoch), None)


def undeclared_columns(
    events: Iterable[RowEvent], history: TableHistory, type_of: Callable[[str, str | None], tuple[str | None, GoldType]]
) -> list[InferredColumn]:
    """Return the undeclared columns of row images (columns that no statement declared) that `history` must still get.

    A column is returned once for each epoch (period between two schema changes) whose images have it. If `history`
    already has the undeclared column, it is returned only if the images need another type, such as a wider one.

    `type_of` takes a column's name and its type in the message (None if the message names no type). It returns the
    source type (None if messages do not name it) and the gold type. The result does not depend on the order of
    `events`: the event with the lowest sequence gives the name, and later events can only widen the type.
    """
    images: dict[tuple[Sequence | None, _Types], RowEvent] = {}
    for event in events:
        types = event.types or dict.fromkeys(read_image(event.after or event.before or "{}"))
        place = (history.epoch_of(event.sequence).start, tuple(types.items()))
        if place not in images or event.arrival < images[place].arrival:
            images[place] = event
    standing = _inferred_columns(history)
    found: dict[tuple[Sequence | None, str], tuple[InferredColumn, bool]] = {}
    for (start, typed), event in sorted(images.items(), key=lambda each: each[1].arrival):
        epoch = history.epoch_of(event.sequence)
        for name, wire in typed:
            column = epoch.column(name)
            if column is not None and column.id not in standing:
                continue
            known = seen = InferredColumn(history.identity, start, name, *type_of(name, wire)), _tells(wire)
            if column is not None:
                known = replace(standing[column.id], source_type=column.source_type, type=column.type), True
            first = (known[0].epoch_start, known[0].name.lower())
            found[first] = _both(found.get(first, known), seen)
    there = set(standing.values())
    return [column for column, _ in found.values() if column not in there]


def _inferred_columns(history: TableHistory) -> dict[str, InferredColumn]:
    """Return the undeclared columns that are already known, each as it is in its first epoch, by column identity."""
    found: dict[str, InferredColumn] = {}
    for epoch in history.epochs:
        for each in epoch.columns:
            if each.id in history.inferred_ids and each.id not in found:
                found[each.id] = InferredColumn(history.identity, epoch.start, each.name, each.source_type, each.type)
    return found


def _both(one: tuple[InferredColumn, bool], other: tuple[InferredColumn, bool]) -> tuple[InferredColumn, bool]:
    """Combine an undeclared column from two images. An image that names a type has priority over one that does not."""
    (column, is_typed), (seen, is_typed_there) = one, other
    if is_typed != is_typed_there:
        return one if is_typed else (replace(column, source_type=seen.source_type, type=seen.type), True)
    joined = column.type.joined(seen.type) if is_typed else None
    if joined is None or joined == column.type:
        return one
    return replace(column, source_type=seen.source_type if joined == seen.type else None, type=joined), True


def _tells(wire: str | None) -> bool:
    """Return whether the type in a message determines the type of the column."""
    return wire is not None and not (is_baseline(wire) and baseline_type(wire) is None)
