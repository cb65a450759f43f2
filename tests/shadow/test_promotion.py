"""What is refused before a shadow is built, and before gold takes it: nothing is begun that cannot end."""

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from laws.world import FIRST, HOUR, NOW
from retable.errors import InvalidSetting, NotFound, NotKept
from retable.gold.read import find_gold
from retable.gold.state import GoldState, RetentionFloor, to_properties
from retable.ledger.lake.catalog import Lake
from retable.ledger.read import read_actions, read_ledger
from retable.ledger.rows import BaselineRow, LedgerRow, OpsRow
from retable.ledger.write import append_rows
from retable.model.event import TableName
from retable.model.schema import ColumnSpec
from retable.model.schema_change import DeclareTable
from retable.model.sequence import Sequence
from retable.model.window import window_name
from retable.replay.inputs.decisions import decision_row
from retable.replay.inputs.imports import Import, import_row
from retable.schema_history.decisions import Decision
from retable.schema_history.history import Hold
from retable.shadow.lake import Shadow, find_shadow
from retable.shadow.plan import Ask, check_ask
from retable.shadow.promotion import check_promotion
from retable.shadow.spark import promote
from shadow.conftest import Settings, stand
from verify.filled import Filled

Change = Callable[[str], str]
AT = Sequence(0, 7, 0)


def first(filled: Filled) -> str:
    """The table with most rows."""
    tables = filled.world.catalog.tables
    return max(sorted(tables), key=lambda name: len(tables[name].rows))


def ask(lake: Lake, *tables: str) -> Ask:
    return check_ask(lake, "shop", tables, window_name(FIRST), window_name(FIRST + 2 * HOUR))


def told(filled: Filled, name: str) -> GoldState:
    return find_gold(filled.lake, name)[1]


def restate(filled: Filled, name: str, state: GoldState) -> None:
    with filled.table(name).transaction() as change:
        change.set_properties(to_properties(state))


def zone(text: str) -> str:
    return text.replace('kind = "files"', 'kind = "files"\ntime_zone = "Asia/Shanghai"')


def rule(table: TableName) -> Change:
    """Give a table a rule of its own."""
    section = f'[tables."{table}"]\n'
    more = f'{section}zero_date = "string"\n'
    return lambda text: text.replace(section, more) if section in text else f"{text}\n{more}"


@pytest.fixture
def shadow(filled: Filled) -> Shadow:
    return stand(filled.lake, ask(filled.lake, first(filled)))


# --- what a shadow may be asked for ------------------------------------------------------------------------------
def test_a_table_that_the_settings_leave_out_keeps_its_rows_and_gets_no_shadow(filled: Filled, under: Settings) -> None:
    name = first(filled)
    out = told(filled, name).table
    lake = under(lambda text: text.replace('kind = "files"', f'kind = "files"\nexclude = ["{out}"]'))
    with pytest.raises(InvalidSetting, match=f"{name}: the settings exclude the table"):
        ask(lake, name)


def test_settings_of_a_whole_source_need_all_tables_that_they_change(filled: Filled, under: Settings) -> None:
    name, lake = first(filled), under(zone)
    everything = sorted(filled.world.states())
    others = [each for each in everything if each != name]
    with pytest.raises(InvalidSetting, match=f"would also change {', '.join(others)}.*: name these tables too"):
        ask(lake, name)
    assert ask(lake, *everything).tables == tuple(everything)


def test_settings_of_one_table_concern_no_other_and_another_tables_need_it(filled: Filled, under: Settings) -> None:
    name = first(filled)
    other = next(each for each in sorted(filled.world.states()) if each != name)
    lake = under(rule(told(filled, name).table))
    assert ask(lake, name).tables == (name,)
    with pytest.raises(InvalidSetting, match=f"would also change {name}"):
        ask(lake, other)


def test_a_table_that_is_held_need_not_be_named(filled: Filled, under: Settings) -> None:
    held, *others = sorted(filled.world.states())
    hold = Hold("ZERO_DATE", "a zero date", AT, None, None, "set zero_date")
    restate(filled, held, replace(told(filled, held), state="held", hold=hold))
    assert ask(under(zone), *others).tables == tuple(others)


@pytest.mark.parametrize("is_known", [True, False])
def test_rows_that_were_left_out_come_with_no_shadow_of_another_table(filled: Filled, is_known: bool) -> None:
    name = first(filled)
    other = next(each for each in sorted(filled.world.states()) if each != name)
    table = str(told(filled, other).table) if is_known else "shop.new"
    append_rows(filled.lake, [left_out(table, filled.world.names[1])])
    with pytest.raises(InvalidSetting, match=f"would also change {other}" if is_known else "would also add shop.new"):
        ask(filled.lake, name)
    # Windows that left nothing out are nobody else's matter.
    windows = window_name(FIRST), window_name(FIRST + HOUR)
    assert check_ask(filled.lake, "shop", [name], *windows).tables == (name,)


def left_out(table: str, window: str) -> LedgerRow:
    return LedgerRow(
        source="shop",
        window=window,
        stage="decode",
        table=table,
        counts={"excluded": 3},
        lowest={},
        highest={},
        snapshot_id=None,
        identity=None,
        run_id="run",
        seconds=0.0,
        bytes=0,
        recorded_at=NOW,
    )


