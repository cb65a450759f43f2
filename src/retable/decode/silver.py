"""Convert change events to rows of silver and back, without loss."""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import msgspec
import pyarrow as pa
from msgspec.structs import astuple

from retable.formats.image_text import key_text, keys_in, read_image
from retable.ledger.lake.tables import SILVER
from retable.model import sequence as order
from retable.model.event import Address, ChangeEvent

COLUMNS = SILVER.columns
_TYPES = {name: COLUMNS.field(name).type for name in COLUMNS.names}

_EVENT, _ADDRESS = ChangeEvent.__struct_fields__, Address.__struct_fields__
_PLAIN = tuple(name for name in _EVENT if name not in ("address", "keys", "sequence", "column_types", "problems"))
_NO_HASH = blake2b(digest_size=8)
_NOWHERE = (None, None, None)
_NEAR = 256

_Identity = bytes | None
_Hashes = tuple[int | None, int | None]


def events_to_batch(window: str, events: Sequence[ChangeEvent]) -> pa.RecordBatch:
    """Convert the events of a window to rows of silver."""
    values = _columns(_EVENT, map(astuple, events))
    values |= _columns(_ADDRESS, map(astuple, values["address"]))
    values |= {"kind": [event.kind for event in events], "part": [event.part for event in events]}
    hashes = hash_keys(events)
    values |= {"key_hash": [new for new, _ in hashes], "old_key_hash": [old for _, old in hashes]}
    made = {
        "window": pa.repeat(pa.scalar(window), len(events)),
        "sequence": _sequences(values["sequence"]),
        "column_types": _column_types(values["column_types"]),
    }
    arrays = [made[name] if name in made else pa.array(values[name], kind) for name, kind in _TYPES.items()]
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)


def rows_to_events(rows: pa.Table) -> list[ChangeEvent]:
    """Convert rows of silver back to their events."""
    return [_event(row) for row in rows.to_pylist()]


def hash_keys(events: Sequence[ChangeEvent]) -> list[_Hashes]:
    """Return two hashes for each event: of its key, and of its old key. The second is None if the key did not change.

    A hash is 8 bytes of BLAKE2b, as a signed integer. The key is the JSON array of the raw values of the key columns.
    In a table without a key, it is the whole row, sorted by column name. If a key column is absent in one image of an
    UPDATE, it is taken from the other image. Events that are not row changes have no hashes.
    """
    hashes: list[_Hashes] = [(None, None)] * len(events)
    places: dict[tuple[str, ...] | None, list[int]] = {}
    for place, event in enumerate(events):
        if event.kind == "row":
            places.setdefault(event.keys, []).append(place)
    for keys, mine in places.items():
        known = _identities([events[place] for place in mine], keys or ())
        for place, (before, after) in zip(mine, known, strict=True):
            if after is None or before is None or before == after:
                hashes[place] = _hash(after or before), None
            else:
                hashes[place] = _hash(after), _hash(before)
    return hashes


def _identities(events: list[ChangeEvent], keys: tuple[str, ...]) -> list[tuple[_Identity, _Identity]]:
    """Return the key of each row before the change and after it, as the bytes to hash."""
    before, after = [event.before for event in events], [event.after for event in events]
    known = list(zip(_read_identities(before, keys), _read_identities(after, keys), strict=True))
    for place, event in enumerate(events):
        if keys and event.before and event.after and (event.partial_before or event.partial_after):
            old, new = read_image(event.before), read_image(event.after)
            known[place] = key_text(new | old, keys).encode(), key_text(old | new, keys).encode()
    return known


def _read_identities(images: list[str | None], keys: tuple[str, ...]) -> list[_Identity]:
    there = [image for image in images if image is not None]
    if keys:
        found = iter(keys_in(there, keys))
    else:
        found = (msgspec.json.encode(dict(sorted(read_image(image).items()))) for image in there)
    return [None if image is None else next(found) for image in images]


def _hash(identity: _Identity) -> int | None:
    if identity is None:
        return None
    state = _NO_HASH.copy()
    state.update(identity)
    return int.from_bytes(state.digest(), "big", signed=True)


def _columns(names: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Convert rows to columns in blocks that fit the processor's cache. A batch at once takes four times as long."""
    columns: list[list[Any]] = [[] for _ in names]
    rows = iter(rows)
    while some := list(islice(rows, _NEAR)):
        for column, values in zip(columns, zip(*some, strict=True), strict=True):
            column.extend(values)
    return dict(zip(names, columns, strict=True))


def _sequences(sequences: Sequence[order.Sequence | None]) -> pa.Array:
    kind = COLUMNS.field("sequence").type
    parts = _columns(kind.names, [sequence or _NOWHERE for sequence in sequences])
    arrays = [_whole_numbers(values, field.type) for values, field in zip(parts.values(), kind, strict=True)]
    nowhere = pa.array([sequence is None for sequence in sequences], pa.bool_())
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=nowhere)


def _whole_numbers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Convert integers of any length. Conversion through Python's decimals takes four times as long."""
    try:
        return pa.array(values, pa.int64()).cast(kind)
    except OverflowError:
        return pa.array(values, kind)


def _column_types(types: Sequence[dict[str, str] | None]) -> pa.Array:
    """Convert the types of events to a column. Adjacent events share one map, so each map is converted once."""
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
