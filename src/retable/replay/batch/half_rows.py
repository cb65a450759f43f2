"""Find the two halves of an update, for many updates at a time.

Some sources write an update as two messages: one with the row before the update, and one with the row after it.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from retable.replay.batch.row_batch import in_order
from retable.replay.batch.row_kinds import Flags, Hashes, Places
from retable.replay.batch.silver_rows import HALVES

PAIR = ["epoch", "hi", "part"]


def are_halves(rows: pa.Table) -> Flags:
    return np.asarray(pc.is_in(rows["image"], pa.array(HALVES)))


def pair_columns(rows: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return, for each row, the columns that identify an update, by name.

    They are the source epoch, the number `hi` of the sequence (position in the source's log), and the source partition.
    If an update comes as two messages (halves), both halves have the same values in these columns.
    """
    members = [pc.struct_field(rows["sequence"], name) for name in ("epoch", "hi")]
    return dict(zip(PAIR, [*members, rows["part"]], strict=True))


def lack_other_half(rows: pa.Table, apart: Hashes) -> Flags:
    """Return for each row whether it is a half of an update and its other half is not among `rows`.

    `apart` divides the rows into groups: it has a number for each row, for example its key hash. The other half is
    searched only in the same group, that is, among rows with the same number.
    """
    found = np.zeros(rows.num_rows, bool)
    places = np.flatnonzero(are_halves(rows))
    if not len(places):
        return found
    halves = rows.take(pa.array(places))
    table = pa.table({**pair_columns(halves), "apart": pa.array(apart[places])})
    order = np.asarray(in_order(table))
    runs = _runs(table, order)
    is_before = np.asarray(pc.equal(halves["image"], "before_half"))[order]
    count = int(runs[-1]) + 1
    is_whole = (np.bincount(runs, is_before, count) > 0) & (np.bincount(runs, ~is_before, count) > 0)
    found[places[order]] = ~is_whole[runs]
    return found


def keep_their_keys(rows: pa.Table) -> bool:
    """Return whether both halves of each update among `rows` have the same key.

    `rows` have all halves of their keys. Return False also if the other half of an update is in another window.

    Several updates of one transaction may have the same `pair_columns`. So look at the halves of one key in the order
    of the log: if they are before, after, before, after, and so on, no update changes a key. The first update of a
    transaction that does has an after half at its new key that does not follow a before half.
    """
    halves = rows.filter(pa.array(are_halves(rows)))
    if not halves.num_rows:
        return True
    is_after = pc.cast(pc.equal(halves["image"], "after_half"), pa.int64())
    lo = pc.struct_field(halves["sequence"], "lo")
    table = pa.table({**pair_columns(halves), "key_hash": halves["key_hash"], "lo": lo, "is_after": is_after})
    # A message that came twice counts once.
    table = table.group_by(table.column_names).aggregate([])
    order = np.asarray(in_order(table))
    runs = _runs(table.select([*PAIR, "key_hash"]), order)
    counts = np.bincount(runs)
    places = np.arange(table.num_rows) - (np.cumsum(counts) - counts)[runs]
    return bool((counts % 2 == 0).all() and (np.asarray(table["is_after"])[order] == places % 2).all())


def _runs(table: pa.Table, order: Places) -> Places:
    """Number the rows in the given order. A row has the number of the row before it if both rows are equal."""
    same = np.ones(table.num_rows, bool)
    for column in table.take(pa.array(order)).combine_chunks().columns:
        mine, before = column[1:], column[:-1]
        equal = pc.or_(pc.fill_null(pc.equal(mine, before), False), pc.and_(pc.is_null(mine), pc.is_null(before)))
        same[1:] &= np.asarray(equal.combine_chunks() if isinstance(equal, pa.ChunkedArray) else equal)
    same[0] = True
    return np.cumsum(~same)


def foreign_halves(halves: pa.Table) -> pa.Table:
    """Return the halves whose other half is also in `halves`, with the key hash of the other half as `old_key_hash`.

    A fold of a key reads the rows that have its hash as `key_hash` or `old_key_hash`. So the fold of the other half's
    key reads this half, too. If there are several other halves with different key hashes, the half is returned once for
    each hash.
    """
    mine = pa.table({**_filled(halves), "place": pa.array(np.arange(halves.num_rows)), "image": halves["image"]})
    others = pa.table({**_filled(halves), "other": halves["image"], "old_key_hash": halves["key_hash"]})
    joined = mine.join(others, PAIR, join_type="inner")
    joined = joined.filter(pc.not_equal(joined["image"], joined["other"]))
    found = joined.select(["place", "old_key_hash"]).group_by(["place", "old_key_hash"]).aggregate([])
    rows = halves.take(found["place"])
    return rows.set_column(rows.column_names.index("old_key_hash"), "old_key_hash", found["old_key_hash"])


def _filled(halves: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the columns that identify an update, without NULL in the partition: a join does not match NULLs."""
    columns = pair_columns(halves)
    return {**columns, "part": pc.fill_null(pc.binary_join_element_wise("=", columns["part"], ""), "")}
