"""A window of silver is compacted some bytes at a time, whatever its size."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.data_files import PartitionWriter, replace_files
from retable.ledger.lake.tables import SILVER
from retable.settings.load import Settings
from retable.upkeep import system
from retable.upkeep.system import compact_silver

MIB = 1 << 20
WINDOW = "20260301T0500Z"


@contextmanager
def arrow_memory() -> Iterator[pa.MemoryPool]:
    """The memory that Arrow uses meanwhile; `max_memory` is its peak."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    try:
        yield pool
    finally:
        pa.set_memory_pool(before)


def rows(first: int, count: int) -> pa.Table:
    events = [
        {"window": WINDOW, "kind": "row", "table": "t", "offset": at, "key_hash": -at, "after": f"{at:0500}"}
        for at in range(first, first + count)
    ]
    return pa.Table.from_pylist(events, schema=SILVER.columns)


def offsets(lake: Lake) -> list[int]:
    found: list[int] = lake.load("silver.erp").scan(selected_fields=("offset",)).to_arrow()["offset"].to_pylist()
    return found


@pytest.mark.parametrize("sizes", [[100_000], [50_000] * 2, [2_000] * 50])
def test_a_large_window_is_compacted_within_its_bound(
    lake_settings: Settings, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    monkeypatch.setattr(system, "_BYTES", 2 * MIB)
    lake = open_lake(lake_settings)
    table = lake.ensure("silver.erp")
    writer, at = PartitionWriter(table.io, table.metadata), {"window": WINDOW, "kind": "row"}
    files = [writer.write(rows(sum(sizes[:number]), size), at) for number, size in enumerate(sizes)]
    replace_files(lake, table, at, files, {})
    whole = rows(0, sum(sizes)).nbytes
    assert whole > 50 * MIB
    with arrow_memory() as used:
        compact_silver(lake, lake.load("silver.erp"), [WINDOW], "run")
    assert used.max_memory() < 0.7 * whole
    assert sorted(offsets(lake)) == list(range(sum(sizes)))
    assert len(lake.load("silver.erp").scan().plan_files()) <= 50
