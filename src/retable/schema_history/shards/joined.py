"""Join the histories of several source tables (shards) into the history of one gold table.

Each row is read with the history of its own shard, so a statement of one shard does not affect rows of another shard.
The gold table has each column that at least one shard has, with the widest type. Gold drops a column when all shards
have dropped it, and renames a column when all shards have renamed it. If the columns or keys of the shards do not fit
into one table, the gold table is held.
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
"""The two possible names of the column that contains a row's shard. Readers of gold see only the first."""


def identify(name: TableName) -> str:
    """Return the identity (ID) of a gold table that several source tables go into, such as `shop.orders@shards`.

    `name` is the name of the gold table: the setting `to` of the source tables.
    """
    return f"{name}@shards"


def is_sharded(identity: str) -> bool:
    """Return whether several source tables (shards) go into the table with this identity (the ID of a table)."""
    return identity.endswith("@shards")


def shard_column(shown: bool) -> Column:
    """Return the gold column with the shard (source table) of each row. It is the last column of the key.

    `shown` says whether readers of gold see the column.
    """
    return Column(id=SHARD_ID, name=SHOWN if shown else HIDDEN, source_type=None, type=GoldType("string"))


def join(name: TableName, histories: Iterable[TableHistory], shown: bool) -> TableHistory:
    """Join the histories of shards into the history of the gold table `name`. The shard's name becomes part of the key.

    `shown` says whether readers see the column with the shard's name. The result has a hold if a shard has a hold, or
    if the shards' columns or keys do not fit into one table. Such a hold is at the statement that made them different.
    """
    histories = sorted(histories, key=_age)
    labels = _labels(histories)
    shards = [_labelled(history, labels[history.identity]) for history in histories]
    return _held(name, shards, shard_column(shown), reduce(together, (shard.hold for shard in shards), None))


def together(one: Hold | None, other: Hold | None) -> Hold | None:
    """Combine two holds of one table into one hold. None means no hold.

    Return the hold with the lower position. A hold without a position stops the whole table, so it counts as lowest.
    Positions in different source partitions cannot be compared. In this case, return a hold of the whole table. Its
    code is SHARDS_DIFFER if one of the two holds has this code, and else the code of `one`. A hold with the code
    SHARDS_DIFFER needs no decision of a person: it ends when the shards have matching schemas again.
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
    """Return whether a hold has ended because the shards (source tables) of the table have matching schemas again.

    `hold` is the recorded hold of the gold table; None gives False. `history` is the joined history of its shards, from
    the statements known now. The hold has ended if its code is SHARDS_DIFFER and the hold of `history` has another code
    or is None.
    """
    return (
        hold is not None and hold.code == SHARDS_DIFFER and (history.hold is None or history.hold.code != SHARDS_DIFFER)
    )


def of_shard(event: RowEvent, label: str) -> RowEvent:
    """Return a copy of a row event that names its shard (source table): `label` is the name of the shard.

    The field `part` of the copy also contains the name, as `shop.orders_7|0` for the source partition `0`.
    """
    return event._replace(shard=label, part=join_part(label, event.part))


def of_shards(decisions: tuple[Decision, ...], histories: Iterable[TableHistory]) -> tuple[Decision, ...]:
    """Convert people's decisions about a gold table with shards to decisions about its shards (source tables).

    `histories` are those of the shards. The field `part` of a decision names the shard, and this shard gets the
    decision. A shard may have been renamed. So if no shard has this name, or if the decision is about a row, each shard
    that once had the name gets the decision, too. This does no harm, because only one of these shards has a statement
    or row at the position of the decision. Decisions about tables without shards are returned unchanged.
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
    """Return the label of each shard by identity: its name.

    If several shards have the same name, one of them keeps it: one that is not dropped, or else the one that got the
    name last. For all others, the identity is added to the name.
    """
    latest = sorted(histories, key=lambda history: at_place(history.spans[-1].start), reverse=True)
    found: dict[str, str] = {}
    for history in sorted(latest, key=lambda history: history.dropped):
        name = str(history.name)
        found[history.identity] = f"{name} ({history.identity})" if name in found.values() else name
    return found


def _labelled(history: TableHistory, label: str) -> TableHistory:
    """Return the history of a shard, with its label added to the partitions of its rows and statements."""
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
    """Return the history of the gold table up to a hold, or up to an earlier statement at which the shards differ."""
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
    """Return the history of a shard up to a hold. If their positions cannot be compared, the shard is not stopped."""
    parts = {source_part(change.part) for change in shard.changes}
    return shard.until(hold) if hold.part is None or source_part(hold.part) in parts else shard


def _whole(
    name: TableName, shards: Seq[TableHistory], cut: Seq[TableHistory], named: Column, hold: Hold | None
) -> TableHistory:
    """Return the history of the gold table. `cut` are the histories of the shards up to the hold.

    Raise Differ if they cannot be joined.
    """
    living = {shard.label for shard in cut if not shard.dropped} or {shard.label for shard in cut}
    groups = group_columns(cut, living)
    columns = [group.column() for group in groups]
    called: dict[str, Column] = {}
    for column in columns:
        if called.setdefault(column.name.lower(), column) is not column:
            raise Differ(f"the source tables have two different columns that are both called {column.name!r}")
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
    """Return a shard with its own column for each column of the gold table. Types and defaults are the gold table's."""
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
    """Return the primary key of the shards, or None if no statement declares a key.

    Raise Differ if the keys of the shards differ. Raise Refused if a key changed, or a type changed lossily.
    """
    found: dict[tuple[str, ...], str] = {}
    for shard in cut:
        label = shard.label
        if shard.rekeyed:
            raise Refused(
                f"the primary key of {label}, a source table of {whole}, changed, and the table still has rows from "
                f"before the change; this is not supported for several source tables in one gold table"
            )
        if label in living and shard.final.keys is not None:
            named = {
                line.names[-1].lower(): each.name for each in groups if (line := each.lines.get(label)) is not None
            }
            found.setdefault(tuple(named.get(key.lower(), key) for key in shard.final.keys), label)
        if casts := casts_of(shard.final.columns):
            column = casts[0][1].name
            raise Refused(
                f"column {column!r} of {label}, a source table of {whole}, changed to a type that may change its "
                f"values; this is not supported for several source tables in one gold table"
            )
    if len(found) > 1:
        one, other = list(found.items())[:2]
        raise Differ(
            f"the source tables have different keys: the key of {one[1]} is {one[0]}, and the key of {other[1]} is "
            f"{other[0]}"
        )
    return next(iter(found), None)
