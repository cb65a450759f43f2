"""The table of a source's statements: whatever happens between two commits, what is read is what silver has."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo
from pyiceberg.table.snapshots import Operation, Summary

from retable.ddl.registry import parse_statement
from retable.decode import statements
from retable.decode.statements import READER, SILVER, keep_statements, read_statements
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.lake.data_files import PartitionWriter, replace_files
from retable.ledger.lake.tables import SILVER as SHAPE
from retable.replay.inputs.silver import to_statement
from retable.settings.load import Settings
from retable.upkeep.system import compact_silver

WINDOWS = [f"20260301T0{hour}00Z" for hour in range(4)]
Said = list[str]


@contextmanager
def lake_in(folder: Path) -> Iterator[Lake]:
    lake = {"catalog": f"sqlite:///{folder}/c.db", "warehouse": str(folder / "w")}
    yield open_lake(Settings.model_validate({"lake": lake}))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with lake_in(tmp_path) as lake:
        yield lake


def _rows(window: str, texts: Said) -> pa.Table:
    about = {"window": window, "database": "shop", "schema": None, "table": "t", "source_format": "canal_json"}
    said = [
        {
            **about,
            "kind": "schema",
            "op": "DDL",
            "op_raw": "ALTER",
            "ddl_text": text,
            "sequence": {"epoch": 0, "hi": Decimal(number), "lo": 0},
            "part": "t/0",
            "offset": number,
        }
        for number, text in enumerate(texts)
    ]
    return pa.Table.from_pylist([*said, {**about, "kind": "row", "offset": 99}], schema=SHAPE.columns)


def decode(lake: Lake, window: str, texts: Said) -> None:
    """Put a window into silver, as decode does before it keeps its statements."""
    silver, rows = lake.ensure("silver.erp"), _rows(window, texts)
    writer = PartitionWriter(silver.io, silver.metadata)
    files = [
        writer.write(mine, {"window": window, "kind": kind})
        for kind in ("row", "schema")
        if (mine := rows.filter(pc.equal(rows["kind"], kind))).num_rows
    ]
    replace_files(lake, silver, {"window": window}, files, {"retable.window": window})


def of_silver(lake: Lake) -> list[tuple[object, ...]]:
    silver = lake.find("silver.erp")
    rows = [] if silver is None else silver.scan(row_filter=EqualTo("kind", "schema")).to_arrow().to_pylist()
    return sorted((row["window"], row["offset"], row["ddl_text"]) for row in rows)


def read(lake: Lake) -> list[tuple[object, ...]]:
    return sorted((row["window"], row["offset"], row["ddl_text"]) for row in read_statements(lake, "erp"))


TEXTS = st.lists(st.sampled_from(["ALTER TABLE t ADD a int", "TRUNCATE TABLE t", "nonsense"]), max_size=2)
ACTS = st.one_of(
    st.tuples(st.just("decode"), st.sampled_from(WINDOWS), TEXTS),
    st.tuples(st.sampled_from(["keep", "wholly", "compact", "unknown", "expire"])),
)


@settings(deadline=None, max_examples=40)
@given(acts=st.lists(ACTS, max_size=10))
def test_what_is_read_is_what_silver_has(acts: list[tuple]) -> None:
    with TemporaryDirectory() as folder, lake_in(Path(folder)) as lake:
        for what, *how in acts:
            silver = lake.find("silver.erp")
            match what:
                case "decode":
                    decode(lake, *how)
                case "keep":
                    keep_statements(lake, "erp", None)
                case "wholly":
                    keep_statements(lake, "erp", None, wholly=True)
                case "compact" if silver is not None:
                    compact_silver(lake, silver, [WINDOWS[0]], "run")
                case "unknown" if silver is not None:
                    silver.append(_rows(WINDOWS[3], ["DROP TABLE t"]))
                case "expire" if silver is not None:
                    current = silver.metadata.current_snapshot_id
                    old = [each.snapshot_id for each in silver.snapshots() if each.snapshot_id != current]
                    silver.maintenance.expire_snapshots().by_ids(old).commit()
            assert read(lake) == of_silver(lake)
        if lake.find("silver.erp") is not None:
            keep_statements(lake, "erp", None, wholly=True)
            assert read(lake) == of_silver(lake)
            kept = lake.load("statements.erp").scan().to_arrow().to_pylist()
            assert sorted((row["window"], row["offset"], row["ddl_text"]) for row in kept) == of_silver(lake)


def test_what_it_has_is_not_parsed_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    decode(lake, WINDOWS[0], ["ALTER TABLE t ADD a int"])
    assert keep_statements(lake, "erp", "mysql") == 1
    (row,) = read_statements(lake, "erp")
    changes = parse_statement("mysql", "ALTER TABLE t ADD a int", "shop", None, "t")
    monkeypatch.setattr("retable.replay.inputs.silver.parse_statement", None)
    assert to_statement(row, "mysql", "mysql").changes == changes


@pytest.mark.parametrize("other", ["another database", "another reader"])
def test_what_was_read_otherwise_is_read_again(lake: Lake, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    decode(lake, WINDOWS[0], ['ALTER TABLE "t" ADD a int'])
    keep_statements(lake, "erp", "mysql")
    (row,) = read_statements(lake, "erp")
    if other == "another reader":
        monkeypatch.setattr("retable.replay.inputs.silver.reader_version", lambda: "another")
        assert to_statement({**row, "meaning": "[]"}, "mysql", "mysql").changes != ()
        monkeypatch.setattr(statements, "reader_version", lambda: "another")
        assert keep_statements(lake, "erp", "mysql") == 1
        assert lake.load("statements.erp").properties[READER] == "another"
    else:
        parsed = parse_statement("oracle", 'ALTER TABLE "t" ADD a int', "shop", None, "t")
        assert to_statement(row, "oracle", "oracle").changes == parsed


def test_windows_without_statements_cost_no_commit_for_a_while(lake: Lake) -> None:
    decode(lake, WINDOWS[0], ["TRUNCATE TABLE t"])
    keep_statements(lake, "erp", None)
    first = lake.load("statements.erp").metadata_location
    for number in range(statements._BEHIND - 1):
        decode(lake, f"20260302T{number:02}00Z", [])
        keep_statements(lake, "erp", None)
    assert lake.load("statements.erp").metadata_location == first
    decode(lake, "20260303T0000Z", [])
    keep_statements(lake, "erp", None)
    kept, silver = lake.load("statements.erp"), lake.load("silver.erp")
    assert kept.properties[SILVER] == str(silver.metadata.current_snapshot_id)
    assert len(kept.snapshots()) == 1


def test_another_run_that_keeps_them_meanwhile_is_no_conflict(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    decode(lake, WINDOWS[0], ["TRUNCATE TABLE t"])
    keep_statements(lake, "erp", None)
    decode(lake, WINDOWS[1], ["DROP TABLE t"])
    replace, once = statements._replace, [True]

    def late(*arguments: Any) -> bool:
        if once:
            once.clear()
            keep_statements(lake, "erp", None)
        return replace(*arguments)

    monkeypatch.setattr(statements, "_replace", late)
    keep_statements(lake, "erp", None)
    assert len(lake.load("statements.erp").scan().to_arrow()) == 2
    assert read(lake) == of_silver(lake)


def test_lists_of_files_that_upkeep_wrote_anew_leave_the_statements_as_they_were(lake: Lake) -> None:
    decode(lake, WINDOWS[0], ["TRUNCATE TABLE t"])
    keep_statements(lake, "erp", None)
    kept, silver = lake.load("statements.erp"), lake.load("silver.erp")
    last = silver.current_snapshot()
    assert last is not None
    anew = last.model_copy(
        update={"snapshot_id": 1, "parent_snapshot_id": last.snapshot_id, "summary": Summary(Operation.REPLACE)}
    )
    snapshots = [*silver.metadata.snapshots, anew]
    silver.metadata = silver.metadata.model_copy(update={"snapshots": snapshots, "current_snapshot_id": 1})
    assert statements._behind(kept, silver).windows == frozenset()


def test_a_damaged_file_of_it_is_read_from_silver_and_made_again(lake: Lake) -> None:
    decode(lake, WINDOWS[0], ["TRUNCATE TABLE t"])
    keep_statements(lake, "erp", None)
    for task in lake.load("statements.erp").scan().plan_files():
        Path(task.file.file_path.removeprefix("file://")).write_bytes(b"not parquet")
    assert read(lake) == of_silver(lake)
    decode(lake, WINDOWS[0], ["DROP TABLE t"])
    keep_statements(lake, "erp", None)
    assert len(lake.load("statements.erp").scan().to_arrow()) == 1
    assert read(lake) == of_silver(lake)
