"""Match the columns of several source tables (shards) to the columns of the one gold table that they go into."""

import hashlib
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_STATEMENT
from retable.schema_history.history import Column, TableHistory

REMEDY = (
    "the table continues by itself when its source tables have the same columns and the same key again; for a source "
    "table that stays different, set another `to` in the settings, or remove its `to`"
)
SHARDS_DIFFER = "SHARDS_DIFFER"
OWN = "/"


class Differ(Exception):
    """The columns or keys of the shards (source tables) do not fit into one gold table.

    The gold table is held. The hold ends by itself when the shards agree again.
    """

    code, remedy = SHARDS_DIFFER, REMEDY


class Refused(Differ):
    """A shard has a statement that is not supported if several source tables go into one gold table.

    This is so even if all shards have the statement.
    """

    code, remedy = "UNSUPPORTED_CHANGE", REMEDY_STATEMENT


@dataclass(slots=True)
class ShardColumn:
    """A column of one shard (source table) over time. `names` are all names that it had, in order.

    `added` says that the column was added to an existing table. `lives` says that the shard still has the column. The
    column exists from the position `born` to `ended`. If `born` is None, it exists from the beginning; if `ended` is
    None, it was not dropped.
    """

    column: Column
    names: list[str]
    added: bool
    born: Sequence | None
    ended: Sequence | None = None
    lives: bool = True

    @property
    def tells_default(self) -> bool:
        """Whether the shard may have rows that are older than the column and show its default."""
        return self.added or self.column.default is not None

    def was(self, name: str) -> bool:
        return name in (each.lower() for each in self.names[:-1])


@dataclass(slots=True)
class Group:
    """Columns of shards that together are one column of the gold table. `lines` has these columns by shard label.

    An identity is `<first name>#<number>`; the number is for columns that had the same first name one after another. A
    shard's column with another identity may be in the group, too, if it has the same name now, for example after a
    RENAME. `strangers` has the identity of such a column, by shard label.
    """

    identity: str
    lines: dict[str, ShardColumn] = field(default_factory=dict)
    strangers: dict[str, str] = field(default_factory=dict)

    @property
    def living(self) -> list[ShardColumn]:
        return [line for line in self.lines.values() if line.lives]

    def ended_before(self, line: ShardColumn) -> bool:
        """Return whether all columns of the group were dropped before `line` was added."""
        ends = [each.ended for each in self.lines.values()]
        return line.born is not None and all(end is not None and end <= line.born for end in ends)

    @property
    def name(self) -> str:
        """The name of the gold column. If only some shards have renamed the column, this is its old name."""
        names = sorted({line.names[-1].lower(): line.names[-1] for line in self.living}.items())
        former = [name for low, name in names if any(line.was(low) for line in self.lines.values())]
        return former[0] if former and len(names) > 1 else names[0][1]

    def column(self) -> Column:
        first, kind = self.living[0].column, self.living[0].column.type
        for label, line in self.lines.items():
            joined = kind.joined(line.column.type)
            if joined is None:
                raise Differ(
                    f"column {self.name!r} is {line.column.type} in the source table {label}, but {kind} in others; "
                    f"one gold column cannot hold both types"
                )
            kind = joined
        defaults = {line.column.default: line.column for line in self.lines.values() if line.tells_default}
        if len(defaults) > 1:
            # Rows of each shard show their own default. No single gold column can, so it is written into the rows.
            own = sorted((label, str(line.column.default)) for label, line in self.lines.items() if line.tells_default)
            identity = f"{self.identity}{OWN}{hashlib.sha256(repr(own).encode()).hexdigest()[:8]}"
            return Column(
                id=identity, name=self.name, source_type=first.source_type, type=kind, retained=first.retained
            )
        born = next(((each.born or each) for each in defaults.values()), None)
        return Column(
            id=self.identity,
            name=self.name,
            source_type=first.source_type,
            type=kind,
            default=next(iter(defaults), None),
            born=born,
            retained=first.retained,
        )


def differs_by_shard(column: Column) -> bool:
    """Return whether the shards have different defaults for this gold column. Older rows show their shard's default."""
    return OWN in column.id


def group_columns(cut: Seq[TableHistory], living: set[str]) -> list[Group]:
    """Group the columns of shards that belong together. Each group becomes one column of the gold table.

    Columns are in one group if their first names were the same. A column that fits into no such group is put into the
    group that has its present name. If a column was added after all columns of a group were dropped, it is in another
    group. `cut` are the histories of the shards. `living` are the labels of the shards that are not dropped.
    """
    groups: dict[tuple[str, int], Group] = {}
    found = [
        (label, place, key, line)
        for label, shard in ((shard.label, shard) for shard in cut)
        for place, (key, line) in enumerate(_lines(shard, label in living).items())
    ]
    for label, _, key, line in sorted(found, key=lambda each: (*at_place(each[3].born), each[0], each[1])):
        group = groups.get(key)
        if group is None or label in group.lines or group.ended_before(line):
            now = line.names[-1].lower()
            others = (each for each in groups.values() if label not in each.lines and each.living)
            group = next((each for each in others if each.name.lower() == now), None)
        if group is None:
            first, number = key
            while (first, number) in groups:
                number += 1
            group = groups[first, number] = Group(_identity((first, number)))
        group.lines[label] = line
        if group.identity != _identity(key):
            group.strangers[label] = _identity(key)
    order = [line for _, _, _, line in found]
    return sorted(
        (group for group in groups.values() if group.living),
        key=lambda group: min(order.index(line) for line in group.living),
    )


def _identity(key: tuple[str, int]) -> str:
    return f"{key[0]}#{key[1]}"


def at_place(position: Sequence | None) -> tuple[bool, Sequence | tuple[()]]:
    return position is not None, position or ()


def _lines(history: TableHistory, lives: bool) -> dict[tuple[str, int], ShardColumn]:
    """Return the columns of a shard. A key is the column's first name, and how many columns had that name before it."""
    found: dict[tuple[str, bool], tuple[tuple[str, int], ShardColumn]] = {}
    counts: dict[str, int] = {}
    for epoch in history.epochs:
        here = {_of(column) for column in epoch.columns}
        anew = here.isdisjoint(found)
        if anew:
            # The table was created again: none of its columns existed before.
            found, counts = {}, {}
        for origin, (_, line) in found.items():
            line.lives = origin in here
            line.ended = line.ended if line.lives or line.ended is not None else epoch.start
        for column in epoch.columns:
            origin = _of(column)
            if origin not in found:
                first = f"{column.name.lower()}{'~' if column.retained else ''}"
                counts[first] = counts.get(first, -1) + 1
                found[origin] = (first, counts[first]), ShardColumn(column, [], not anew, epoch.start)
            line = found[origin][1]
            line.column = column
            if not line.names or line.names[-1] != column.name:
                line.names.append(column.name)
    for _, line in found.values():
        line.lives = line.lives and lives
    places = {_of(column): at for at, column in enumerate(history.final.columns)}
    return dict(sorted(found.values(), key=lambda each: places.get(_of(each[1].column), len(places))))


def _of(column: Column) -> tuple[str, bool]:
    return _origin(column).id, column.retained is not None


def _origin(column: Column) -> Column:
    while column.fill is not None:
        column = column.fill.of
    return column
