"""The position of a Debezium change in the order of its source; each connector has its own fields for it.

Times and transaction ids give no order. Oracle's `scn` gives none either: several transactions share one value, and a
change can have a smaller value than the change before it. For Oracle the offset gives the order.
"""

import re
from functools import lru_cache

import msgspec

from retable.errors import Malformed
from retable.formats.context import DecodeContext
from retable.formats.debezium.envelope import SourcePart
from retable.formats.debezium.options import DebeziumOptions
from retable.model.event import Scope
from retable.model.message import RawMessage
from retable.model.sequence import Sequence
from retable.values.number_text import read_whole

DELETED, CHANGED, CREATED, STATED = range(4)
"""The phases, which order changes with the same position: a changed key, for example, is a delete, then a create."""

KNOWN = -1
"""The phase of what was true before the change at its position: a snapshot's statement, since a snapshot declares its
tables first, and a row of an incremental snapshot. The connector writes rows of such a snapshot when it reads the first
change that is later. It gives them the position of that change, which can be a change of the same row."""

BEFORE_ROWS = -1
"""The position of a statement that creates a table, if only offsets order the rows: it is below every offset."""

_POSITIONS = 2**40
_LOW, _HIGH = -(2**63), 2**63 - 1
_BINLOG = re.compile(r"[^/\\]*\.([0-9]{1,18})\Z")
_LSN = re.compile(r"([0-9a-f]{8}):([0-9a-f]{8}):([0-9a-f]{4})\Z", re.IGNORECASE)
_LSNS = msgspec.json.Decoder(tuple[str | None, str | None])
_WITH_POSITIONS = frozenset({"mysql", "mariadb", "postgresql", "sqlserver"})


def order_scope(system: str | None) -> Scope:
    """Return `stream` if messages of this database system have positions that order all changes, else `partition`.

    With `partition`, only offsets order changes, inside a Kafka partition. An unknown system (None) has `stream`.
    """
    return "stream" if system is None or system in _WITH_POSITIONS else "partition"


def binlog_position(file: str, offset: int) -> int | None:
    """Return one number for a binlog file and an offset in it: later positions have greater numbers.

    Return None if `file` is not the name of a binlog file of MySQL or MariaDB.
    """
    found = _BINLOG.match(file)
    return None if found is None else int(found[1]) * _POSITIONS + offset


def position(
    connector: str | None, source: SourcePart, phase: int, message: RawMessage, context: DecodeContext
) -> tuple[Sequence, Scope, tuple[str, ...]]:
    """Return the position of a change, its scope, and the names of problems (empty if there are none).

    The scope is `stream` if positions order the changes of all Kafka partitions. It is `partition` if the position is
    the Kafka offset, which orders changes only inside a partition. The offset is used if the database has no such
    positions, or if the option `order` is `offset`. If a message of PostgreSQL lacks its position, the offset is used,
    too, and the problem is `ORDER_FIELDS_MISSING`.

    `connector` is the database system, such as `mysql`. `phase` (`DELETED`, …) orders changes with the same position.
    Raise Malformed if the position in the message is not valid.
    """
    epoch = context.source_epoch
    if DebeziumOptions.of(context.options).order == "offset":
        return Sequence(epoch, message.offset, 0), "partition", ()
    place: tuple[int, int] | None
    match connector:
        case "mysql" | "mariadb":
            place = _binlog(source, phase)
        case "sqlserver":
            place = _transaction_log(source, phase)
        case "postgresql":
            place = _write_ahead_log(source, phase)
        case _:
            return Sequence(epoch, message.offset, 0), "partition", ()
    if place is None:
        return Sequence(epoch, message.offset, 0), "partition", ("ORDER_FIELDS_MISSING",)
    high, low = place
    if not _LOW <= low <= _HIGH:
        text = f"the position {place} of the change is outside the range of positions in a log"
        raise Malformed(text, place="payload.source")
    return Sequence(epoch, high, low), "stream", ()


def _binlog(source: SourcePart, phase: int) -> tuple[int, int]:
    """Return the position of the event in the binlog (file and offset), and that of the row in the event."""
    if not source.file and source.is_snapshot:
        return 0, phase
    place = None if source.pos is None else binlog_position(source.file or "", source.pos)
    if place is None:
        text = (
            f"`payload.source` has no valid position: `file` is {(source.file or '')[:100]!r}, `pos` is {source.pos}; "
            f'if no message has a position, set `order = "offset"` of the source, so that offsets give the order'
        )
        raise Malformed(text, place="payload.source.file")
    row = source.row or 0
    return place, phase if phase == KNOWN else row * 4 + phase


def _write_ahead_log(source: SourcePart, phase: int) -> tuple[int, int] | None:
    """Return the end of the previous transaction, and the position of the change. Transactions come by their ends.

    If the connector knows no previous transaction, as in a snapshot, the change's own position is used.
    """
    if source.sequence is None:
        return None
    try:
        ended, own = _LSNS.decode(source.sequence)
        if own is None:
            return None
        here = read_whole(own)
        return here if ended is None else read_whole(ended), here * 4 + phase
    except (ValueError, msgspec.DecodeError) as error:
        text = f"`payload.source.sequence` is {source.sequence[:100]!r}; expected a JSON array of two positions"
        raise Malformed(text, place="payload.source.sequence") from error


def _transaction_log(source: SourcePart, phase: int) -> tuple[int, int]:
    """Return the end of the transaction, and the distance of the change from it in log files, blocks and slots.

    A snapshot's row comes after all changes of the last transaction that it saw. A statement may have no position.
    """
    if source.commit_lsn is None and (source.is_snapshot or phase == STATED):
        return 0, phase
    file, block, slot = _lsn(source.commit_lsn, "commit_lsn")
    own_file, own_block, own_slot = _lsn(source.change_lsn or source.commit_lsn, "change_lsn")
    distance = (own_file - file) * 2**48 + own_block * 2**16 + own_slot
    return file * 2**48 + block * 2**16 + slot, distance * 4 + phase


@lru_cache(maxsize=4096)
def _lsn(text: str | None, name: str) -> tuple[int, int, int]:
    found = _LSN.match(text or "")
    if found is None:
        reason = f"`payload.source.{name}` is {(text or '')[:100]!r}; expected a text such as 00000027:00000758:0005"
        raise Malformed(reason, place=f"payload.source.{name}")
    file, block, slot = (int(part, 16) for part in found.groups())
    return file, block, slot
