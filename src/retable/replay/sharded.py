"""Several tables of a source (shards) as one of gold: their histories side by side, and the columns that all come to.

Every row is read under the history of its own shard, so a statement of one says nothing of the rows of another. A
column that some have is one of the whole, as wide as the widest; it goes when all have dropped it, and takes a new name
when all have renamed it. Where shards differ in a way that one column cannot hold, the whole is held.
"""

import hashlib
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field, replace
from functools import reduce

from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.replay.history import Column, Epoch, Hold, NameSpan, Shard, TableHistory
from retable.replay.policies import casts_of
from retable.replay.row_event import RowEvent
from retable.replay.rulings import REMEDY_STATEMENT, Ruling
from retable.replay.shard_parts import SHARD_ID, join_part, shard_of, source_part

SHARD_COLUMN = Column(SHARD_ID, "source_table", None, GoldType("string"))
"""The column that names the shard, where the settings say that it joins the key."""
REMEDY = "it goes on by itself once its tables are alike there; one that stays as it is needs another `to`, or none"
_CODE = "SHARDS_DIFFER"
_OWN = "/"


class _Differ(Exception):
    """The shards are not alike enough to be one table."""

    code, remedy = _CODE, REMEDY


class _Refused(_Differ):
    """A statement that tables that go into one do not take, though all have it."""

    code, remedy = "UNSUPPORTED_CHANGE", REMEDY_STATEMENT


@dataclass(slots=True)
class _Line:
    """A column of one shard through all its names, spelled as they were.

    `lives`: the shard has it still; `added`: its table was there before it. It was there from `born` on (None: ever),
    and no more where it `ended`.
    """

    column: Column
    names: list[str]
    added: bool
    born: Sequence | None
    ended: Sequence | None = None
    lives: bool = True

    @property
    def tells_default(self) -> bool:
        """Whether rows are told apart by what they show from before the column."""
        return self.added or self.column.default is not None

    def was(self, name: str) -> bool:
        return name in (each.lower() for each in self.names[:-1])


@dataclass(slots=True)
class _Group:
    """The columns of several shards that are one of the whole, by shard; `strangers` are otherwise called in theirs."""

    identity: str
    lines: dict[str, _Line] = field(default_factory=dict)
    strangers: dict[str, str] = field(default_factory=dict)

    @property
    def living(self) -> list[_Line]:
        return [line for line in self.lines.values() if line.lives]

    def ended_before(self, line: _Line) -> bool:
        """Whether all of it was gone when a column came."""
        ends = [each.ended for each in self.lines.values()]
        return line.born is not None and all(end is not None and end <= line.born for end in ends)

    @property
    def name(self) -> str:
        """The name that all have, or else the former one, as long as some have that still."""
        names = sorted({line.names[-1].lower(): line.names[-1] for line in self.living}.items())
        former = [name for low, name in names if any(line.was(low) for line in self.lines.values())]
        return former[0] if former and len(names) > 1 else names[0][1]

    def column(self) -> Column:
        first, kind = self.living[0].column, self.living[0].column.type
        for label, line in self.lines.items():
            joined = kind.joined(line.column.type)
            if joined is None:
                raise _Differ(f"column {self.name!r} of {label} is {line.column.type}, and of others {kind}")
            kind = joined
        told = {line.column.default: line.column for line in self.lines.values() if line.tells_default}
        if len(told) > 1:
            # Rows of each shard show its own, which no column of gold does for them: they are written into the rows.
            own = sorted((label, str(line.column.default)) for label, line in self.lines.items() if line.tells_default)
            identity = f"{self.identity}{_OWN}{hashlib.sha256(repr(own).encode()).hexdigest()[:8]}"
            return Column(identity, self.name, first.source_type, kind, kept=first.kept)
        born = next(((each.born or each) for each in told.values()), None)
        return Column(self.identity, self.name, first.source_type, kind, next(iter(told), None), born, kept=first.kept)


def identify(name: TableName) -> str:
    """The identity of the table that several go into."""
    return f"{name}@shards"


def is_sharded(identity: str) -> bool:
    """Whether an identity is of a table that several go into."""
    return identity.endswith("@shards")


def join(name: TableName, histories: Iterable[TableHistory], in_key: bool) -> TableHistory:
    """Make one history of those of shards; `in_key`: the shard's name joins the key.

    It is held where a shard is, and, for all, at the statement from which on they differ.
    """
    histories = sorted(histories, key=_age)
    labels = _labels(histories)
    shards = [_labelled(history, labels[history.identity]) for history in histories]
    return _held(name, shards, in_key, reduce(together, (shard.hold for shard in shards), None))