# --- what a promotion needs --------------------------------------------------------------------------------------
def test_a_shadow_of_what_is_as_it_was_is_promoted(filled: Filled, shadow: Shadow) -> None:
    check_promotion(filled.lake, shadow)


def test_a_table_that_cannot_be_built_anew_any_more_is_not_begun(filled: Filled, shadow: Shadow) -> None:
    (name,) = shadow.ask.tables
    restate(filled, name, replace(told(filled, name), floor=RetentionFloor({"t/0": AT}, -1)))
    with pytest.raises(NotKept, match="silver no longer has the table's rows"):
        check_promotion(filled.lake, shadow)
    # Nothing of silver or gold is touched, and the shadow stands: so a promotion needs no Spark to be refused.
    with pytest.raises(NotKept):
        promote(cast(SparkSession, None), filled.lake, "shop", "looked at", "ann", "run", NOW, lambda _: None)
    assert read_actions(filled.lake, "shop") == []
    assert find_shadow(filled.lake, "shop") == shadow


def test_a_table_that_moved_or_whose_name_is_anothers_now_is_not_begun(filled: Filled, shadow: Shadow) -> None:
    (name,) = shadow.ask.tables
    restate(filled, name, replace(told(filled, name), identity="shop.another@0.7.0"))
    with pytest.raises(InvalidSetting, match=f"{name} is now another table than"):
        check_promotion(filled.lake, shadow)
    filled.lake.catalog.drop_table(name)
    with pytest.raises(NotFound, match="there is no gold table"):
        check_promotion(filled.lake, shadow)


def decided(state: GoldState) -> OpsRow:
    return decision_row("shop", Decision(state.identity, AT, None, "skip", None), NOW)


def imported(state: GoldState) -> OpsRow:
    table = DeclareTable(state.table, (ColumnSpec("id", "int"),), ("id",))
    return import_row("shop", Import(table, AT, "mysql", "create table …", "dump.sql"), NOW)


def copied_anew(state: GoldState) -> OpsRow:
    name = state.table
    place = {"database": name.database, "schema": name.schema, "table": name.table, "position": str(AT), "part": ""}
    return BaselineRow(
        source="shop",
        **place,
        dump="d",
        piece=0,
        window="10000101T0001Z",
        rows=1,
        last=True,
        origin="copy.csv",
        recorded_at=NOW,
    )


@pytest.mark.parametrize(
    ("since", "words"), [(decided, "decisions on"), (imported, "imported schema,"), (copied_anew, "baselines of")]
)
def test_what_is_recorded_of_a_table_since_its_shadow_was_built_is_not_promoted_unseen(
    filled: Filled, shadow: Shadow, since: Callable[[GoldState], OpsRow], words: str
) -> None:
    (name,) = shadow.ask.tables
    state = told(filled, name)
    append_rows(filled.lake, [since(replace(state, identity="shop.other@base", table=TableName("shop", None, "x")))])
    check_promotion(filled.lake, shadow)
    append_rows(filled.lake, [since(state)])
    with pytest.raises(InvalidSetting, match=f"{words}.*have changed since its shadow was built"):
        check_promotion(filled.lake, shadow)


def test_settings_that_changed_since_are_not_promoted_unseen(filled: Filled, shadow: Shadow, under: Settings) -> None:
    (name,) = shadow.ask.tables
    lake = under(rule(told(filled, name).table))
    with pytest.raises(InvalidSetting, match=f"the settings of {name}, or .* have changed since its shadow"):
        check_promotion(lake, shadow)


def test_windows_that_another_decoder_would_decode_now_are_not_promoted_unseen(filled: Filled, shadow: Shadow) -> None:
    built = next(row for row in read_ledger(filled.lake, "shadow_shop") if (row.stage, row.table) == ("decode", None))
    append_rows(filled.lake, [replace(built, identity="an older one", recorded_at=NOW + HOUR)])
    with pytest.raises(InvalidSetting, match=f"{built.window} was decoded for the shadow by the decoder an older one"):
        check_promotion(filled.lake, shadow)


def test_other_tables_that_would_change_by_now_are_not_promoted_unseen(
    filled: Filled, shadow: Shadow, under: Settings
) -> None:
    other = next(each for each in sorted(filled.world.states()) if each not in shadow.ask.tables)
    lake = under(rule(told(filled, other).table))
    with pytest.raises(InvalidSetting, match=f"would also change {other}"):
        check_promotion(lake, shadow)


def test_a_promotion_that_ended_midway_is_gone_on_with(filled: Filled, shadow: Shadow) -> None:
    window = filled.world.names[1]
    silver = filled.table("silver.shop")
    rows = silver.scan(row_filter=f"window = '{window}'").to_arrow()
    silver.overwrite(rows, f"window = '{window}'", snapshot_properties={"retable.window": window})
    with pytest.raises(InvalidSetting, match="would also change"):
        ask(filled.lake, *shadow.ask.tables)
    check_promotion(filled.lake, shadow)
