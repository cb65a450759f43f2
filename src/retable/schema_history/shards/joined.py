"""Join several tables of a source (shards) into one gold table: their histories, and the columns of the whole.

Each row is read under the history of its own shard, so a statement of one shard does not affect the rows of another. A
column of some shards is a column of the whole, with the widest type. It is dropped when all shards have dropped it, and
renamed when all have renamed it. If one column cannot hold the shards' differences, the whole is held.
"""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import replace
from functools import reduce

from retable.model.event import TableName
from retable.model.row_event import RowEvent
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.decisions import Decision
from retable.schema_history.history import Column, Epoch, Hold, NameSpan, Shard, TableHistory
from retable.schema_history.policies import casts_of
from retable.schema_history.shards.columns import (
    OWN,
    SHARDS_DIFFER,
    Differ,
    Group,
    Refused,
    at_place,
    differs_by_shard,
    group_columns,
)
from retable.schema_history.shards.parts import SHARD_ID, join_part, shard_of, source_part

SHOWN, HIDDEN = "source_table", "_retable_source_table"
"""The names of the column that contains a row's shard: visible to readers, or internal to Retable."""


def identify(name: TableName) -> str:
    """Give the identity of the gold table of several source tables."""
    return f"{name}@shards"


def is_sharded(identity: str) -> bool:
    """Say whether an identity is that of a table with shards."""
    return identity.endswith("@shards")


def shard_column(shown: bool) -> Column:
    """Give the column that contains the shard of a row. It is the last column of the key."""
    return Column(id=SHARD_ID, name=SHOWN if shown else HIDDEN, source_type=None, type=GoldType("string"))


def join(name: TableName, histories: Iterable[TableHistory], shown: bool) -> TableHistory:
    """Join the histories of shards into one. The shard's name joins the key; `shown`: in a column that readers see.

    The result is held if a shard is held, and at the statement from which on the shards differ.
    """
    histories = sorted(histories, key=_age)
    labels = _labels(histories)
    shards = [_labelled(history, labels[history.identity]) for history in histories]
    return _held(name, shards, shard_column(shown), reduce(together, (shard.hold for shard in shards), None))


def together(one: Hold | None, other: Hold | None) -> Hold | None:
    """Combine two holds of a table: the lower one, or a hold of the whole table if nothing orders them.

    If one of the two is SHARDS_DIFFER, the result is too, because that hold ends by itself.
    """
    if one is None or other is None:
        return one or other
    if one.position is None or other.position is None:
        return one if one.position is None else other
    if source_part(one.part) == source_part(other.part):
        return one if one.position <= other.position else other
    first, also = (other, one) if other.code == SHARDS_DIFFER else (one, other)
    reason = f"{first.reason}; another partition of the table is held too ({also.code}: {also.reason})"
    return replace(first, reason=reason, position=None, at=first.place)


def waits_no_more(hold: Hold | None, history: TableHistory) -> bool:
    """Whether a table is held because its shards differed, and they no longer differ."""
    return (
        hold is not None and hold.code == SHARDS_DIFFER and (history.hold is None or history.hold.code != SHARDS_DIFFER)
    )


def of_shard(event: RowEvent, label: str) -> RowEvent:
    """Give a row as a row of a shard."""
    return event._replace(shard=label, part=join_part(label, event.part))


def of_shards(decisions: tuple[Decision, ...], histories: Iterable[TableHistory]) -> tuple[Decision, ...]:
    """Convert decisions on the whole to decisions on the shard that each refers to.

    If that shard has another name now, all tables that had the name get the decision. Only one has its position.
    """
    if not any(is_sharded(decision.identity) for decision in decisions):
        return decisions
    histories = list(histories)
    known = {label: identity for identity, label in _labels(histories).items()}
    former: dict[str | None, list[str]] = defaultdict(list)
    for history in histories:
        for span in history.spans:
            former[str(span.name)].append(history.identity)
    found: list[Decision] = []
    for decision in decisions:
        label = shard_of(decision.part) if is_sharded(decision.identity) else None
        shards = [known[label]] if label in known else []
        shards += former[label] if not shards or decision.is_of_row else []
        found += [replace(decision, identity=shard, part=source_part(decision.part)) for shard in shards]
        found += [] if label in known else [decision]
    return tuple(dict.fromkeys(found))


def _age(history: TableHistory) -> tuple[bool, Sequence | tuple[()], str]:
    return *at_place(history.spans[0].start), str(history.name)


def _labels(histories: Iterable[TableHistory]) -> dict[str, str]:
    """The name of each table, by identity. If several had one name, only the last or the living one keeps it."""
    latest = sorted(histories, key=lambda history: at_place(history.spans[-1].start), reverse=True)
    found: dict[str, str] = {}
    for history in sorted(latest, key=lambda history: history.dropped):
        name = str(history.name)
        found[history.identity] = f"{name} ({history.identity})" if name in found.values() else name
    return found