def together(one: Hold | None, other: Hold | None) -> Hold | None:
    """What stops a table that two holds stop: the lower one; where nothing orders them, one that stops all of it.

    Of these the one is told that ends by itself, so that it does.
    """
    if one is None or other is None:
        return one or other
    if one.position is None or other.position is None:
        return one if one.position is None else other
    if source_part(one.part) == source_part(other.part):
        return one if one.position <= other.position else other
    told, also = (other, one) if other.code == _CODE else (one, other)
    reason = f"{told.reason}; another partition of it is held too ({also.code}: {also.reason})"
    return replace(told, reason=reason, position=None, at=told.position)


def waits_no_more(hold: Hold | None, history: TableHistory) -> bool:
    """Whether a table is held where its shards differed, and they are alike by now."""
    return hold is not None and hold.code == _CODE and (history.hold is None or history.hold.code != _CODE)


def of_shard(event: RowEvent, label: str) -> RowEvent:
    """A row as one of a shard."""
    return event._replace(shard=label, part=join_part(label, event.part))


def of_shards(rulings: tuple[Ruling, ...], histories: Iterable[TableHistory]) -> tuple[Ruling, ...]:
    """Rulings on the whole as rulings on the shard that each is about."""
    if not any(is_sharded(ruling.identity) for ruling in rulings):
        return rulings
    known = {label: identity for identity, label in _labels(histories).items()}
    return tuple(
        replace(ruling, identity=known[label], part=source_part(ruling.part))
        if is_sharded(ruling.identity) and (label := shard_of(ruling.part)) in known
        else ruling
        for ruling in rulings
    )


def _age(history: TableHistory) -> tuple[bool, Sequence | tuple[()], str]:
    return *_at(history.spans[0].start), str(history.name)


def _labels(histories: Iterable[TableHistory]) -> dict[str, str]:
    """The name of each table, by identity; of those that had one name only the last one, or the living, has it."""
    latest = sorted(histories, key=lambda history: _at(history.spans[-1].start), reverse=True)
    found: dict[str, str] = {}
    for history in sorted(latest, key=lambda history: history.dropped):
        name = str(history.name)
        found[history.identity] = f"{name} ({history.identity})" if name in found.values() else name
    return found


def _labelled(history: TableHistory, label: str) -> TableHistory:
    """The history with the parts that rows and statements of this shard have."""
    hold = history.hold
    return replace(
        history,
        called=history.name,
        label=label,
        hold=None if hold is None else replace(hold, part=join_part(label, hold.part)),
        changes=tuple(replace(change, part=join_part(label, change.part)) for change in history.changes),
        skipped=frozenset((position, join_part(label, part), text) for position, part, text in history.skipped),
    )


def _held(name: TableName, shards: Seq[TableHistory], in_key: bool, hold: Hold | None) -> TableHistory:
    """The whole up to a hold, or below that to the statement from which on its shards differ."""
    cut = [shard if hold is None else _until(shard, hold) for shard in shards]
    try:
        return _whole(name, shards, cut, in_key, hold)
    except _Differ as differ:
        code, reason, remedy = differ.code, str(differ), differ.remedy
    if hold is not None and hold.position is None:
        return _whole(name, shards, [], in_key, hold)
    found = [change for shard in cut for change in shard.changes if change.status == "applied"]
    for change in sorted(found, key=lambda each: (each.position, each.part or ""), reverse=True):
        stop = Hold(code, reason, change.position, change.part, change.statement, remedy)
        try:
            whole = _whole(name, shards, [_until(shard, stop) for shard in cut], in_key, together(hold, stop))
            return replace(whole, changes=(*whole.changes, replace(change, status="refused", reason=reason)))
        except _Differ:
            continue
    return _whole(name, shards, [], in_key, Hold(code, reason, None, None, None, remedy))


def _until(shard: TableHistory, hold: Hold) -> TableHistory:
    """A shard below a hold; one whose positions do not compare with that of the hold goes on."""
    parts = {source_part(change.part) for change in shard.changes}
    return shard.until(hold) if hold.part is None or source_part(hold.part) in parts else shard


def _whole(
    name: TableName, shards: Seq[TableHistory], cut: Seq[TableHistory], in_key: bool, hold: Hold | None
) -> TableHistory:
    """The whole of shards as they are `cut`; `_Differ` says why they are none."""
    living = {shard.label for shard in cut if not shard.dropped} or {shard.label for shard in cut}
    groups = _group(cut, living)
    columns = [group.column() for group in groups]
    called: dict[str, Column] = {}
    for column in columns:
        if called.setdefault(column.name.lower(), column) is not column:
            raise _Differ(f"column {column.name!r} of some is another one than that of others")
    keys = _keys(name, cut, living, groups)
    if in_key:
        columns.insert(0, SHARD_COLUMN)
        keys = (SHARD_COLUMN.name, *keys) if keys else keys
    changes = (change for shard in cut for change in shard.changes)
    return TableHistory(
        identify(name),
        (NameSpan(name, None, None),),
        (Epoch(None, tuple(columns), keys, complete=False),),
        hold=hold,
        changes=tuple(sorted(changes, key=lambda change: (change.position, change.part or ""))),
        skipped=frozenset().union(*(shard.skipped for shard in shards)),
        shards=tuple(_shard(shard, groups, columns) for shard in cut or shards),
        cut=lambda stop: _held(name, shards, in_key, together(hold, stop)),
    )


