"""One column change of a statement: the epoch after it, or why it cannot be replayed."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from retable.model.event import TableName
from retable.model.schema import ColumnSpec, GoldType
from retable.model.schema_change import AddColumn, ChangeColumn, DropColumn, Place, SchemaChange
from retable.replay.history import Column, Epoch

_FIRST_LABEL = re.compile(r"enum\s*\(\s*'((?:[^']|'')*)'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the timeline asks of a source's dialect and settings.

    `type_of` gives a declared column's gold type (None: unknown). `keeps_values(old, new)` says whether a change of
    source type leaves every stored value as it is. `describe` gives a change as JSON-able facts for the record.
    """

    type_of: Callable[[TableName, ColumnSpec], GoldType | None]
    keeps_values: Callable[[str | None, str], bool]
    describe: Callable[[SchemaChange], dict[str, object]]


def evolve(epoch: Epoch, change: AddColumn | DropColumn | ChangeColumn, identity: str, dialect: Dialect) -> Epoch | str:
    """The epoch after one column change; an added column gets `identity`. A text says why it cannot be replayed."""
    match change:
        case AddColumn(table, spec, place, if_not_exists):
            if epoch.column(spec.name) is not None:
                return epoch if if_not_exists else f"it adds column {spec.name!r}, which is there already"
            kind = dialect.type_of(table, spec)
            if kind is None:
                return unknown_type(spec)
            added = Column(identity, spec.name, spec.source_type, kind, _old_rows_show(spec, kind))
            return replace(epoch, columns=_placed(epoch.columns, added, place))
        case DropColumn(_, name, if_exists):
            gone = epoch.column(name)
            if gone is None:
                return _missing(epoch, "drops", name, if_exists)
            if epoch.keys and name.lower() in {key.lower() for key in epoch.keys}:
                return f"it drops the key column {name!r}"
            return replace(epoch, columns=tuple(column for column in epoch.columns if column != gone))
        case ChangeColumn(table, name, spec, place, if_exists):
            old = epoch.column(name)
            if old is None:
                return _missing(epoch, "changes", name, if_exists)
            return _changed(epoch, dialect, table, old, spec, place)
        case _:
            assert_never(change)


def unknown_type(spec: ColumnSpec) -> str:
    return f"column {spec.name!r} has the type {spec.source_type!r}, which is not known"


def _missing(epoch: Epoch, what: str, name: str, if_exists: bool) -> Epoch | str:
    """A column that is not there: nothing happens where the statement says so, or where not all columns are told."""
    known = epoch.complete and not if_exists
    return f"it {what} column {name!r}, which is not there" if known else epoch


def _changed(
    epoch: Epoch, dialect: Dialect, table: TableName, old: Column, spec: ColumnSpec, place: Place | None
) -> Epoch | str:
    """Change a column. One of which only messages told keeps their wider type: nobody knows what it was before."""
    taken = epoch.column(spec.name)
    if taken is not None and taken != old:
        return f"it renames column {old.name!r} to {spec.name!r}, which is there already"
    kind = dialect.type_of(table, spec) if spec.source_type else old.type
    if kind is None:
        return unknown_type(spec)
    if old.source_type is None and kind.widens_to(old.type):
        kind = old.type
    keeps = not spec.source_type or dialect.keeps_values(old.source_type, spec.source_type)
    if not (keeps and (old.type.widens_to(kind) or old.type.rewrites_to(kind))):
        return f"column {old.name!r} changes from {old.source_type or old.type} to {spec.source_type}: not a widening"
    born = old.born or (old if old.type.rewrites_to(kind) else None)
    new = replace(old, name=spec.name, source_type=spec.source_type or old.source_type, type=kind, born=born)
    columns = tuple(new if column == old else column for column in epoch.columns)
    if place is not None and place != Place():
        columns = _placed(tuple(column for column in columns if column != new), new, place)
    keys = epoch.keys and tuple(spec.name if key.lower() == old.name.lower() else key for key in epoch.keys)
    return replace(epoch, columns=columns, keys=keys)


def _placed(columns: tuple[Column, ...], column: Column, place: Place) -> tuple[Column, ...]:
    if place.first:
        return (column, *columns)
    if place.after is not None:
        wanted = place.after.lower()
        for index, other in enumerate(columns):
            if other.name.lower() == wanted:
                return (*columns[: index + 1], column, *columns[index + 1 :])
    return (*columns, column)


def _old_rows_show(spec: ColumnSpec, kind: GoldType) -> str | None:
    """What rows older than an added column show: its constant default, or MySQL's own for NOT NULL without one.

    A zero date, MySQL's own default of a NOT NULL date, is no date: such rows show null, as with `now()`.
    """
    if spec.has_default or spec.computed or not spec.not_null:
        return spec.default
    if label := _FIRST_LABEL.match(spec.source_type):
        return label[1].replace("''", "'")
    match kind.kind:
        case "boolean" | "int" | "long" | "float" | "double" | "decimal":
            return "0"
        case "binary":
            return ""
        case "string" if not spec.source_type.lower().startswith("json"):
            return "00:00:00" if spec.source_type.lower().startswith("time") else ""
    return None
