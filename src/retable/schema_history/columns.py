"""Apply a column change (ADD, DROP, MODIFY, RENAME COLUMN) to an epoch of a table, which is its schema up to then.

The result is the next epoch.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from retable.model.event import TableName
from retable.model.policies import Policies
from retable.model.schema import ColumnSpec, GoldType
from retable.model.schema_change import AddColumn, ChangeColumn, ColumnPosition, DropColumn, SchemaChange
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Epoch
from retable.schema_history.policies import (
    TEXT,
    arranged,
    next_number,
    replace_retaining,
    retain,
    side_column,
    unfollowed,
)

FROZEN = 'the statement changes the columns of the table, but the settings freeze them (`schema = "frozen"`)'
_BLANKS = re.compile(r"('(?:[^']|'')*')|\s+")
_FIRST_LABEL = re.compile(r"enum\s*\(\s*'((?:[^']|'')*)'", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """Functions of a source's SQL dialect and settings, with which statements are applied to tables.

    `type_of` returns the gold type of a declared column, or None if Retable does not know the column's type.
    `keeps_values(old, new)` returns whether a change from one source type to another keeps each stored value.
    `describe` returns a schema change as facts for JSON, to record it. `policies` returns the settings `on.*` and
    `schema` of a table. `read` returns the schema changes of a statement that a person gave to replace another one.
    """

    type_of: Callable[[TableName, ColumnSpec], GoldType | None]
    keeps_values: Callable[[str | None, str], bool]
    describe: Callable[[SchemaChange], Mapping[str, object]]
    policies: Callable[[TableName], Policies] = lambda _: Policies()
    read: Callable[[str, TableName], tuple[SchemaChange, ...]] = lambda *_: ()


@dataclass(frozen=True, slots=True)
class Turn:
    """The context of one column change, for `evolve`.

    `at` is the position of its statement. `identity` is for the column that the change adds, if it adds one. `epochs`
    are the table's schemas before the change, in order. `policies` are the table's settings; if a person approved the
    statement, they allow it.
    """

    at: Sequence
    identity: str
    epochs: tuple[Epoch, ...]
    policies: Policies


def evolve(
    epoch: Epoch, change: AddColumn | DropColumn | ChangeColumn, turn: Turn, dialect: SchemaRules
) -> Epoch | str:
    """Return the epoch (schema of the table) after one column change, or the reason why it cannot be applied."""
    after = _evolve(epoch, change, turn, dialect, turn.policies)
    if isinstance(after, str):
        return after
    if turn.policies.columns == "frozen" and _with_normal_types(after) != _with_normal_types(epoch):
        return FROZEN
    return arranged(after)


def shape(columns: tuple[Column, ...]) -> list[tuple[str, str | None]]:
    """Return the columns that the source has as pairs of name and source type, to compare two schemas.

    Names and types are in lower case, and types are without blanks: `Decimal(10, 2)` becomes `decimal(10,2)`.
    """
    return [(column.name.lower(), spelling(column.source_type)) for column in columns if column.retained is None]


def spelling(source_type: str | None) -> str | None:
    """Return a source type in lower case and without blanks. Quoted labels, as in `enum('A b')`, stay as they are."""
    if source_type is None:
        return None
    pieces = _BLANKS.split(source_type)
    return "".join(piece if piece.startswith("'") else piece.lower() for piece in pieces if piece)


def _with_normal_types(epoch: Epoch) -> Epoch:
    columns = (replace(column, source_type=spelling(column.source_type)) for column in epoch.columns)
    return replace(epoch, columns=tuple(columns))


def _evolve(
    epoch: Epoch, change: AddColumn | DropColumn | ChangeColumn, turn: Turn, dialect: SchemaRules, policies: Policies
) -> Epoch | str:
    match change:
        case AddColumn(table, spec, place, if_not_exists):
            if epoch.column(spec.name) is not None:
                return epoch if if_not_exists else f"the statement adds column {spec.name!r}, which already exists"
            kind = dialect.type_of(table, spec)
            if kind is None:
                return unknown_type(spec)
            added = Column(
                id=turn.identity,
                name=spec.name,
                source_type=spec.source_type,
                type=kind,
                default=_old_rows_show(spec, kind),
            )
            return replace(epoch, columns=_placed(epoch.columns, added, place))
        case DropColumn(_, name, if_exists):
            gone = epoch.column(name)
            if gone is None:
                return _missing(epoch, "drops", name, if_exists)
            if epoch.keys and name.lower() in {key.lower() for key in epoch.keys}:
                return f"the statement drops column {name!r}, which is part of the key of the table"
            left = tuple(column for column in epoch.columns if column != gone)
            retained = (retain(gone, 0),) if policies.columns == "additive" else ()
            return unfollowed(replace(epoch, columns=(*left, *retained)), gone.id)
        case ChangeColumn(table, name, spec, place, if_exists):
            old = epoch.column(name)
            if old is None:
                return _missing(epoch, "changes", name, if_exists)
            return _changed(epoch, dialect, change, old, turn, policies)
        case _:
            assert_never(change)


def unknown_type(spec: ColumnSpec) -> str:
    return f"the statement gives column {spec.name!r} the type {spec.source_type!r}, which Retable does not know"


def _missing(epoch: Epoch, what: str, name: str, if_exists: bool) -> Epoch | str:
    """Return the result for a column that the epoch does not have.

    The change is ignored if the statement has IF EXISTS, or if statements do not declare all columns of the table.
    """
    known = epoch.complete and not if_exists
    return f"the statement {what} column {name!r}, which does not exist" if known else epoch


def _changed(
    epoch: Epoch, dialect: SchemaRules, change: ChangeColumn, old: Column, turn: Turn, policies: Policies
) -> Epoch | str:
    """Change a column. If only messages showed the column, its type in the source is unknown: keep a wider type."""
    spec = change.column
    if change.is_replaced and epoch.keys and old.name.lower() in {key.lower() for key in epoch.keys}:
        return f"the statement renames the key column {old.name!r} and adds another column with its former name"
    taken = epoch.column(spec.name)
    if taken is not None and taken != old:
        return f"the statement renames column {old.name!r} to {spec.name!r}, which already exists"
    kind = dialect.type_of(change.table, spec) if spec.source_type else old.type
    if kind is None:
        return unknown_type(spec)
    is_text = old.text_since is not None
    if is_text or (old.source_type is None and kind.widens_to(old.type)):
        kind = old.type
    keeps = is_text or not spec.source_type or dialect.keeps_values(old.source_type, spec.source_type)
    lossless = keeps and (old.type.widens_to(kind) or old.type.rewrites_to(kind))
    born = old.born or (old if old.type.rewrites_to(kind) else None)
    new = replace(old, name=spec.name, source_type=spec.source_type or old.source_type, type=kind, born=born)
    renames = policies.columns == "additive" and new.name.lower() != old.name.lower()
    if not lossless:
        after = _lossily(epoch, old, replace(new, born=old.born), turn, policies)
    elif renames:
        new = replace(new, id=turn.identity)
        after = replace_retaining(epoch, old, new, turn.at)
    else:
        after = replace(epoch, columns=tuple(new if column == old else column for column in epoch.columns))
    if isinstance(after, str):
        return after
    if new.type != old.type or not lossless:
        after = unfollowed(after, new.id)
    keys = epoch.keys and tuple(spec.name if key.lower() == old.name.lower() else key for key in epoch.keys)
    return _moved(replace(after, keys=keys), spec.name, change.place)


def _lossily(epoch: Epoch, old: Column, new: Column, turn: Turn, policies: Policies) -> Epoch | str:
    """Apply a change of type that may cut or change values, as the setting `on.type_change` says."""
    what = (
        f"the statement changes column {old.name!r} from {old.source_type or old.type} to {new.source_type}, which may "
        f"change its values"
    )
    if policies.type_change == "hold":
        return what
    if epoch.keys and old.name.lower() in {key.lower() for key in epoch.keys}:
        return f"{what}, and the column is part of the key"
    if policies.type_change == "string":
        text = replace(new, type=TEXT, born=old.born or old, text_since=turn.at)
        return replace(epoch, columns=tuple(text if column == old else column for column in epoch.columns))
    number = next_number((*turn.epochs, epoch), old.name)
    return side_column(epoch, old, replace(new, id=turn.identity), turn.at, number)


def _moved(epoch: Epoch, name: str, place: ColumnPosition | None) -> Epoch:
    column = epoch.column(name)
    if place is None or place == ColumnPosition() or column is None:
        return epoch
    return replace(epoch, columns=_placed(tuple(other for other in epoch.columns if other != column), column, place))


def _placed(columns: tuple[Column, ...], column: Column, place: ColumnPosition) -> tuple[Column, ...]:
    if place.first:
        return (column, *columns)
    if place.after is not None:
        wanted = place.after.lower()
        for index, other in enumerate(columns):
            if other.name.lower() == wanted and other.retained is None:
                return (*columns[: index + 1], column, *columns[index + 1 :])
    return (*columns, column)


_IMPLICIT: dict[str, str | None] = {
    "time": "00:00:00",
    "json": None,
    "inet4": "0.0.0.0",  # a default value, not an address to listen at
    "inet6": "::",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
"""Values that MySQL and MariaDB write into older rows for an added NOT NULL column without a default.

These are source types that are text in gold. For all others of them, the value is the empty text.
"""


def _old_rows_show(spec: ColumnSpec, kind: GoldType) -> str | None:
    """Return the text of the value that rows older than an added column show, or None if they show null.

    This is the column's constant default. For a NOT NULL column without a default, it is the value that MySQL writes.
    For a NOT NULL date this would be a zero date, which is not a date, so such rows show null, as for `now()`.
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
        case "string" if (shown := _IMPLICIT.get(spec.source_type.lower().partition("(")[0], "")) is not None:
            return shown
    return None
