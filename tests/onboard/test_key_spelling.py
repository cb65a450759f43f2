"""A key is named by the rows of a copy only where messages surely write it as the copy does."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lakes import SettingsWriter
from onboard.test_baseline import ARROW
from retable.cli.run.baseline import KnownTable, target_of
from retable.gold.state import GoldColumn, GoldState
from retable.ledger.lake.catalog import open_lake
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import LOWEST, Sequence
from retable.onboard.baseline.copies import Copy
from retable.onboard.baseline.key_spelling import Spelling, spelling_of, spellings
from retable.onboard.baseline.pieces import Target, piece_events
from retable.onboard.schema.dumps import read_mysql
from retable.onboard.schema.imports import plan_import

TABLE = TableName("shop", None, "t")
SOURCE = """
[sources.shop]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
"""


def named(kind: GoldType | None, *written: Spelling | None) -> tuple[str, ...] | None:
    """The key that a row of a copy names, whose column is of this type."""
    target = Target(
        source="shop",
        source_format="canal_json",
        table=TABLE,
        position=Sequence(0, 7, 0),
        part=None,
        keys=("id",),
        spellings=written,
    )
    copy = Copy("copy", "digest", {"id": kind}, lambda: iter(()))
    content = pa.table({"id": pa.array([None], ARROW[kind.kind][0] if kind else pa.string())})
    return piece_events(target, copy, 0, content)[0].keys


def test_a_row_names_its_key_where_copy_and_messages_write_it_alike() -> None:
    assert named(GoldType("long"), "digits") == ("id",)
    assert named(GoldType("int"), "digits") == ("id",)
    assert named(GoldType("string"), "text") == ("id",)


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        (GoldType("long"), None),
        (GoldType("long"), "text"),
        (GoldType("string"), "digits"),
        (GoldType("string"), None),
        (GoldType("double"), "digits"),
        (None, "text"),
    ],
)
def test_else_a_row_names_none_and_is_found_by_what_it_means(kind: GoldType | None, written: Spelling | None) -> None:
    assert named(kind, written) is None


@pytest.mark.parametrize(
    ("source_type", "gold", "system", "spelling"),
    [
        ("bigint(20)", GoldType("long"), "mysql", "digits"),
        ("int(10) unsigned", GoldType("long"), "mysql", "digits"),
        ("int(5) unsigned zerofill", GoldType("long"), "mysql", None),
        ("bit(8)", GoldType("long"), "mysql", None),
        ("decimal(10,0)", GoldType("decimal", 10, 0), "mysql", None),
        ("varchar(9)", GoldType("string"), "mysql", "text"),
        ("enum('a','b')", GoldType("string"), "mysql", None),
        ("time", GoldType("string"), "mysql", None),
        ("uuid", GoldType("string"), "mysql", None),
        ("uuid", GoldType("string"), "postgresql", "text"),
        ("character(4)", GoldType("string"), "postgresql", None),
        ("numeric", GoldType("string"), "postgresql", None),
        ("NUMBER(10)", GoldType("decimal", 10, 0), "oracle", None),
        (None, GoldType("int"), "postgresql", "digits"),
        (None, GoldType("string"), "postgresql", None),
        ("frob", None, "mysql", None),
    ],
)
def test_the_type_of_the_source_tells_whether_all_write_a_value_alike(
    source_type: str | None, gold: GoldType | None, system: str, spelling: Spelling | None
) -> None:
    assert spelling_of(source_type, gold, system) == spelling


def test_what_gold_knows_of_a_key_is_newer_than_what_a_dump_told(write_settings: SettingsWriter) -> None:
    lake = open_lake(write_settings(SOURCE))
    told = read_mysql(["CREATE TABLE t (id int, code varchar(9), PRIMARY KEY (id, code));\n"], "shop")
    source, now = lake.settings.source("shop"), datetime(2026, 3, 1, tzinfo=UTC)
    append_rows(lake, plan_import(lake, source, told, LOWEST, "dump", now).rows)
    assert target_of(lake, KnownTable(source, TABLE, None, "gold_shop.t"), LOWEST, None).spellings == ("digits", "text")
    column = GoldColumn("1", 1, "ID", "id", "decimal(10,0)", GoldType("decimal", 10, 0), None)
    state = GoldState(source="shop", identity="shop.t@base", table=TABLE, columns=(column,), keys=("id",))
    assert target_of(lake, KnownTable(source, TABLE, state, "gold_shop.t"), LOWEST, None).spellings == (None, "text")


def test_a_column_whose_type_the_settings_set_may_be_written_in_any_way() -> None:
    column = GoldColumn("1", 1, "id", "id", "bigint", GoldType("long"), None)
    state = GoldState(source="shop", identity="shop.t@base", table=TABLE, columns=(column,), keys=("id",))
    assert spellings(("id",), {}, state, None, "mysql") == ("digits",)
    assert spellings(("id",), {"id": GoldType("long")}, state, None, "mysql") == (None,)
