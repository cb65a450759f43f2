"""Writes a full copy of a table to silver, in pieces of many rows. Replay uses the rows only after the last piece is
written."""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import EqualTo, Reference
from pyiceberg.expressions.literals import literal

from retable.decode.silver import events_to_batch
from retable.errors import InvalidSetting
from retable.gold.render import json_rows
from retable.ledger.baselines import identify, piece_number, piece_window
from retable.ledger.lake.catalog import Lake
from retable.ledger.lake.data_files import PartitionWriter, replace_files, standing_files
from retable.ledger.lake.error_translation import explained
from retable.ledger.leases import LENGTH, Lease, leased
from retable.ledger.read import read_baselines
from retable.ledger.rows import BaselineRow
from retable.ledger.write import append_rows
from retable.model.event import Address, ChangeEvent, TableName
from retable.model.sequence import Sequence, parse_sequence
from retable.onboard.baseline.copies import Copy
from retable.onboard.baseline.key_spelling import Spelling, spelling_in_copy
from retable.replay.inputs.baselines import read_unfinished
from retable.settings.sources import SourceSettings
from retable.values.baseline_encoding import baseline_wire

PIECE_ROWS = 200_000
"""The number of rows in one piece of a full copy. A replay holds one piece in memory at a time."""

_BEHIND = 2**62
_APART = 2**40
"""The distance in `lo` (the last number of a position) between two copies of a table at the same position. No copy has
more rows."""

