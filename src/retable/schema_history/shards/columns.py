"""Match the columns of several source tables to the columns of one gold table: identity, name and type."""

import hashlib
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field

from retable.model.sequence import Sequence
from retable.schema_history.decisions import REMEDY_STATEMENT
from retable.schema_history.history import Column, TableHistory

REMEDY = (
    "the table continues by itself if its source tables become alike there; a source table that stays different "
    "needs another `to`, or no `to`"
)
SHARDS_DIFFER = "SHARDS_DIFFER"
OWN = "/"


class Differ(Exception):
    """The shards are too different to be one table."""

    code, remedy = SHARDS_DIFFER, REMEDY


class Refused(Differ):
    """A statement that is not supported for shards, even if all of them have it."""

    code, remedy = "UNSUPPORTED_CHANGE", REMEDY_STATEMENT


@dataclass(slots=True)
class ShardColumn:
    """A column of one shard through all its names, as they were spelled.

    `lives`: the shard still has it. `added`: the table existed before the column. The column exists from `born` (None:
    always) to `ended`.
    """

    column: Column
    names: list[str]
    added: bool
    born: Sequence | None
    ended: Sequence | None = None
    lives: bool = True

    @property
    def tells_default(self) -> bool:
        """Whether rows older than the column depend on its default."""
        return self.added or self.column.default is not None

    def was(self, name: str) -> bool:
        return name in (each.lower() for each in self.names[:-1])


@dataclass(slots=True)
class Group:
    """The columns of shards that are one column of the whole, by shard. `strangers` have another identity."""

    identity: str
    lines: dict[str, ShardColumn] = field(default_factory=dict)
    strangers: dict[str, str] = field(default_factory=dict)

    @property
    def living(self) -> list[ShardColumn]:
        return [line for line in self.lines.values() if line.lives]

    def ended_before(self, line: ShardColumn) -> bool:
        """Whether all columns of the group were dropped before a column was added."""
        ends = [each.ended for each in self.lines.values()]
        return line.born is not None and all(end is not None and end <= line.born for end in ends)

    @property
    def name(self) -> str:
        """The common name of all columns; while they differ, the former name, as long as some still have it."""
        names = sorted({line.names[-1].lower(): line.names[-1] for line in self.living}.items())
        former = [name for low, name in names if any(line.was(low) for line in self.lines.values())]
        return former[0] if former and len(names) > 1 else names[0][1]

    def column(self) -> Column:
        first, kind = self.living[0].column, self.living[0].column.type
        for label, line in self.lines.items():
            joined = kind.joined(line.column.type)
            if joined is None:
                raise Differ(f"column {self.name!r} is {line.column.type} in {label}, and {kind} in others")
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
    """Say whether rows older than a column of the whole show the default of their own shard in it."""
    return OWN in column.id


def group_columns(cut: Seq[TableHistory], living: set[str]) -> list[Group]:
    """Group columns by a common first name; columns that were added later also by their name now.

    A column that was added after all others of its first name were dropped is another column.
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
    """The columns of a shard by their first name, and the number of earlier columns of that name."""
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
