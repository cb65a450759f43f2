"""Apply the settings `on.*` of a table to changes of its columns: keep columns in gold, and convert values."""

from collections.abc import Iterable
from dataclasses import replace

from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.history import Column, Epoch, Fill, Hold, RetainedColumn, TableHistory

TEXT = GoldType("string")
REMEDY_KEYED = (
    "give a statement that replaces this statement: retable hold release TABLE --as 'ALTER ...' --reason ...; or "
    "use --skip to ignore the statement, so that the column stays as it was"
)


def side_column(epoch: Epoch, old: Column, new: Column, at: Sequence, number: int) -> Epoch:
    """Return the epoch (schema) after the type of a column changed at the position `at`, if gold keeps the old column.

    The column `new` replaces `old`. In rows before `at`, it shows the converted values of `old`. Gold keeps the old
    column, with its values, as `<name>__until_<number>`.
    """
    filled = replace(new, default=None, born=None, fill=Fill(at, old, new.source_type, new.type))
    there = tuple(filled if column == old else column for column in epoch.columns)
    return arranged(replace(epoch, columns=(*there, retain(old, number))))


def replace_retaining(epoch: Epoch, old: Column, new: Column, at: Sequence) -> Epoch:
    """Return the epoch (schema) after the column `old` is renamed to `new`, if gold keeps both columns.

    Both columns show the same values, in rows before and after the position `at`. Gold may also have columns that it
    kept after earlier renames. If such a column showed the values of `old`, it shows those of `new` from now on.
    """
    filled = replace(new, default=None, born=None, fill=Fill(at, old, new.source_type, new.type, keeps=True))
    there = tuple(filled if column == old else column for column in epoch.columns)
    return arranged(_followed(replace(epoch, columns=(*there, retain(old, 0, new.id))), old.id, new.id))


def left_behind(epoch: Epoch, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns of `epoch` that gold keeps, although the new CREATE TABLE (`columns`) does not have them."""
    taken = {column.name.lower() for column in columns}
    return tuple(
        replace(column, retained=column.retained or RetainedColumn(column.name, 0))
        for column in epoch.columns
        if column.name.lower() not in taken
    )


def kept(epochs: list[Epoch]) -> str | None:
    """Return a text with the names of the columns that the source lost at the start of the last epoch, but gold keeps.

    Return None if there are no such columns.
    """
    known: set[str] = set()
    if len(epochs) > 1:
        known = {column.name for column in epochs[-2].columns if column.retained is not None}
    names = [column.name for column in epochs[-1].columns if column.retained is not None and column.name not in known]
    return f"gold keeps the former {'column' if len(names) == 1 else 'columns'} {', '.join(names)}" if names else None


def retain(column: Column, number: int, follows: str | None = None) -> Column:
    """Return a column as gold keeps it after the source dropped, renamed or changed it.

    Its name in gold is `<name>__until_<number>`, or its own name if `number` is 0. If `follows` is the identity of
    another column, new rows show the value of that column. Otherwise they show null.
    """
    name = f"{column.name}__until_{number}" if number else column.name
    return replace(column, name=name, retained=RetainedColumn(column.name, number, follows))


def unfollowed(epoch: Epoch, identity: str) -> Epoch:
    """Return the epoch (schema) after the column `identity` was dropped or got another type.

    Retained columns (kept by gold only) that showed the values of this column show null in new rows now.
    """
    return _followed(epoch, identity, None)


def _followed(epoch: Epoch, identity: str, now: str | None) -> Epoch:
    """Change `follows` of retained columns from `identity` to `now`, or to None."""
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
    """Return the epoch with its retained columns last. A retained column with the name of another gets a number."""
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
    """Return the number for the next retained column of this source name: one more than the highest number in use."""
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
    """Return the hold at the first change of a key column's type that may change values, or None if there is none.

    Rows before and after such a change would have different keys. If the table has no key, all columns count as key
    columns. `keys` are the names of the present key columns. `former` are the columns of earlier keys, each with the
    position at which that key ended.
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
    """Return the identities of the columns that this column replaced, the latest one first; [] if there are none.

    In rows that are older than this column, it shows their values.
    """
    found: list[str] = []
    while column.fill is not None:
        column = column.fill.of
        found.append(column.id)
    return found


def hold_at(history: TableHistory, at: Sequence, code: str, reason: str, remedy: str) -> Hold:
    """Return a hold of a table at the position `at`, with the statement that the history has at this position."""
    change = next((change for change in history.changes if change.position == at), None)
    return Hold(code, reason, at, change.part if change else None, change.statement if change else None, remedy)


def casts_of(columns: Iterable[Column]) -> list[tuple[Sequence, Column]]:
    """Return the changes of these columns to a type that may change values: the position and the column of each."""
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
