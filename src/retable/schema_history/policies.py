"""Apply a table's policies to a change of its columns: what gold keeps, and what it casts."""

from collections.abc import Iterable
from dataclasses import replace

from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Epoch, Fill, Hold, RetainedColumn, TableHistory

TEXT = GoldType("string")
REMEDY_KEYED = (
    "give a statement that replaces this one: retable hold release TABLE --as 'ALTER ...' --reason ...; "
    "--skip leaves the column as it was"
)


def side_column(epoch: Epoch, old: Column, new: Column, at: Sequence, number: int) -> Epoch:
    """Put a new column in the place of an old one, which stays as `<name>__until_<number>` with its rows' values."""
    filled = replace(new, default=None, born=None, fill=Fill(at, old, new.source_type, new.type))
    there = tuple(filled if column == old else column for column in epoch.columns)
    return arranged(replace(epoch, columns=(*there, retain(old, number))))


def replace_retaining(epoch: Epoch, old: Column, new: Column, at: Sequence) -> Epoch:
    """Put a renamed column in the place of the old one, which keeps its name and continues to show the same values.

    Columns that followed the old one now follow the new one.
    """
    filled = replace(new, default=None, born=None, fill=Fill(at, old, new.source_type, new.type, keeps=True))
    there = tuple(filled if column == old else column for column in epoch.columns)
    return arranged(_followed(replace(epoch, columns=(*there, retain(old, 0, new.id))), old.id, new.id))


def left_behind(epoch: Epoch, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Give the columns of a table that its new CREATE TABLE does not have, as gold keeps them."""
    taken = {column.name.lower() for column in columns}
    return tuple(
        replace(column, retained=column.retained or RetainedColumn(column.name, 0))
        for column in epoch.columns
        if column.name.lower() not in taken
    )


def retain(column: Column, number: int, follows: str | None = None) -> Column:
    """Give a column as gold keeps it after the source dropped it."""
    name = f"{column.name}__until_{number}" if number else column.name
    return replace(column, name=name, retained=RetainedColumn(column.name, number, follows))


def unfollowed(epoch: Epoch, identity: str) -> Epoch:
    """Let no column follow this one any more, because its values changed."""
    return _followed(epoch, identity, None)


def _followed(epoch: Epoch, identity: str, now: str | None) -> Epoch:
    """Let the columns that followed a column follow another one, or none."""
    return replace(
        epoch,
        columns=tuple(
            replace(column, retained=replace(column.retained, follows=now))
            if column.retained is not None and column.retained.follows == identity
            else column
            for column in epoch.columns
        ),
    )


def arranged(epoch: Epoch) -> Epoch:
    """Put the retained columns after the source's own columns. If names are equal, the retained one gets a number."""
    own = [column for column in epoch.columns if column.retained is None]
    taken = {column.name.lower() for column in own}
    columns = list(own)
    for column in (column for column in epoch.columns if column.retained is not None):
        columns.append(_apart(column, taken))
        taken.add(columns[-1].name.lower())
    return epoch if tuple(columns) == epoch.columns else replace(epoch, columns=tuple(columns))


def _apart(column: Column, taken: set[str]) -> Column:
    while column.name.lower() in taken and column.retained is not None:
        retained = replace(column.retained, number=column.retained.number + 1)
        column = replace(column, name=f"{retained.name}__until_{retained.number}", retained=retained)
    return column


def next_number(epochs: Iterable[Epoch], name: str) -> int:
    """Give the number for the next retained column of this name. Each number is used once."""
    numbers = (
        column.retained.number
        for epoch in epochs
        for column in epoch.columns
        if column.retained is not None and column.retained.name.lower() == name.lower()
    )
    return max(numbers, default=0) + 1


def keyed_cast(
    history: TableHistory, keys: tuple[str, ...], former: Iterable[tuple[Sequence, tuple[Column, ...]]]
) -> Hold | None:
    """Give the hold at the first cast that is not allowed: of a key column, or, without a key, of any column.

    Rows are identified by their key, so the rows before and after such a change would have different keys. `former` are
    the earlier keys, each with the position up to which it counted.
    """
    wanted = {key.lower() for key in keys}
    own = [column for column in history.final.columns if column.retained is None]
    found = casts_of(column for column in own if not keys or column.name.lower() in wanted)
    for end, columns in former:
        found += [cast for cast in casts_of(columns or own) if cast[0] < end]
    if not found:
        return None
    at, column = min(found, key=lambda cast: cast[0])
    what = f"the key column {column.name!r}" if keys else f"column {column.name!r} of a table without a key"
    reason = f"{what} changes to a type that may change its values"
    return hold_at(history, at, "UNSUPPORTED_CHANGE", reason, REMEDY_KEYED)


def source_ids(column: Column) -> list[str]:
    """The identities of the columns whose values older rows show in this one, the latest first."""
    found: list[str] = []
    while column.fill is not None:
        column = column.fill.of
        found.append(column.id)
    return found


def hold_at(history: TableHistory, at: Sequence, code: str, reason: str, remedy: str) -> Hold:
    """Give the hold of a table at one of its statements."""
    change = next((change for change in history.changes if change.position == at), None)
    return Hold(code, reason, at, change.part if change else None, change.statement if change else None, remedy)


def casts_of(columns: Iterable[Column]) -> list[tuple[Sequence, Column]]:
    """Give the positions at which values of columns were cast with a check."""
    found = []
    for column in columns:
        each: Column | None = column
        while each is not None:
            if each.text_since is not None:
                found.append((each.text_since, column))
            if each.fill is not None and not each.fill.keeps:
                found.append((each.fill.at, column))
            each = each.fill.of if each.fill is not None else None
    return found
