"""Find values that parent rows no longer have, in columns to which foreign keys of other tables refer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from retable.errors import MessageError, TableError
from retable.fold.fold import ABSENT, Values
from retable.fold.images import TableReader
from retable.gold.store import RowDict
from retable.model.row_event import Pair, RowEvent
from retable.replay.batch.silver_rows import sequence_of, to_event
from retable.replay.inputs.rules import SourceRules
from retable.replay.references.suspects import Lost
from retable.schema_history.history import Column, TableHistory
from retable.schema_history.references import ForeignKeyReference, Moment


def referred_columns(reference: ForeignKeyReference, parent: TableHistory) -> tuple[str, ...]:
    """Return the names of the columns of the parent table to which a foreign key refers.

    If the foreign key does not name them, these are the key columns of the parent. The result is empty if these are not
    known.
    """
    return reference.key.parent_columns or parent.final.keys or ()


def losses(
    reference: ForeignKeyReference,
    parent: TableHistory,
    records: Iterable[RowDict],
    rules: SourceRules,
    ordinals: Mapping[str, int],
) -> Iterator[Lost]:
    """Yield the values that deletes and updates of parent rows removed while the foreign key may have existed.

    `records` are row events of the parent table, as rows of silver. An event is skipped if one of its old values is
    unknown or null. `rules` says how to read the values of the source. `ordinals` are the numbers of windows by name.
    Yield nothing if the parent does not have all columns to which the foreign key refers.
    """
    columns = [parent.final.column(name) for name in referred_columns(reference, parent)]
    if not columns or None in columns:
        return
    reader = _reader(parent, cast(list[Column], columns), rules)
    halves: dict[Pair, list[Values]] = {}
    events = [(to_event(record, ordinals, False), record) for record in records]
    for event, record in sorted(events, key=lambda each: each[0].arrival):
        moment = moment_of(record)
        if not reference.may_cover(moment) or not any(span.covers(event.sequence) for span in parent.spans):
            continue
        before, after = _sides(reader, event)
        if event.half == "before" and before is not None:
            halves.setdefault(event.pair, []).append(before)
            continue
        if event.half == "after":
            before = _take_before(halves.get(event.pair, []), after)
        if before is None or ABSENT in before or None in before:
            continue
        if after is None or _differ(before, after):
            yield Lost(before, moment, "delete" if event.op == "DELETE" else "update", str(record["window"]))


def _take_before(befores: list[Values], after: Values | None) -> Values | None:
    """Remove from `befores` the values that an update in two messages had before, and return them; None if it has none.

    `befores` are those of its transaction. The ones that equal `after` are taken, or else the first ones.
    """
    if not befores:
        return None
    same = (at for at, before in enumerate(befores) if after is not None and not _differ(before, after))
    return befores.pop(next(same, 0))


def _differ(before: Values, after: Values) -> bool:
    return any(now is not ABSENT and now != was for was, now in zip(before, after, strict=True))


def moment_of(record: RowDict) -> Moment:
    """Return the sequence, the source partition and the source time of a row event. `record` is its row in silver."""
    return Moment(sequence_of(record), cast(str | None, record["part"]), cast(int | None, record.get("event_time_ms")))


def _reader(parent: TableHistory, columns: list[Column], rules: SourceRules) -> TableReader:
    return TableReader(
        history=parent,
        keys=(),
        source_format=rules.source.format,
        rules=rules.value_rules(parent.name),
        columns=tuple(columns),
    )


def _sides(reader: TableReader, event: RowEvent) -> tuple[Values | None, Values | None]:
    try:
        return reader.sides(event)
    except (MessageError, TableError):
        return None, None
