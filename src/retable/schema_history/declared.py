"""Add a dump of a table's schema to the table's history. The dump supplies facts that no DDL statement declares.

A dump does not say since when a column exists. Its columns are added to the epoch (schema) in which the dump was taken.
In earlier epochs, the dump gives types to columns that only messages show. If a statement declared a column, the
statement has priority.
"""

from dataclasses import replace

from retable.model.schema import ColumnSpec
from retable.model.schema_change import (
    AddColumn,
    ChangeColumn,
    ColumnPosition,
    DeclareTable,
    DropColumn,
    SetKey,
    StartTable,
)
from retable.model.sequence import Sequence
from retable.schema_history.columns import SchemaRules, spelling
from retable.schema_history.history import Column, Epoch
from retable.schema_history.traced import TracedTable, first_identity

DeclaredStep = AddColumn | DropColumn | ChangeColumn | SetKey


def declare(
    table: TracedTable, at: Sequence, change: DeclareTable | StartTable, dialect: SchemaRules
) -> list[DeclaredStep]:
    """Apply a dump of a table's schema (DeclareTable), or a baseline of its rows (StartTable), at the position `at`.

    Return the schema changes that must have happened between an earlier dump and this dump. The caller applies them. A
    dump is ignored if a statement declared all columns of the table, or if the table is dropped or held. A column whose
    type Retable does not know is skipped: its type then comes from messages.
    """
    if table.hold is not None or table.dropped:
        return []
    if isinstance(change, StartTable):
        table.truncations.append((at, False))
        return []
    if table.epochs[-1].complete:
        return []
    known = tuple(spec for spec in change.columns if dialect.type_of(change.table, spec) is not None)
    before, table.declared = table.declared, known
    if before is None:
        _fill(table, replace(change, columns=known), dialect)
        return []
    return _differences(table.epochs[-1], before, replace(change, columns=known))


def _fill(table: TracedTable, change: DeclareTable, dialect: SchemaRules) -> None:
    last = table.epochs[-1]
    columns: list[Column] = []
    for spec in change.columns:
        was = last.column(spec.name)
        if was is not None and not table.is_of_images(was):
            columns.append(was)
            continue
        kind = dialect.type_of(change.table, spec)
        assert kind is not None, "a column of unknown type is left to the messages"
        column = Column(
            id=was.id if was else table.identify(spec.name), name=spec.name, source_type=spec.source_type, type=kind
        )
        columns.append(column)
        table.epochs = [_with(table, epoch, column) for epoch in table.epochs]
    names = {column.name.lower() for column in columns}
    others = [column for column in table.epochs[-1].columns if column.name.lower() not in names]
    keys = last.keys if last.keys is not None or table.key_changes else change.keys
    table.epochs[-1] = replace(last, columns=(*columns, *others), keys=keys)


def _with(table: TracedTable, epoch: Epoch, column: Column) -> Epoch:
    """Return an epoch with a declared column added, or with its type changed, unless a statement declared it there.

    If the name was dropped or renamed before, the column is not added to an epoch that lacks it.
    """
    if epoch.complete:
        return epoch
    mine = next((each for each in epoch.columns if each.id == column.id), None)
    if mine is None:
        spreads = column.id == first_identity(column.name) and epoch.column(column.name) is None
        return replace(epoch, columns=(*epoch.columns, column)) if spreads else epoch
    if not table.is_of_images(mine):
        return epoch
    typed = replace(mine, source_type=column.source_type, type=column.type)
    return replace(epoch, columns=tuple(typed if each == mine else each for each in epoch.columns))


def _differences(epoch: Epoch, before: tuple[ColumnSpec, ...], change: DeclareTable) -> list[DeclaredStep]:
    """Return the schema changes between two dumps. A dump has no defaults: older rows show null in a new column."""
    table, now = change.table, {spec.name.lower() for spec in change.columns}
    then = {spec.name.lower(): spec for spec in before}
    steps: list[DeclaredStep] = [
        DropColumn(table, spec.name, if_exists=True) for name, spec in then.items() if name not in now
    ]
    place = ColumnPosition(first=True)
    for spec in change.columns:
        was, old = then.get(spec.name.lower()), epoch.column(spec.name)
        bare = ColumnSpec(spec.name, spec.source_type)
        if old is None:
            steps.append(AddColumn(table, bare, place))
        elif spelling(spec.source_type) not in (spelling(old.source_type), was and spelling(was.source_type)):
            steps.append(ChangeColumn(table, spec.name, bare, None))
        place = ColumnPosition(after=spec.name)
    if change.keys and change.keys != (epoch.keys or ()):
        steps.append(SetKey(table, change.keys))
    return steps
