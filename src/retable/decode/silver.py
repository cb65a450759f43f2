"""Change events as rows of silver, and back: nothing of an event is lost on the way."""

from collections.abc import Sequence
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import msgspec
import pyarrow as pa

from retable.decode.image_text import key_in, key_text, read_image
from retable.ledger.tables import SILVER
from retable.model import sequence as order
from retable.model.event import Address, ChangeEvent

COLUMNS = SILVER.columns

_ADDRESS = ("topic", "partition", "offset", "row_index")
_MADE = ("window", "sequence", "column_types", "key_hash", "old_key_hash")
_DERIVED = ("kind", "part")
_PLAIN = tuple(name for name in COLUMNS.names if name not in (*_ADDRESS, *_MADE, *_DERIVED, "keys", "problems"))


def events_to_batch(window: str, events: Sequence[ChangeEvent]) -> pa.RecordBatch:
    """Give the events of a window as rows of silver."""
    hashes = [key_hashes(event) for event in events]
    columns: dict[str, pa.Array] = {
        "window": pa.repeat(pa.scalar(window), len(events)),
        "sequence": _sequences([event.sequence for event in events]),
        "column_types": _column_types([event.column_types for event in events]),
        "key_hash": pa.array([new for new, _ in hashes], pa.int64()),
        "old_key_hash": pa.array([old for _, old in hashes], pa.int64()),
    }
    for name in COLUMNS.names:
        if name not in columns:
            read = attrgetter(f"address.{name}" if name in _ADDRESS else name)
            columns[name] = pa.array(map(read, events), COLUMNS.field(name).type)
    return pa.RecordBatch.from_arrays([columns[name] for name in COLUMNS.names], schema=COLUMNS)


def rows_to_events(rows: pa.Table) -> list[ChangeEvent]:
    """Read rows of silver back to the events that they were."""
    return [_event(row) for row in rows.to_pylist()]


def key_hashes(event: ChangeEvent) -> tuple[int | None, int | None]:
    """Hash the key of a row change, and the key before it where an UPDATE changed it; 8 bytes of BLAKE2b, signed.

    The key is the JSON array of its columns' lexemes, and the whole row, by column name, where the table has no key. A
    key column that is absent in one image of an UPDATE is taken from the other one.
    """
    if event.kind != "row":
        return None, None
    before, after = _identities(event)
    if after is None or before is None or before == after:
        return _hash(after or before), None
    return _hash(after), _hash(before)


def _identities(event: ChangeEvent) -> tuple[str | None, str | None]:
    """What the row is known by before the change, and after it."""
    if event.keys and event.before and event.after and (event.partial_before or event.partial_after):
        old, new = read_image(event.before), read_image(event.after)
        return key_text(new | old, event.keys), key_text(old | new, event.keys)
    after = _identity(event.after, event.keys)
    return after if event.before == event.after else _identity(event.before, event.keys), after


def _identity(image: str | None, keys: tuple[str, ...] | None) -> str | None:
    if image is None:
        return None
    return key_in(image, keys) if keys else msgspec.json.encode(dict(sorted(read_image(image).items()))).decode()


def _hash(identity: str | None) -> int | None:
    if identity is None:
        return None
    return int.from_bytes(blake2b(identity.encode(), digest_size=8).digest(), "big", signed=True)


def _sequences(sequences: list[order.Sequence | None]) -> pa.Array:
    kind = COLUMNS.field("sequence").type
    parts = [
        pa.array([None if sequence is None else sequence[at] for sequence in sequences], kind.field(at).type)
        for at in range(kind.num_fields)
    ]
    return pa.StructArray.from_arrays(
        parts, fields=list(kind), mask=pa.array([sequence is None for sequence in sequences], pa.bool_())
    )


def _column_types(types: list[dict[str, str] | None]) -> pa.Array:
    """Neighbours share one map, so each is written once and pointed at."""
    places: dict[int, int] = {}
    distinct: list[dict[str, str] | None] = []
    indices = []
    for each in types:
        if id(each) not in places:
            places[id(each)] = len(distinct)
            distinct.append(each)
        indices.append(places[id(each)])
    maps = [None if each is None else list(each.items()) for each in distinct]
    return pa.array(maps, COLUMNS.field("column_types").type).take(pa.array(indices, pa.int32()))


def _event(row: dict[str, Any]) -> ChangeEvent:
    sequence, keys, types = row["sequence"], row["keys"], row["column_types"]
    return ChangeEvent(
        **{name: row[name] for name in _PLAIN},
        address=Address(*(row[name] for name in _ADDRESS)),
        keys=None if keys is None else tuple(keys),
        sequence=sequence and order.Sequence(sequence["epoch"], int(sequence["hi"]), sequence["lo"]),
        column_types=None if types is None else dict(types),
        problems=tuple(row["problems"]),
    )
