"""`retable check` says what a run over the sampled messages would come to: of each law a run gives the same answer."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from formats.debezium_messages import POSTGRES, column, message, payload, with_schema
from formats.events import canal
from lakes import SettingsWriter
from laws.test_snapshot_tables import declared, row, statement
from laws.world import World, make_settings
from published import publish
from retable.cli.app import app
from retable.ledger.lake.catalog import open_lake
from retable.ledger.quarantine import message_place
from retable.model.event import TableName
from retable.model.message import RawMessage

SETTINGS = '\n[sources.shop]\nkind = "files"\nformat = "{}"\npath = "landing"\nlayout = "kafka_dump"\n'
Check = Callable[..., Result]


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_settings: SettingsWriter) -> Check:
    monkeypatch.chdir(tmp_path)

    def checked(messages: list[RawMessage], *args: str, of: str = "debezium_json", settings: str = "") -> Result:
        write_settings(SETTINGS.format(of) + settings)
        (tmp_path / "landing").mkdir(exist_ok=True)
        lines = [json.dumps(_record(each)) for each in messages]
        (tmp_path / "landing" / "x.jsonl").write_text("\n".join(lines), encoding="utf-8")
        return CliRunner().invoke(app, ["check", "shop", *args], prog_name="retable")

    return checked


def _record(each: RawMessage) -> dict[str, object]:
    texts = {"key": each.key and each.key.decode(), "value": each.value and each.value.decode()}
    return {"topic": each.topic, "partition": each.partition, "offset": each.offset, "timestamp": 1, **texts}


def tables(result: Result) -> dict[str, dict[str, object]]:
    return {table["table"]: table for table in json.loads(result.stdout)["tables"]}


def replayed(messages: list[RawMessage], of: str = "debezium_json") -> World:
    """What a run makes of the same."""
    world = World(make_settings(of))
    world.replay(world.deliver(messages))
    return world


def test_where_nothing_tells_a_type_it_is_unknown(check: Check) -> None:
    change = message(payload(after={"id": 1, "c": "x"}, source=POSTGRES), {"id": 1})
    found = tables(check([change], "--json"))["shop.public.t"]
    assert found["text_for_want_of_types"] == ["id", "c"]
    assert "unknown, so text: id, c" in check([change]).stdout
    told = '[tables."shop.public.t"]\ntypes = { id = "long", c = "string" }\n'
    assert tables(check([change], "--json", settings=told))["shop.public.t"]["text_for_want_of_types"] == []
    assert "known" in check([statement(1, "create table t (id int primary key, c text)", "CREATE"), row(5)]).stdout


def test_text_that_a_schema_part_tells_is_known(check: Check) -> None:
    columns = [column("id", "int64"), column("c", "string")]
    change = message(with_schema(payload(after={"id": 1, "c": "x"}, source=POSTGRES), columns), {"id": 1})
    assert tables(check([change], "--json"))["shop.public.t"]["text_for_want_of_types"] == []


def test_a_table_has_the_name_that_it_has_at_the_end(check: Check) -> None:
    messages = [
        statement(1, "create table t (id int primary key, c text)", "CREATE"),
        row(5),
        statement(10, "rename table t to u", "ALTER", "u"),
        row(15, "u", id=2),
    ]
    found = tables(check(messages, "--json"))
    assert list(found) == ["shop.u"]
    told = found["shop.u"]
    assert (told["former_names"], told["events"], told["gold"]) == (["shop.t"], 2, "gold_shop.u")
    assert (told["keys"], told["key_from"]) == (["id"], "statements")
    assert "shop.u (was shop.t)" in check(messages).stdout
    assert set(replayed(messages).gold()) == {"gold_shop.u"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("alter table t drop partition p", "UNSUPPORTED_CHANGE at "),
        ("alter table t frobnicate", "UNSUPPORTED_CHANGE at "),
        ("alter table t change nothing there int", "UNSUPPORTED_CHANGE at "),
    ],
)
def test_what_would_hold_a_table_is_told(check: Check, text: str, words: str) -> None:
    made = statement(1, "create table t (id int primary key, c text)", "CREATE")
    messages = [made, row(5), statement(10, text, "ALTER"), row(15, id=2)]
    result = check(messages)
    assert result.exit_code == 2
    assert f"hold it: {words}" in result.stdout
    hold = replayed(messages).states()["gold_shop.t"].hold
    assert hold is not None
    assert tables(check(messages, "--json"))["shop.t"]["would_hold"] == f"{hold.code} at {hold.place}: {hold.words}"


def test_rows_that_do_not_fit_are_counted_with_one_reason(check: Check) -> None:
    made = statement(1, "create table t (id int primary key, c int)", "CREATE")
    messages = [made, row(5, c="x"), row(6, id=2, c="y"), row(7, id=3, c=4)]
    result = check(messages)
    assert result.exit_code == 2
    assert "make it without 2 rows that do not fit" in result.stdout
    place = message_place(messages[1].topic, messages[1].partition, messages[1].offset, 0)
    assert f"shop.t: 2 rows do not fit, BAD_VALUE: {place}: column 'c': 'x'" in result.stderr
    assert len(replayed(messages).rejected) == 2


def test_of_tables_that_go_into_one_each_has_its_own_rows_that_do_not_fit(check: Check) -> None:
    made = [
        statement(at, f"create table {name} (id int primary key, c int)", "CREATE", name)
        for at, name in enumerate(("t1", "t2"), 1)
    ]
    goal = '[tables."shop.t[12]"]\nto = "shop.t"\nkeys = ["id"]\nshard_in_key = true\n'
    result = check([*made, row(5, "t1", c="x"), row(6, "t2", c=1)], settings=goal)
    assert result.stderr.count("not fit, ") == 1
    for shown in ("true", "false"):
        found = tables(check(made, "--json", settings=goal.replace("true", shown)))["shop.t1"]
        key = ["id", "source_table"] if shown == "true" else ["id"]
        assert (found["keys"], found["text_for_want_of_types"]) == (key, [])
    assert "shop.t1: 1 row does not fit" in result.stderr


def test_a_zero_date_would_hold_its_table(check: Check) -> None:
    types = {"id": "int", "d": "date"}
    made = canal(type="CREATE", isDdl=True, sql="create table t (id int primary key, d date)", data=None, offset=1)
    change = canal(data=[{"id": "1", "d": "0000-00-00"}], mysqlType=types, sqlType=None, offset=2)
    found = tables(check([made, change], "--json", of="canal_json"))["shop.t"]
    assert str(found["would_hold"]).startswith("ZERO_DATE at ")
    nulled = '[tables."shop.t"]\nzero_date = "null"\n'
    assert tables(check([made, change], "--json", of="canal_json", settings=nulled))["shop.t"]["would_hold"] is None


def test_tables_that_only_a_snapshot_declares_are_named(check: Check) -> None:
    messages = [*(declared(f"t{at}", offset=at) for at in range(7)), row(120, "t0")]
    result = check(messages)
    assert result.exit_code == 0, result.stderr
    assert "only the snapshot declares 6 tables" in result.stderr
    assert "shop.t1, shop.t2, shop.t3, shop.t4, shop.t5, ..." in result.stderr
    facts = check(messages, "--json")
    assert list(tables(facts)) == ["shop.t0"]
    assert json.loads(facts.stdout)["declared_only"] == [f"shop.t{at}" for at in range(1, 7)]
    assert {f"gold_{name}" for name in tables(facts)} == set(replayed(messages).gold())
    everything = check(messages, "--json", settings='snapshot_tables = "all"\n')
    assert len(tables(everything)) == 7
    assert json.loads(everything.stdout)["declared_only"] == []


def test_of_a_part_of_the_messages_no_hold_is_told_that_others_may_settle(check: Check) -> None:
    made = statement(1, "create table t (id int primary key, c text)", "CREATE")
    many = [row(10 + at, id=at) for at in range(600)]
    lost = statement(5, "alter table t drop column nothing", "ALTER")
    whole, part = check([made, lost, row(9)], "--json"), check([made, lost, *many], "--json")
    assert (json.loads(whole.stdout)["all_messages"], json.loads(part.stdout)["all_messages"]) == (True, False)
    assert tables(whole)["shop.t"]["would_hold"] is not None
    assert tables(part)["shop.t"]["would_hold"] is None
    strange = statement(5, "alter table t frobnicate", "ALTER")
    assert tables(check([made, strange, *many], "--json"))["shop.t"]["would_hold"] is not None


def test_where_gold_was_made_of_more_than_there_is_now_no_hold_is_told_that_the_rest_may_settle(
    check: Check, write_settings: SettingsWriter
) -> None:
    made = statement(1, "create table t (id int primary key, c text)", "CREATE")
    lost = statement(5, "alter table t drop column nothing", "ALTER")
    lake = open_lake(write_settings(SETTINGS.format("debezium_json")))
    publish(lake, TableName("shop", None, "other"), {"id": "int"}, [], source="shop")
    assert tables(check([made, lost, row(9)], "--json"))["shop.t"]["would_hold"] is None


def test_a_table_that_the_source_drops_says_so(check: Check) -> None:
    messages = [
        statement(1, "create table t (id int primary key, c text)", "CREATE"),
        row(5),
        statement(10, "drop table t", "DROP"),
    ]
    assert "make it, until the source drops it" in check(messages).stdout
    assert replayed(messages).gold() == {}


def test_a_source_of_which_nothing_has_come_is_checked_too(check: Check) -> None:
    result = check([], "--json")
    assert result.exit_code == 0, result.stderr
    assert tables(result) == {}