def differs_by_shard(column: Column) -> bool:
    """Whether rows older than a column of the whole show in it what their own shard's default is."""
    return _OWN in column.id


def _shard(history: TableHistory, groups: Seq[_Group], columns: Seq[Column]) -> Shard:
    """A shard with its own columns for those of the whole, which tell their types and defaults."""
    label = history.label
    own: list[Column] = []
    for column in columns:
        group = next((each for each in groups if column.id.partition(_OWN)[0] == each.identity), None)
        line = None if group is None else group.lines.get(label)
        mine = column if line is None else replace(line.column, type=column.type)
        own.append(mine if differs_by_shard(column) else replace(mine, default=column.default, born=column.born))
    if SHARD_COLUMN in columns:
        own[0] = replace(SHARD_COLUMN, default=label)
    aside = {group.strangers[label]: group.identity for group in groups if label in group.strangers}
    return Shard(label, history, tuple(own), aside)


def _keys(whole: TableName, cut: Seq[TableHistory], living: set[str], groups: Seq[_Group]) -> tuple[str, ...] | None:
    """The key that all shards have; None where statements tell none."""
    found: dict[tuple[str, ...], str] = {}
    for shard in cut:
        label = shard.label
        if shard.rekeyed:
            raise _Refused(f"the primary key of {label}, which goes into {whole}, changed over its rows")
        if label in living and shard.final.keys is not None:
            named = {
                line.names[-1].lower(): each.name for each in groups if (line := each.lines.get(label)) is not None
            }
            found.setdefault(tuple(named.get(key.lower(), key) for key in shard.final.keys), label)
        if casts := casts_of(shard.final.columns):
            column = casts[0][1].name
            raise _Refused(f"column {column!r} of {label}, which goes into {whole}, took a type that may change values")
    if len(found) > 1:
        one, other = list(found.items())[:2]
        raise _Differ(f"the key of {one[1]} is {one[0]}, and that of {other[1]} is {other[0]}")
    return next(iter(found), None)


def _group(cut: Seq[TableHistory], living: set[str]) -> list[_Group]:
    """The columns that are one: of a common first name, or, of one that came later, of one name now.

    One that came when all others of its first name were gone is another column.
    """
    groups: dict[tuple[str, int], _Group] = {}
    found = [
        (label, place, key, line)
        for label, shard in ((shard.label, shard) for shard in cut)
        for place, (key, line) in enumerate(_lines(shard, label in living).items())
    ]
    for label, _, key, line in sorted(found, key=lambda each: (*_at(each[3].born), each[0], each[1])):
        group = groups.get(key)
        if group is None or label in group.lines or group.ended_before(line):
            now = line.names[-1].lower()
            others = (each for each in groups.values() if label not in each.lines and each.living)
            group = next((each for each in others if each.name.lower() == now), None)
        if group is None:
            first, number = key
            while (first, number) in groups:
                number += 1
            group = groups[first, number] = _Group(_identity((first, number)))
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


def _at(position: Sequence | None) -> tuple[bool, Sequence | tuple[()]]:
    return position is not None, position or ()


def _lines(history: TableHistory, lives: bool) -> dict[tuple[str, int], _Line]:
    """The columns of a shard by their first name, and how many of that name were before."""
    found: dict[tuple[str, bool], tuple[tuple[str, int], _Line]] = {}
    counts: dict[str, int] = {}
    for epoch in history.epochs:
        here = {_of(column) for column in epoch.columns}
        anew = here.isdisjoint(found)
        if anew:
            # The table was made anew: none of its columns was there before.
            found, counts = {}, {}
        for origin, (_, line) in found.items():
            line.lives = origin in here
            line.ended = line.ended if line.lives or line.ended is not None else epoch.start
        for column in epoch.columns:
            origin = _of(column)
            if origin not in found:
                first = f"{column.name.lower()}{'~' if column.kept else ''}"
                counts[first] = counts.get(first, -1) + 1
                found[origin] = (first, counts[first]), _Line(column, [], not anew, epoch.start)
            line = found[origin][1]
            line.column = column
            if not line.names or line.names[-1] != column.name:
                line.names.append(column.name)
    for _, line in found.values():
        line.lives = line.lives and lives
    places = {_of(column): at for at, column in enumerate(history.final.columns)}
    return dict(sorted(found.values(), key=lambda each: places.get(_of(each[1].column), len(places))))


def _of(column: Column) -> tuple[str, bool]:
    return _origin(column).id, column.kept is not None


def _origin(column: Column) -> Column:
    while column.fill is not None:
        column = column.fill.of
    return column
