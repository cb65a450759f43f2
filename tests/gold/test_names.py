"""The names of gold: what every engine can read, and never two meanings for one name."""

import hashlib
import re
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retable.gold.names import gold_column, gold_namespace, gold_table
from retable.model.event import TableName
from retable.settings.lake import LakeSettings
from retable.settings.load import Settings

PLAIN = st.text(alphabet="abcXYZ019_$-列é", min_size=1, max_size=60).filter(lambda name: not name.startswith("_"))
ANY = st.text(max_size=300)
SUFFIX = re.compile(r"__[0-9a-f]{8}\Z")


def _suffix(spelling: str) -> str:
    return f"__{hashlib.sha256(spelling.encode()).hexdigest()[:8]}"


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("last seen", "last_seen__082fc05c"),
        ("a.b", "a_b__2e7336dc"),
        ("Order_No", "order_no"),
        ("order-items", "order-items"),
        ("v$session", "v$session"),
        ("列名", "列名"),
        ("_pos", "_pos" + _suffix("_pos")),
        ("_FILE", "_file" + _suffix("_FILE")),
        ("_retable_sequence", "retable_sequence" + _suffix("_retable_sequence")),
        ("", "__e3b0c442"),
        ("#alibaba_rds_row_id#", "_rds_row_id"),
        ("__#alibaba_rds_row_id#__", "_rds_row_id"),
    ],
)
def test_a_name_is_spelled_as_every_engine_can_read_it(spelling: str, name: str) -> None:
    assert gold_column(spelling) == name


def test_the_case_of_the_source_is_kept_where_the_settings_ask_for_it() -> None:
    assert gold_column("Order_No", "source") == "Order_No"
    assert gold_column("_File", "source") == "_File" + _suffix("_File")


@given(ANY)
@example("../../etc/x")
@example("_Retable_x")
@example("É" * 200)
@example("İ")
@example("a\u200bb\u202ec")
@example("a\nb\0c")
@example("{{ var }}${jndi:x}%s")
def test_a_name_has_only_allowed_characters_and_fits_a_catalog(spelling: str) -> None:
    for name in (gold_column(spelling), gold_column(spelling, "source")):
        assert name
        assert all(char.isalpha() or char.isdecimal() or char in "_$-" for char in name)
        assert len(name.encode()) <= 255
        assert not name.lower().startswith("_retable_")


@given(PLAIN)
def test_names_that_differ_only_by_case_meet(spelling: str) -> None:
    assert gold_column(spelling) == gold_column(spelling.lower()) == gold_column(spelling.upper())


@given(PLAIN, PLAIN)
def test_plain_names_meet_only_where_they_differ_by_case(one: str, other: str) -> None:
    assert (gold_column(one) == gold_column(other)) == (one.lower() == other.lower())
    assert (gold_column(one, "source") == gold_column(other, "source")) == (one == other)


@given(ANY, ANY)
def test_two_names_that_lose_characters_are_told_apart_by_their_suffix(one: str, other: str) -> None:
    names = gold_column(one, "source"), gold_column(other, "source")
    assert names[0] != names[1] or one == other or any(map(SUFFIX.search, (one, other)))


@pytest.fixture
def lake(lake_settings: Settings) -> Callable[[str], LakeSettings]:
    def with_pattern(gold: str) -> LakeSettings:
        return lake_settings.lake.model_copy(update={"gold": gold})

    return with_pattern


def test_a_table_stands_in_the_namespace_of_its_database(lake: Callable[[str], LakeSettings]) -> None:
    settings = lake("gold_{database}")
    assert gold_table(settings, TableName("Shop", None, "Orders")) == "gold_shop.orders"
    assert gold_table(settings, TableName("ERP", "sales.eu", "T 1")) == (
        f"gold_erp__sales_eu{_suffix('sales.eu')}.t_1{_suffix('T 1')}"
    )


@pytest.mark.parametrize("database", ["bronze", "Silver", "quarantine", "OPS"])
def test_a_database_never_takes_the_namespace_of_the_system_tables(
    lake: Callable[[str], LakeSettings], database: str
) -> None:
    namespace = gold_namespace(lake("{database}"), TableName(database, None, "t"))
    assert namespace == database.lower() + _suffix(database)


@given(st.text(max_size=200), st.none() | st.text(max_size=200), st.text(max_size=200))
def test_a_table_name_has_two_levels_that_fit_a_catalog(database: str, schema: str | None, table: str) -> None:
    settings = LakeSettings.model_construct(gold="gold_{database}", case="lower")
    levels = gold_table(settings, TableName(database, schema, table)).split(".")
    assert [len(level.encode()) <= 255 for level in levels] == [True, True]