_NAME = "baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The table that starts from a full copy, and the position of the copy in the source's log.

    `part` is the Kafka partition (topic and number) of the position; it is None if positions compare in the whole
    source. `keys` are the key columns. `spellings` says for each of them how messages write its values: as `digits`, as
    `text`, or None if this is not known. `nth` is the number of earlier copies of this table at this position.
    """

    source: str
    source_format: str
    table: TableName
    position: Sequence
    part: tuple[str, int] | None
    keys: tuple[str, ...]
    spellings: tuple[Spelling | None, ...] = ()
    nth: int = 0

    @property
    def start(self) -> Sequence:
        """The position at which the table starts.

        It has the same `hi` (a number such as a log position) as the copy's position, but comes after all changes with
        this `hi`. It also comes after the rows of earlier copies at the same position.
        """
        return Sequence(self.position.epoch, self.position.hi, _BEHIND + self.nth * _APART)


def land_baseline(
    lake: Lake, target: Target, copy: Copy, now: datetime, step: Callable[[str], None], most: int = PIECE_ROWS
) -> list[BaselineRow]:
    """Write the rows of a copy to silver, in pieces of `most` rows, and return the ledger's rows about all pieces.

    Pieces that an earlier, interrupted call wrote are kept. Replay uses no piece before the last piece exists. `step`
    gets one line of progress for each written piece. `now` is recorded as the time of each piece. InvalidSetting if the
    copy lacks a key column. Leased if another baseline of the source is being written: both would number their pieces
    in the same way.
    """
    _check_key(target, copy)
    holder, silver = f"{_NAME}-{uuid.uuid4().hex[:8]}", f"silver.{target.source}"
    with leased(
        lake,
        Lease(
            source=target.source,
            target=silver,
            purpose="baseline",
            holder=holder,
            until=now + LENGTH,
            recorded_at=now,
        ),
    ):
        return _land_pieces(lake, target, copy, now, step, most)


def _land_pieces(
    lake: Lake, target: Target, copy: Copy, now: datetime, step: Callable[[str], None], most: int
) -> list[BaselineRow]:
    recorded = read_baselines(lake, target.source)
    target = replace(target, nth=_nth(recorded, target, _dump(copy, most)))
    same = identify(_row(target, copy, most, 0, "", 0, False, now))
    mine = {row.piece: row for row in recorded if identify(row) == same}
    if any(row.last for row in mine.values()):
        return [mine[piece] for piece in sorted(mine)]
    number = max((piece_number(row.window) for row in recorded), default=0)
    piece, batches = 0, copy.batches
    if mine and copy.behind is not None:
        # The pieces were written in order, and all except the last one have `most` rows.
        piece, last = len(mine), _last_row(lake, target, mine[len(mine) - 1].window)
        batches = partial(copy.behind, last)
    pieces = _pieces(batches(), copy, most)
    rows = next(pieces)
    while rows is not None:
        following = next(pieces)
        if piece not in mine:
            number += 1
            window = piece_window(number)
            _land(lake, target, copy, window, rows, piece * most)
            mine[piece] = _row(target, copy, most, piece, window, rows.num_rows, following is None, now)
            append_rows(lake, [mine[piece]])
            step(f"{target.table}: piece {piece + 1}, {rows.num_rows:,} rows")
        piece, rows = piece + 1, following
    return [mine[piece] for piece in sorted(mine)]


def begun_at(
    lake: Lake, source: SourceSettings, table: TableName, copy: Copy, most: int = PIECE_ROWS
) -> Sequence | None:
    """Return the position of an unfinished baseline (an interrupted write of this `copy` in pieces of `most` rows).

    None if there is no such baseline, or if the setting `source_epoch` has changed since.
    """
    for each in read_unfinished(lake, source.name):
        at = parse_sequence(each.rows[0].position)
        if (each.table, each.rows[0].dump, at.epoch) == (table, _dump(copy, most), source.source_epoch):
            return Sequence(at.epoch, at.hi, 0)
    return None


def _check_key(target: Target, copy: Copy) -> None:
    known = {name.lower() for name in copy.types}
    missing = [key for key in target.keys if key.lower() not in known]
    if known and missing:
        raise InvalidSetting(
            f"the key column {missing[0]!r} of {target.table} is not in the copy {copy.origin}, whose first columns "
            f"are {', '.join(map(repr, [*copy.types][:9]))}; give a copy with this column, or for CSV the right "
            f"--delimiter"
        )


def _nth(recorded: list[BaselineRow], target: Target, dump: str) -> int:
    """Return the number of this copy among the recorded copies of the table at this position.

    If the last recorded copy has the same `dump`, it is this copy. Otherwise the copy gets the next number.
    """
    place = (target.table, _part(target), target.position.epoch, target.position.hi)
    copies: dict[int, str] = {}
    for row in recorded:
        at = parse_sequence(row.position)
        if (TableName(row.database, row.schema, row.table), row.part, at.epoch, at.hi) == place:
            copies[(at.lo - _BEHIND) // _APART] = row.dump
    last = max(copies, default=-1)
    return last if copies.get(last) == dump else last + 1


def _dump(copy: Copy, most: int) -> str:
    """Return the identity of a copy that is written in pieces of `most` rows."""
    return f"{copy.digest}-{most}"


def _row(
    target: Target, copy: Copy, most: int, piece: int, window: str, rows: int, last: bool, now: datetime
) -> BaselineRow:
    """Return the record of one piece. `most` is part of its `dump`."""
    return BaselineRow(
        source=target.source,
        database=target.table.database,
        schema=target.table.schema,
        table=target.table.table,
        position=str(target.start),
        part=_part(target),
        dump=_dump(copy, most),
        piece=piece,
        window=window,
        rows=rows,
        last=last,
        origin=copy.origin,
        recorded_at=now,
    )


def _part(target: Target) -> str:
    return "" if target.part is None else f"{target.part[0]}/{target.part[1]}"


def _last_row(lake: Lake, target: Target, window: str) -> dict[str, object]:
    """Return the last row of the piece that is in `window`, as a JSON object."""
    silver = lake.load(f"silver.{target.source}")
    mine = EqualTo(term=Reference("window"), value=literal(window))
    with explained(lake.settings.lake):
        rows = silver.scan(row_filter=mine, selected_fields=("sequence", "after")).to_arrow()
    numbers = pc.struct_field(rows["sequence"], "lo")
    last: dict[str, object] = json.loads(rows["after"][pc.index(numbers, pc.max(numbers)).as_py()].as_py())
    return last


def _pieces(batches: Iterator[pa.RecordBatch], copy: Copy, most: int) -> Iterator[pa.Table | None]:
    """Yield the rows in pieces of `most` rows, at least one piece, and then None."""
    held: list[pa.RecordBatch] = []
    size, given = 0, False
    schema = None
    for batch in batches:
        schema = batch.schema
        while batch.num_rows:
            taken = batch.slice(0, most - size)
            batch = batch.slice(taken.num_rows)
            held.append(taken)
            size += taken.num_rows
            if size == most:
                yield pa.Table.from_batches(held)
                held, size, given = [], 0, True
    if held or not given:
        empty = schema or pa.schema([(name, pa.string()) for name in copy.types])
        yield pa.Table.from_batches(held, schema=held[0].schema if held else empty)
    yield None


def _land(lake: Lake, target: Target, copy: Copy, window: str, rows: pa.Table, first: int) -> None:
    """Write the rows of one piece to silver. `first` is the number of its first row in the whole copy."""
    silver = lake.ensure(f"silver.{target.source}")
    place = {"window": window, "kind": "row"}
    writer, files = PartitionWriter(silver.io, silver.metadata), []
    events = piece_events(target, copy, first, rows)
    if events:
        batch = events_to_batch(window, events)
        files.append(writer.write(pa.Table.from_batches([batch]).sort_by([("key_hash", "ascending")]), place))
    if files or standing_files(lake, silver, {"window": window}):
        properties = {"retable.window": window, "retable.run": f"{_NAME}-{uuid.uuid4().hex[:8]}"}
        replace_files(lake, silver, {"window": window}, files, properties)


def piece_events(target: Target, copy: Copy, first: int, rows: pa.Table) -> list[ChangeEvent]:
    """Return rows of a copy as READ events (change events of a full copy).

    `first` is the number of the first of these rows in the whole copy. The sequences (positions) of the events ascend,
    and come after `target.start`.
    """
    topic, partition = target.part or (_NAME, 0)
    start = target.start
    types = {name: baseline_wire(kind) for name, kind in copy.types.items()}
    table = target.table
    return [
        ChangeEvent(
            source_format=target.source_format,
            source_system=None,
            op="READ",
            op_raw=_NAME,
            address=Address(topic, partition, -1 - number),
            database=table.database,
            schema=table.schema,
            table=table.table,
            image="full",
            keys=_named_keys(target, copy) or None,
            keys_origin="registry",
            after=image,
            sequence=Sequence(start.epoch, start.hi, start.lo + 1 + number),
            sequence_scope="stream" if target.part is None else "partition",
            column_types=types,
        )
        for number, image in enumerate(json_rows(rows), start=first)
    ]


def _named_keys(target: Target, copy: Copy) -> tuple[str, ...]:
    """Return the key columns if the copy writes their values as messages do, so that hashes are equal; else ()."""
    here = tuple(spelling_in_copy(copy.types.get(key)) for key in target.keys)
    return target.keys if None not in here and here == target.spellings else ()
