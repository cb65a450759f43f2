"""Make the first epoch (schema) of a table from its CREATE TABLE statement."""

from retable.model.schema_change import CreateTable, CreateTableLike
from retable.model.sequence import Sequence
from retable.schema_history.columns import SchemaRules, unknown_type
from retable.schema_history.history import Column, Epoch
from retable.schema_history.traced import TracedTable


def created_epoch(
    at: Sequence, change: CreateTable | CreateTableLike, number: int, like: TracedTable | None, dialect: SchemaRules
) -> Epoch | str:
    """Return the epoch (schema) that a CREATE TABLE at the position `at` begins.

    If Retable does not know a column's type, return a text that says so. `number` is the index of the change in its
    statement, for column identities. `like` is the table that CREATE TABLE LIKE copies, or None if it is unknown.
    """

    def identify(index: int) -> str:
        return f"{at}:{number}.{index}"

    if isinstance(change, CreateTableLike):
        if like is None or like.hold is not None or not (like.epochs[-1].complete or like.declared):
            return Epoch(at, (), None, complete=False)
        model = like.epochs[-1]
        own = [c for c in model.columns if c.retained is None and not like.is_of_images(c)]
        copied = tuple(
            Column(id=identify(i), name=c.name, source_type=c.source_type, type=c.type) for i, c in enumerate(own)
        )
        return Epoch(at, copied, model.keys, complete=True)
    columns: list[Column] = []
    for index, spec in enumerate(change.columns):
        kind = dialect.type_of(change.table, spec)
        if kind is None:
            return unknown_type(spec)
        columns.append(Column(id=identify(index), name=spec.name, source_type=spec.source_type, type=kind))
    keys = change.keys if change.keys or change.complete else None
    return Epoch(at, tuple(columns), keys, change.complete)