def _labelled(history: TableHistory, label: str) -> TableHistory:
    """The history with the shard in the partitions of its rows and statements."""
    hold = history.hold
    return replace(
        history,
        called=history.name,
        label=label,
        hold=None if hold is None else replace(hold, part=join_part(label, hold.part)),
        changes=tuple(replace(change, part=join_part(label, change.part)) for change in history.changes),
        skipped=frozenset((position, join_part(label, part), text) for position, part, text in history.skipped),
    )


def _held(name: TableName, shards: Seq[TableHistory], named: Column, hold: Hold | None) -> TableHistory:
    """The whole up to a hold, or up to an earlier statement from which on its shards differ."""
    cut = [shard if hold is None else _until(shard, hold) for shard in shards]
    try:
        return _whole(name, shards, cut, named, hold)
    except Differ as differ:
        code, reason, remedy = differ.code, str(differ), differ.remedy
    if hold is not None and hold.position is None:
        return _whole(name, shards, [], named, hold)
    found = [change for shard in cut for change in shard.changes if change.status == "applied"]
    below, stops = cut, hold
    for change in sorted(found, key=lambda each: (each.position, each.part or ""), reverse=True):
        stop = Hold(code, reason, change.position, change.part, change.statement, remedy)
        below, stops = [_until(shard, stop) for shard in below], together(stops, stop)
        alone = [_until(shard, stop) for shard in cut], together(hold, stop)
        for pieces, held in (alone, (below, stops)):
            try:
                whole = _whole(name, shards, pieces, named, held)
                return replace(whole, changes=(*whole.changes, replace(change, status="refused", reason=reason)))
            except Differ:
                continue
    return _whole(name, shards, [], named, Hold(code, reason, None, None, None, remedy))


def _until(shard: TableHistory, hold: Hold) -> TableHistory:
    """A shard below a hold. If its positions do not compare with the hold's, it continues."""
    parts = {source_part(change.part) for change in shard.changes}
    return shard.until(hold) if hold.part is None or source_part(hold.part) in parts else shard


def _whole(
    name: TableName, shards: Seq[TableHistory], cut: Seq[TableHistory], named: Column, hold: Hold | None
) -> TableHistory:
    """The whole of shards up to their `cut`. `Differ` says why they cannot be joined."""
    living = {shard.label for shard in cut if not shard.dropped} or {shard.label for shard in cut}
    groups = group_columns(cut, living)
    columns = [group.column() for group in groups]
    called: dict[str, Column] = {}
    for column in columns:
        if called.setdefault(column.name.lower(), column) is not column:
            raise Differ(f"column {column.name!r} of some source tables is not the same as in others")
    keys = _keys(name, cut, living, groups)
    columns.insert(0, named)
    keys = (*keys, named.name) if keys else keys
    changes = (change for shard in cut for change in shard.changes)
    return TableHistory(
        identity=identify(name),
        spans=(NameSpan(name, None, None),),
        epochs=(Epoch(None, tuple(columns), keys, complete=False),),
        hold=hold,
        changes=tuple(sorted(changes, key=lambda change: (change.position, change.part or ""))),
        skipped=frozenset().union(*(shard.skipped for shard in shards)),
        shards=tuple(_shard(shard, groups, columns) for shard in cut or shards),
        cut=lambda stop: _held(name, shards, named, together(hold, stop)),
    )


def _shard(history: TableHistory, groups: Seq[Group], columns: Seq[Column]) -> Shard:
    """A shard with its own columns for those of the whole, which give the types and defaults."""
    label = history.label
    own: list[Column] = []
    for column in columns:
        group = next((each for each in groups if column.id.partition(OWN)[0] == each.identity), None)
        line = None if group is None else group.lines.get(label)
        mine = column if line is None else replace(line.column, type=column.type)
        own.append(mine if differs_by_shard(column) else replace(mine, default=column.default, born=column.born))
    own[0] = replace(columns[0], default=label)
    reassigned = {group.strangers[label]: group.identity for group in groups if label in group.strangers}
    return Shard(label, history, tuple(own), reassigned)


def _keys(whole: TableName, cut: Seq[TableHistory], living: set[str], groups: Seq[Group]) -> tuple[str, ...] | None:
    """The key of all shards; None if statements declare no key."""
    found: dict[tuple[str, ...], str] = {}
    for shard in cut:
        label = shard.label
        if shard.rekeyed:
            raise Refused(
                f"the primary key of {label}, a source table of {whole}, changed, and earlier rows still count"
            )
        if label in living and shard.final.keys is not None:
            named = {
                line.names[-1].lower(): each.name for each in groups if (line := each.lines.get(label)) is not None
            }
            found.setdefault(tuple(named.get(key.lower(), key) for key in shard.final.keys), label)
        if casts := casts_of(shard.final.columns):
            column = casts[0][1].name
            raise Refused(
                f"column {column!r} of {label}, a source table of {whole}, changed to a type that may change values"
            )
    if len(found) > 1:
        one, other = list(found.items())[:2]
        raise Differ(f"the key of {one[1]} is {one[0]}, and the key of {other[1]} is {other[0]}")
    return next(iter(found), None)
