"""Tries in memory what a replay would do with some events of a source.

It applies their statements to the tables' schemas, and reads each row with the schema of its table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from retable.decode.silver import events_to_batch
from retable.errors import KeyUnknown, MessageError, TableError
from retable.fold.bounds import Bounds
from retable.fold.images import TableReader
from retable.formats.image_text import read_image
from retable.gold.store import RowDict
from retable.ledger.lake.catalog import Lake
from retable.ledger.quarantine import message_place
from retable.model.event import ChangeEvent, TableName
from retable.model.row_event import RowEvent
from retable.model.schema_change import Unsupported
from retable.replay.batch.silver_rows import by_name, to_event
from retable.replay.inputs.histories import read_known, read_source_statements
from retable.replay.inputs.plan import Tables
from retable.replay.inputs.rules import SourceRules
from retable.replay.table.rounds import Widenings
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.shards.parts import SHARD_ID
from retable.schema_history.statement import Statement
from retable.schema_history.traced import InferredColumn
from retable.settings.sources import SourceSettings

_SAMPLE = "sample"


@dataclass(slots=True, kw_only=True)
class Tried:
    """The result of `try_out` for one gold table.

    - `history`: the table's schemas over time. `gold`: the gold table's name. `rows`: the tried row events.
    - `keys`: the key columns, from the settings, statements or messages; () if no key is known.
    - `stops`: why a run would hold the table; None if it would not.
    - `refused`: the rows that would be rejected: for each shard (source table, if several share the gold table) and
      error code, the number of rows and one reason.
    - `open`: the columns of unknown type, which become text.
    - `is_left_out`: whether a run would not make the gold table yet.
    """

    history: TableHistory
    gold: str
    rows: list[RowEvent]
    keys: tuple[str, ...] = ()
    stops: str | None = None
    refused: dict[str | None, dict[str, tuple[int, str]]] = field(default_factory=dict)
    open: tuple[str, ...] = ()
    is_left_out: bool = False


def try_out(lake: Lake, source: SourceSettings, events: Sequence[ChangeEvent], is_whole: bool) -> list[Tried]:
    """Apply the statements of silver and of `events`, and read each row of `events` with the schema of its table.

    Return one result for each gold table. `is_whole` is False if `events` is a sample that may lack statements. Then a
    hold that statements cause is ignored, because a missing statement may be its cause. Only the hold of an unsupported
    statement is not ignored.
    `is_left_out` is True for a table without a row in `events` that only a connector's snapshot declares, unless the
    format option `snapshot_tables` is `all`.
    """
    records = events_to_batch(_SAMPLE, events).to_pylist() if events else []
    rules, statements = read_source_statements(lake, source, [row for row in records if row["kind"] == "schema"])
    named = by_name(row for row in records if row["kind"] == "row")
    rows = {name: [to_event(row, {_SAMPLE: 0}, counted=True) for row in mine] for name, mine in _taken(source, named)}
    tables, owned = _trace(lake, source, rules, statements, rows)
    names = tables.gold_names()
    found = []
    for history in tables.histories():
        gold, clash = names[history.identity]
        tried = Tried(history=history, gold=gold, rows=owned.get(history.identity, []))
        hold = history.hold if is_whole or _is_unsupported(history.hold, statements) else None
        _read(tried, rules, hold or clash)
        tried.open = _open(tried, rules)
        leaves = source.options.leaves_empty_tables and not tried.rows
        tried.is_left_out = leaves and tables.is_declared_only(history)
        found.append(tried)
    return found


def _taken(
    source: SourceSettings, named: Mapping[TableName, list[RowDict]]
) -> Iterator[tuple[TableName, list[RowDict]]]:
    return ((name, records) for name, records in named.items() if source.takes(name))


def _trace(
    lake: Lake,
    source: SourceSettings,
    rules: SourceRules,
    statements: list[Statement],
    rows: Mapping[TableName, list[RowEvent]],
) -> tuple[Tables, Mapping[str, list[RowEvent]]]:
    """Apply the statements, and add the columns that only rows show. Return the tables, and the rows by identity."""
    inferred, widenings, known = list[InferredColumn](), Widenings(), read_known(lake, source.name)
    while True:
        tables = Tables.trace(statements, rules, inferred, known)
        owned = tables.split(dict(rows))
        undeclared = widenings.fresh(tables.undeclared(owned, {}), inferred)
        if not undeclared:
            return tables, owned
        inferred += undeclared


def _is_unsupported(hold: Hold | None, statements: Sequence[Statement]) -> bool:
    """Return whether a statement at the position of `hold` is unsupported."""
    at = [each for each in statements if hold is not None and each.position == hold.place]
    return any(isinstance(change, Unsupported) for each in at for change in each.changes)


def _read(tried: Tried, rules: SourceRules, hold: Hold | None) -> None:
    """Read each row of a table that a replay would apply. Record in `tried` the rows that do not fit, and a stop."""
    history = tried.history
    if hold is not None:
        tried.stops = f"{hold.code} at {hold.place or 'its first row'}: {hold.words}"
    try:
        tried.keys = rules.keys(history, tried.rows, (), hold)
        reader = TableReader(
            history=history, keys=tried.keys, source_format=rules.source.format, rules=rules.value_rules(history.name)
        )
    except (KeyUnknown, TableError) as error:
        tried.stops = tried.stops or f"{error.code}: {error.message}"
        return
    bounds = Bounds(history.truncated_at, hold, history.skipped, history.shard_truncations)
    for event in tried.rows:
        if bounds.verdict(event) is not None:
            continue
        try:
            reader.read(event)
        except MessageError as error:
            refused = tried.refused.setdefault(event.shard, {})
            place = message_place(event.topic, event.partition, event.offset, event.row_index)
            count, first = refused.get(error.code, (0, f"{place}: {error.message}"))
            refused[error.code] = count + 1, first
        except TableError as error:
            tried.stops = tried.stops or f"{error.code} at {event.sequence}: {error.message}"


def _open(tried: Tried, rules: SourceRules) -> tuple[str, ...]:
    """Return the columns that become text because no statement, setting or message declares their type."""
    history = tried.history
    typed = set()
    for event in tried.rows:
        epoch = history.of(event.shard).epoch_of(event.sequence)
        types = event.types or dict.fromkeys(read_image(event.after or event.before or "{}"))
        named = ((epoch.column(name), wire) for name, wire in types.items())
        typed |= {column.id for column, wire in named if column is not None and wire and wire.strip()}
    settled = rules.settings.rules(history.name).types
    return tuple(
        column.name
        for column in history.final.columns
        if column.retained is None and column.source_type is None and column.type.kind == "string"
        if column.id not in typed | {SHARD_ID} and column.name not in settled
    )
