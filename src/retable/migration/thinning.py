"""Remove rows of ops tables that only repeat the row before. The functions read and write no tables.

Before layout 2, a consistent cut (one snapshot of every gold table at a window) had a row for every table in every
window. A table that was not blocked had a watermark record in every window. Readers get the same result without the
repeated rows.
"""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from retable.ledger.lake.tables import COMMITTED


def thin_cuts(rows: pa.Table) -> pa.Table:
    """Return the rows of `ops.cuts` of one source, without rows that repeat the previous row of their table.

    A row repeats the previous row if the table has the same name, Iceberg snapshot and state in both. If no row of a
    cut (a window and its revision) stays, add one row without a table, which shows that the cut exists.
    """
    rows = _sorted(rows, ["identity", "window", "revision", COMMITTED])
    repeats = _all(_is_as_before(rows, name) for name in ("identity", "table", "snapshot_id", "state"))
    repeated, kept = rows.filter(repeats), rows.filter(pc.invert(repeats))
    cuts = set(zip(kept["window"].to_pylist(), kept["revision"].to_pylist(), strict=True))
    emptied = repeated.group_by(["window", "revision"]).aggregate([("recorded_at", "max"), (COMMITTED, "max")])
    sources = rows["source"].slice(0, 1).to_pylist()
    markers = [
        {
            "source": sources[0],
            "window": row["window"],
            "revision": row["revision"],
            "table": "",
            "identity": "",
            "state": "live",
            "recorded_at": row["recorded_at_max"],
            COMMITTED: row[f"{COMMITTED}_max"],
        }
        for row in emptied.to_pylist()
        if (row["window"], row["revision"]) not in cuts
    ]
    return pa.concat_tables([kept, pa.Table.from_pylist(markers, schema=kept.schema)])


def thin_promises(rows: pa.Table) -> pa.Table:
    """Return the rows of `ops.watermarks` of one source, without repeated rows of a table and grade (kind of evidence).

    A stretch is a series of rows in which a table is always blocked or never blocked. For each grade, the first and the
    last row of a stretch stay. While a table is blocked, each row with a new watermark also stays. All rows about the
    source itself stay.
    """
    of_source = pc.is_null(rows["table"])
    mine = _sorted(rows.filter(pc.invert(of_source)), ["table", "window", COMMITTED])
    mine = mine.append_column("_free", pc.is_null(mine["because"]))
    begins = pc.invert(_all(_is_as_before(mine, name) for name in ("table", "_free")))
    mine = mine.append_column("_stretch", pc.cumulative_sum(begins.cast(pa.int64())))
    mine = _sorted(mine, ["_stretch", "grade", "window", COMMITTED])
    continues = _all(_is_as_before(mine, name) for name in ("_stretch", "grade"))
    continued = _next(continues)
    further = pc.invert(_is_as_before(mine, "watermark"))
    stays = pc.or_(pc.or_(pc.invert(continues), pc.invert(continued)), pc.and_(pc.invert(mine["_free"]), further))
    return pa.concat_tables([rows.filter(of_source), mine.filter(stays).drop_columns(["_free", "_stretch"])])


def _sorted(rows: pa.Table, by: Sequence[str]) -> pa.Table:
    return rows.sort_by([(name, "ascending") for name in by]).combine_chunks()


def _is_as_before(rows: pa.Table, name: str) -> pa.Array:
    """Return, for each row, whether its value in the column `name` equals that of the row before; nulls are equal."""
    values = rows[name].combine_chunks()
    now, before = values.slice(1), values.slice(0, max(0, len(values) - 1))
    both_null = pc.and_(pc.is_null(now), pc.is_null(before))
    same = pc.or_(pc.fill_null(pc.equal(now, before), False), both_null)
    return pa.concat_arrays([_no(len(values)), same])


def _next(mask: pa.Array) -> pa.Array:
    """Return, for each row, the value of the mask in the next row; False for the last row."""
    return pa.concat_arrays([mask.slice(1), _no(len(mask))])


def _no(rows: int) -> pa.Array:
    """Return an array with one False, or an empty array if `rows` is 0."""
    return pa.array([False] * min(1, rows), pa.bool_())


def _all(masks: Iterable[pa.Array]) -> pa.Array:
    every, *others = masks
    for mask in others:
        every = pc.and_(every, mask)
    return every
