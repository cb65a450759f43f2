"""The life of tables and of sources, by the command line: come, go, pause, begin anew."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import Result

from retable.cli.arguments import instant
from retable.cli.look_after import holds, shadow
from retable.cli.run import baseline
from retable.cli.run import stages as run
from retable.freshness.catalog import reached_at
from retable.gold.read import read_as_of, read_cut
from retable.ledger.lake.catalog import open_lake
from retable.session import build_session
from retable.settings.load import CATALOG, Settings, load_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """
[sources.shop]
kind = "files"
format = "canal_json"
path = "landing"
layout = "kafka_dump"
hour = '(\\d{4}-\\d{2}-\\d{2}T\\d{2})'
"""
LAKE = '[lake]\ncatalog = "sqlite:///lake.db"\nwarehouse = "lake"\n'
OTHERS = [f"t{number:02d}" for number in range(12)]

Line = tuple[str, str, dict[str, Any] | str]
"""Of which table, which operation, and its row; or a statement."""


@dataclass(slots=True)
class Life:
    """A lake with the source `shop`, an hour of which is an object; positions of its topic go on from hour to hour."""

    folder: Path
    retable: Callable[..., Result]
    hours: int = 0
    offset: int = 0
    told: list[str] = field(default_factory=list)

    def set(self, more: str = "", sources: str = SOURCE) -> None:
        """Write the settings anew, with more of the source."""
        (self.folder / "retable.toml").write_text(f"{LAKE}{sources}{more}\n", encoding="utf-8")

    def deliver(self, *lines: Line) -> None:
        """Let the next hour arrive."""
        folder = self.folder / "landing"
        folder.mkdir(exist_ok=True)
        text = "".join(f"{json.dumps(self._record(*line))}\n" for line in lines)
        (folder / f"2026-03-01T{self.hours:02d}.jsonl").write_text(text, encoding="utf-8")
        self.hours += 1

    def _record(self, table: str, kind: str, what: dict[str, Any] | str) -> dict[str, Any]:
        stamp = 1772323200000 + self.hours * 3_600_000 + 60_000
        value: dict[str, Any] = {"database": "shop", "table": table, "type": kind, "es": stamp, "ts": stamp, "id": 1}
        if isinstance(what, str):
            value |= {"isDdl": True, "sql": what, "data": None, "old": None, "mysqlType": None, "sqlType": None}
        else:
            types = {"mysqlType": {"id": "int", "v": "varchar(9)"}, "sqlType": {"id": 4, "v": 12}}
            value |= {"isDdl": False, "sql": "", "data": [what], "old": None, "pkNames": ["id"], **types}
        self.offset += 1
        return {
            "topic": "t",
            "partition": 0,
            "offset": self.offset - 1,
            "timestamp": stamp,
            "value": json.dumps(value),
        }

    def run(self, *options: str) -> Result:
        """Run the source to the end of what has arrived."""
        result = self.retable("run", "shop", *options, "--to", f"2026-03-01T{self.hours:02d}:00:00Z")
        assert result.exit_code == 0, result.output
        return result

    def json(self, *words: str) -> Any:
        result = self.retable(*words, "--json")
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def plan(self) -> Any:
        (plan,) = self.json("plan", "shop")
        return plan

    def rows(self, table: str) -> dict[int, str]:
        result = self.retable("rows", f"gold_shop.{table}")
        assert result.exit_code == 0, result.output
        return {row["id"]: row["v"] for row in map(json.loads, result.stdout.splitlines())}

    def proof(self, table: str, through: str) -> dict[int, str]:
        """The rows of a table in the cut that proves it through a time."""
        lake, name = open_lake(load_settings(self.folder / "retable.toml")), f"gold_shop.{table}"
        time = instant(through)
        window = reached_at(lake, [name], time, "row")["shop"]
        assert window is not None
        return {row["id"]: row["v"] for row in read_as_of(lake, name, read_cut(lake, "shop", window)).to_pylist()}

    def verify(self, table: str) -> None:
        result = self.retable("verify", f"gold_shop.{table}")
        assert result.exit_code == 0, result.output

    def states(self) -> dict[str, str]:
        return {table["name"].partition(".")[2]: table["state"] for table in self.json("tables")}


def row(number: int, value: str) -> dict[str, str]:
    return {"id": str(number), "v": value}


@pytest.fixture
def life(tmp_path: Path, retable: Callable[..., Result]) -> Life:
    life = Life(tmp_path, retable)
    life.set()
    return life


@pytest.fixture
def on_spark(life: Life, spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> Life:
    """The same on a Spark that is there already, which spares each command the seconds that its own would take."""

    @contextmanager
    def running(settings: Settings) -> Iterator["SparkSession"]:
        yield build_session(settings, "retable tests")

    for module in (run, baseline, holds, shadow):
        monkeypatch.setattr(module, "running_spark", running)
    return life


# --- pause -----------------------------------------------------------------------------------------------------------
def test_a_paused_source_records_nothing_and_says_so_everywhere(life: Life) -> None:
    life.deliver(("orders", "INSERT", row(1, "a")))
    life.set('paused = "it moves to another region"')
    told = life.run().stderr
    assert "shop is paused, and no new window is recorded: it moves to another region" in told
    (status,) = life.json("status")
    assert (status["paused"], status["windows"]["recorded"]) == ("it moves to another region", 0)
    assert "shop is paused: it moves to another region" in life.retable("status").stderr
    why = life.json("why", "shop", "--through", "2026-03-01T01:00:00Z")
    assert (why["fresh"], why["cause"]["code"]) == (False, "PAUSED")
    assert "it moves to another region" in why["cause"]["reason"]
    assert life.plan()["steps"] == [
        "it is paused, and no new window is recorded: it moves to another region; 1 new objects wait"
    ]
    landed = life.retable("land", "shop", "--window", "20260301T0000Z")
    assert landed.exit_code == 1
    assert "paused" in landed.stderr


@pytest.mark.slow
def test_a_source_that_goes_on_takes_all_that_came_meanwhile_hour_by_hour(on_spark: Life) -> None:
    life = on_spark
    life.deliver(("orders", "INSERT", row(1, "a")))
    life.run()
    life.set('paused = "upgrade"')
    life.deliver(("orders", "UPDATE", row(1, "b")))
    life.deliver(("orders", "INSERT", row(2, "c")))
    life.run()
    assert life.rows("orders") == {1: "a"}
    life.set()
    life.run()
    assert life.rows("orders") == {1: "b", 2: "c"}
    assert life.json("status")[0]["windows"]["replayed"] == 3


# --- tables come and go ----------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_retired_table_stays_as_it_is_and_keeps_nobody_back(on_spark: Life) -> None:
    life = on_spark
    life.deliver(("orders", "INSERT", row(1, "a")), ("stock", "INSERT", row(1, "x")))
    life.run()
    life.set('exclude = ["shop.stock"]')
    life.deliver(
        ("stock", "UPDATE", row(1, "y")),
        ("stock", "ALTER", "ALTER TABLE stock MODIFY v geometry"),
        ("stock", "ERASE", "DROP TABLE stock"),
        ("orders", "INSERT", row(2, "b")),
    )
    life.run()
    assert (life.rows("stock"), life.rows("orders")) == ({1: "x"}, {1: "a", 2: "b"})
    assert life.states() == {"orders": "live", "stock": "retired"}
    (status,) = life.json("status")
    assert status["tables"] == {"live": 1, "held": 0, "dropped": 0, "retired": 1}
    through = ("--through", "2026-03-01T01:01:00Z")
    assert life.json("why", "shop", *through)["fresh"]
    why = life.json("why", "gold_shop.stock", *through)
    assert (why["fresh"], why["cause"]["code"], why["watermark"]) == (False, "RETIRED", "2026-03-01T00:01:00Z")
    assert life.plan()["stale"] == []
    life.verify("orders")
    assert "is retired" in life.retable("verify", "gold_shop.stock", "--against", "bronze").stderr
    life.run("--from", "2026-03-01T00:00:00Z")
    assert (life.rows("stock"), life.rows("orders")) == ({1: "x"}, {1: "a", 2: "b"})
    life.verify("orders")


@pytest.mark.slow
def test_gold_that_was_rolled_back_is_not_fresh_and_whole_after_the_run_that_the_plan_shows(on_spark: Life) -> None:
    life = on_spark
    for number in range(3):
        life.deliver(("orders", "INSERT", row(number, "a")), ("stock", "INSERT", row(number, "x")))
    life.run()
    through = ("--through", "2026-03-01T02:01:00Z")
    assert life.json("why", "gold_shop.orders", *through)["fresh"]
    settings = load_settings(life.folder / "retable.toml")
    first = open_lake(settings).load("gold_shop.orders").metadata.snapshot_log[1].snapshot_id
    with run.running_spark(settings) as session:
        session.sql(f"CALL {CATALOG}.system.rollback_to_snapshot('gold_shop.orders', {first})")
    assert life.rows("orders") == {0: "a"}
    why = life.json("why", "gold_shop.orders", *through)
    assert (why["fresh"], why["cause"]["code"]) == (False, "MAIN_MOVED")
    assert life.json("why", "gold_shop.stock", *through)["fresh"]
    assert life.retable("verify", "gold_shop.orders", "--against", "ledger").exit_code == 4
    (stale,) = life.plan()["stale"]
    assert stale == {"window": "20260301T0200Z", "table": "gold_shop.orders", "because": ["main"]}
    assert "--from 2026-03-01T02:00:00Z --to 2026-03-01T03:00:00Z" in " ".join(life.plan()["steps"])
    life.run("--from", "2026-03-01T02:00:00Z")
    assert life.rows("orders") == {0: "a", 1: "a", 2: "a"}
    assert life.json("why", "gold_shop.orders", *through)["fresh"]
    assert life.plan()["stale"] == []
    life.verify("orders")
    assert life.retable("verify", "gold_shop.orders", "--against", "ledger").exit_code == 0


@pytest.mark.slow
def test_gold_that_somebody_dropped_is_held_until_it_is_rebuilt(on_spark: Life) -> None:
    life = on_spark
    for number in range(2):
        life.deliver(("orders", "INSERT", row(number, "a")), ("stock", "INSERT", row(number, "x")))
    life.run()
    through = ("--through", "2026-03-01T00:01:00Z")
    settings = load_settings(life.folder / "retable.toml")
    open_lake(settings).catalog.drop_table("gold_shop.orders")
    why = life.json("why", "gold_shop.orders", *through)
    assert (why["fresh"], why["cause"]["code"]) == (False, "HELD")
    assert "retable rebuild gold_shop.orders" in why["cause"]["next_step"]
    assert not life.json("why", "shop", *through)["fresh"]
    assert life.json("why", "gold_shop.stock", *through)["fresh"]
    assert life.json("status")[0]["tables"]["held"] == 1
    assert life.retable("status", "--check").exit_code == 2
    assert [(each["name"], each["code"]) for each in life.json("hold", "list")] == [("gold_shop.orders", "LOST")]
    assert life.retable("tables").exit_code == 1
    assert "the catalog no longer has the table" in life.retable("schema", "gold_shop.orders").stderr
    retried = life.retable("hold", "release", "gold_shop.orders", "--retry", "--reason", "x", "--yes")
    assert (retried.exit_code, "valid here: --rebuild" in retried.stderr) == (1, True)
    life.deliver(("orders", "UPDATE", row(0, "b")), ("stock", "INSERT", row(2, "x")))
    assert life.retable("run", "shop", "--to", "2026-03-01T03:00:00Z").exit_code == 2
    assert life.rows("stock") == {0: "x", 1: "x", 2: "x"}
    assert life.retable("rebuild", "gold_shop.orders", "--reason", "x", "--yes").exit_code == 0
    assert life.rows("orders") == {0: "b", 1: "a"}
    assert life.json("hold", "list") == []
    assert life.json("why", "gold_shop.orders", "--through", "2026-03-01T02:01:00Z")["fresh"]
    life.verify("orders")
    assert life.retable("verify", "gold_shop.orders", "--against", "ledger").exit_code == 0


@pytest.mark.slow
def test_tables_more_are_named_with_the_windows_to_run_again_and_then_whole(on_spark: Life) -> None:
    life = on_spark
    life.set('include = ["shop.orders"]')
    for hour in range(2):
        life.deliver(("orders", "INSERT", row(hour, "a")), *((name, "INSERT", row(hour, name)) for name in OTHERS))
    life.run()
    assert life.states() == {"orders": "live"}
    life.set()
    life.deliver(*((name, "UPDATE", row(1, f"{name}!")) for name in OTHERS))
    life.run()
    assert life.rows("t07") == {1: "t07!"}
    plan = life.plan()
    assert plan["left_out"] == [
        {"table": f"shop.{name}", "first": "20260301T0000Z", "last": "20260301T0100Z"} for name in OTHERS
    ]
    again = "--from 2026-03-01T00:00:00Z --to 2026-03-01T02:00:00Z` would run the windows that left out 12"
    assert again in " ".join(plan["steps"])
    life.verify("orders")
    why = life.json("why", "gold_shop.t07", "--through", "2026-03-01T02:01:00Z")
    assert (why["fresh"], why["watermark"], why["cause"]["code"]) == (False, None, "LEFT_OUT")
    assert again.partition(" would")[0] in why["cause"]["next_step"]
    life.run("--from", "2026-03-01T00:00:00Z")
    assert life.json("why", "shop", "--through", "2026-03-01T02:01:00Z")["fresh"]
    assert {name: life.rows(name) for name in OTHERS} == {name: {0: name, 1: f"{name}!"} for name in OTHERS}
    assert life.plan()["left_out"] == []
    life.verify("t07")


@pytest.mark.slow
def test_the_cut_that_proves_an_hour_has_what_was_held_in_it_and_released_since(
    on_spark: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = on_spark
    monkeypatch.setattr(holds, "running_spark", run.running_spark)
    life.deliver(("orders", "INSERT", row(1, "a")), ("stock", "INSERT", row(1, "s")))
    life.deliver(("orders", "ALTER", "ALTER TABLE orders MODIFY v geometry"), ("orders", "INSERT", row(2, "b")))
    for number in (3, 4):
        life.deliver(("orders", "INSERT", row(number, "c")), ("stock", "INSERT", row(number, "s")))
    assert life.retable("run", "shop", "--to", "2026-03-01T04:00:00Z").exit_code == 2
    through = "2026-03-01T02:00:00Z"
    why = life.json("why", "gold_shop.orders", "--through", through)
    assert (why["fresh"], why["cause"]["code"]) == (False, "HELD")
    done = life.retable("hold", "release", "gold_shop.orders", "--skip", "--reason", "text does", "--yes")
    assert done.exit_code == 0, done.output
    assert life.json("why", "gold_shop.orders", "--through", through)["fresh"]
    assert life.proof("orders", through) == {1: "a", 2: "b", 3: "c", 4: "c"}


@pytest.mark.slow
def test_what_a_retired_source_made_stays_readable(on_spark: Life) -> None:
    life = on_spark
    life.deliver(("orders", "INSERT", row(1, "a")))
    life.run()
    life.set(sources="")
    assert (life.rows("orders"), life.states()) == ({1: "a"}, {"orders": "retired"})
    assert life.json("status") == []
    assert life.json("plan") == []
    assert life.retable("upkeep", "--dry-run").exit_code == 0
    why = life.retable("why", "gold_shop.orders")
    assert why.exit_code == 1
    assert "came from the source shop, which is not in the settings any more" in why.stderr


# --- a source begins anew --------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_positions_that_begin_anew_win_under_a_new_source_epoch_and_older_windows_keep_theirs(on_spark: Life) -> None:
    life = on_spark
    life.deliver(*(("orders", "INSERT", row(number, "old")) for number in range(1, 4)))
    life.run()
    life.offset = 0
    life.set("source_epoch = 1")
    life.deliver(("orders", "UPDATE", row(1, "new")))
    life.run()
    assert life.rows("orders") == {1: "new", 2: "old", 3: "old"}
    life.run("--from", "2026-03-01T00:00:00Z")
    assert life.rows("orders") == {1: "new", 2: "old", 3: "old"}
    assert life.plan()["stale"] == []
    life.verify("orders")


@pytest.mark.slow
def test_a_table_that_lost_track_starts_anew_and_its_next_full_load_is_all_that_it_has(on_spark: Life) -> None:
    life = on_spark
    life.deliver(*(("orders", "INSERT", row(number, "old")) for number in range(1, 4)))
    life.deliver(("stock", "INSERT", row(1, "s")))
    life.run()
    life.offset = 0
    life.set("source_epoch = 1")
    life.deliver(("orders", "INIT", row(1, "one")), ("orders", "INIT", row(4, "four")))
    life.run()
    assert life.rows("orders") == {1: "one", 2: "old", 3: "old", 4: "four"}
    result = life.retable("resync", "gold_shop.orders", "--reason", "deletes were lost")
    assert result.exit_code == 0, result.output
    assert "starts again at source epoch 1" in result.stderr
    assert life.rows("orders") == {1: "one", 4: "four"}
    assert life.rows("stock") == {1: "s"}
    life.verify("orders")
    assert life.retable("resync", "gold_shop.orders", "--reason", "again").exit_code == 0
    life.run("--from", "2026-03-01T00:00:00Z")
    assert life.rows("orders") == {1: "one", 4: "four"}


@pytest.mark.slow
def test_a_table_that_starts_anew_before_its_load_comes_is_empty_until_then(on_spark: Life) -> None:
    life = on_spark
    life.deliver(("orders", "INSERT", row(1, "old")), ("stock", "INSERT", row(1, "s")))
    life.run()
    assert life.retable("resync", "gold_shop.orders", "--at", "0:7", "--reason", "lost").exit_code == 0
    assert (life.rows("orders"), life.rows("stock")) == ({}, {1: "s"})
    life.offset = 8
    life.deliver(("orders", "INIT", row(2, "two")))
    life.run()
    assert life.rows("orders") == {2: "two"}


# --- a table starts from a copy --------------------------------------------------------------------------------------
class Killed(Exception):
    """The command was killed."""


def _killed(*_: object) -> None:
    raise Killed


@pytest.mark.slow
def test_a_baseline_that_was_killed_is_told_with_the_command_that_goes_on_and_shadows_know_its_rows(
    on_spark: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = on_spark
    life.deliver(("orders", "INSERT", row(2, "b")), ("stock", "INSERT", row(1, "s")))
    life.run()
    (life.folder / "copy.csv").write_text("id,v\n1,a\n", encoding="utf-8")
    words = ("baseline", "gold_shop.orders", "--from", "copy.csv", "--at", "start", "--partition", "t/0")
    with monkeypatch.context() as patch:
        patch.setattr(baseline, "replay_pieces", _killed)
        assert isinstance(life.retable(*words).exception, SystemExit)
    through = ("--through", "2026-03-01T00:01:00Z")
    why = life.json("why", "gold_shop.orders", *through)
    assert (why["fresh"], why["watermark"], why["cause"]["code"]) == (False, None, "BASELINE")
    command = "`retable baseline gold_shop.orders --from copy.csv --at start --partition t/0`"
    again = f"{command}, with the other options it had, continues it"
    assert why["cause"]["next_step"] == again
    assert life.json("why", "gold_shop.stock", *through)["fresh"]
    (told,) = life.json("status")[0]["unfinished_baselines"]
    assert "0 of its 1 pieces are replayed" in told
    assert again in life.retable("status").stderr
    assert life.retable("status", "--check").exit_code == 2
    done = life.retable(*words)
    assert done.exit_code == 0, done.output
    assert life.rows("orders") == {1: "a", 2: "b"}
    assert life.json("why", "gold_shop.orders", *through)["fresh"]
    assert life.json("status")[0]["unfinished_baselines"] == []

    window = ("--from", "20260301T0000Z", "--to", "20260301T0100Z")
    built = life.retable("shadow", "build", "shop", "--tables", "gold_shop.orders", *window, "--reason", "to see")
    assert built.exit_code == 0, built.output
    (difference,) = life.json("shadow", "diff", "shop")
    assert (difference["equal"], difference["rows"]["shadow"]) == (True, 2)
    promoted = life.retable("shadow", "promote", "shop", "--reason", "looked at")
    assert promoted.exit_code == 0, promoted.output
    assert life.rows("orders") == {1: "a", 2: "b"}
    life.verify("orders")
