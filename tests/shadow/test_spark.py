"""A shadow from bronze to promotion: gold is untouched until then, and the same table after it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

from laws.spark_world import SparkWorld, open_lake_in
from laws.test_policies import TABLE, row
from retable.cli.app import app
from retable.errors import InvalidSetting, NotFound, NotReady
from retable.ledger.lake.catalog import open_lake
from retable.ledger.read import read_actions
from retable.settings.load import load_settings
from retable.shadow.lake import drop_shadow, find_shadow
from retable.shadow.plan import check_ask
from retable.shadow.spark import build, promote

pytestmark = pytest.mark.slow

WALL = ("2026-03-01 05:00:00", "timestamp")
ZONE = '\ntime_zone = "Asia/Shanghai"\n'


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> SparkWorld:
    """Three windows of a table, replayed under a zone that is wrong."""
    world = open_lake_in(tmp_path / "lake", "canal_json", "")
    for number in range(3):
        first = 10 * number
        world.replay(
            world.deliver(
                [
                    row(first + 1, "INSERT", id=str(number), at=WALL),
                    row(first + 2, "INSERT", table="other", id=str(number), at=WALL),
                ]
            )
        )
    return world


def under(world: SparkWorld, change: Callable[[str], str]) -> SparkWorld:
    """The same lake under settings whose text was changed."""
    settings = world.folder / "retable.toml"
    settings.write_text(change(settings.read_text(encoding="utf-8")), encoding="utf-8")
    return SparkWorld(world.folder, world.session, open_lake(load_settings(settings)), world.names)


def corrected(world: SparkWorld) -> SparkWorld:
    """The same lake under settings with another zone."""
    return under(world, lambda text: text.replace('kind = "files"', f'kind = "files"{ZONE}'))


def test_a_shadow_is_built_compared_and_promoted_as_the_same_table(
    world: SparkWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retable = commands(world, monkeypatch)
    before, uuid, snapshots = world.gold(), world.lake.load(TABLE).metadata.table_uuid, world.digest()
    world = corrected(world)
    # The zone is the whole source's, so that it changes the other table's windows too.
    with pytest.raises(InvalidSetting, match="would also change gold_shop.other"):
        check_ask(world.lake, "shop", [TABLE], world.names[0], "20260301T0200Z")
    ask = check_ask(world.lake, "shop", [TABLE, "gold_shop.other"], world.names[0], "20260301T0200Z")
    assert ask.windows == tuple(world.names[:2])
    now = datetime.now(UTC)
    build(world.session, world.lake, ask, "the zone was wrong", "ann", "build", now, lambda _: None)
    assert (world.gold(), world.digest()) == (before, snapshots)
    with pytest.raises(InvalidSetting, match="already has a shadow"):
        build(world.session, world.lake, ask, "again", "ann", "build", now, lambda _: None)

    shown = retable("shadow", "diff", "shop", "--json")
    told, other = json.loads(shown.stdout)
    rows = told["rows"]
    assert (other["table"], other["rows"]["different"]) == ("gold_shop.other", 3)
    assert (told["table"], told["key"], told["moved"], told["equal"]) == (TABLE, ["id"], False, False)
    assert (rows["different"], rows["only_in_gold"], rows["only_in_shadow"]) == (3, 0, 0)
    assert set(rows["columns"]) == {"at"}
    assert "different, compared by id" in retable("shadow", "diff", "shop").stderr

    promote(world.session, world.lake, "shop", "looked at", "ann", "promote", datetime.now(UTC), lambda _: None)
    after = world.gold()
    for table in ask.tables:
        assert {json.loads(each)["at"] for each in after[table].rows} == {"2026-02-28T21:00:00.000000Z"}
    assert world.lake.load(TABLE).metadata.table_uuid == uuid
    assert find_shadow(world.lake, "shop") is None
    assert [each for each in world.lake.catalog.list_namespaces() if each[0].startswith("shadow_")] == []
    assert world.lake.find("silver.shadow_shop") is None
    assert [each.reason for each in read_actions(world.lake, "shop")] == ["the zone was wrong", "looked at"]
    assert read_actions(world.lake, "shadow_shop") == []
    assert not world.replay(world.names[0])


def test_a_shadow_that_is_dropped_leaves_nothing_and_gold_as_it_was(
    world: SparkWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    retable = commands(world, monkeypatch)
    before, files = world.digest(), everything(world)
    ask = check_ask(world.lake, "shop", [TABLE], world.names[1], "20260301T0300Z")
    build(world.session, world.lake, ask, "to see", "ann", "build", datetime.now(UTC), lambda _: None)
    (told,) = json.loads(retable("shadow", "diff", "shop", "--json").stdout)
    assert told["equal"]
    assert told["rejected"] == []
    assert told["rows"]["gold"] == told["rows"]["shadow"] == 3
    assert [each["name"] for each in json.loads(retable("tables", "--json").stdout)] == ["gold_shop.other", TABLE]
    assert retable("shadow", "drop", "shop", "--reason", "seen").exit_code == 0
    assert world.digest() == before
    assert {
        path for path in everything(world) - files if path.suffix == ".parquet" and "ops" not in path.parts
    } == set()
    assert retable("shadow", "drop", "shop", "--reason", "seen").stderr == "shop has no shadow\n"
    assert drop_shadow(world.lake, "shop") == []
    # What is asked for is checked before anything begins.
    for wrong, error, words in (
        (([], "20260301T0000Z", "20260301T0100Z"), InvalidSetting, f"shop has gold_shop.other, {TABLE}"),
        (([f"{TABLE}x"], "20260301T0000Z", "20260301T0100Z"), NotFound, f"did you mean '{TABLE}'"),
        (([TABLE], "20260301T0200Z", "20260301T0100Z"), InvalidSetting, "is not before"),
        (([TABLE], "20260301T0000Z", "20260301T0900Z"), NotFound, "are recorded up to 20260301T0300Z"),
        (([TABLE], "20250101T0000Z", "20260301T0100Z"), NotFound, "windows are 20260301T0000Z to 20260301T0200Z"),
        (([TABLE], "yesterday", "20260301T0100Z"), InvalidSetting, "is not a window"),
    ):
        with pytest.raises(error, match=words):
            check_ask(world.lake, "shop", *wrong)
    with pytest.raises(NotFound, match="no source"):
        check_ask(world.lake, "shopp", [TABLE], "20260301T0000Z", "20260301T0100Z")
    world.deliver([row(100, "INSERT", id="9", at=WALL)])
    with pytest.raises(NotReady, match="20260301T0300Z of shop is not replayed yet"):
        check_ask(world.lake, "shop", [TABLE], "20260301T0000Z", "20260301T0400Z")


def test_one_table_changes_by_its_own_settings_and_those_that_came_after_the_build_are_not_promoted_unseen(
    world: SparkWorld,
) -> None:
    before = world.digest()
    ruled = under(world, lambda text: f'{text}\n[tables."shop.t"]\ntypes = {{ at = "string" }}\n')
    ask = check_ask(ruled.lake, "shop", [TABLE], world.names[0], "20260301T0300Z")
    build(world.session, ruled.lake, ask, "to see", "ann", "build", datetime.now(UTC), lambda _: None)
    other = corrected(ruled)
    with pytest.raises(InvalidSetting, match="have changed since its shadow was built"):
        promote(world.session, other.lake, "shop", "unseen", "ann", "promote", datetime.now(UTC), lambda _: None)
    assert world.digest() == before
    promote(world.session, ruled.lake, "shop", "looked at", "ann", "promote", datetime.now(UTC), lambda _: None)
    after = world.digest()
    assert {name for name in after if after[name] != before[name]} == {TABLE}
    assert {json.loads(each)["at"] for each in world.gold()[TABLE].rows} == {"2026-03-01 05:00:00"}


def everything(world: SparkWorld) -> set[Path]:
    return {path for path in (world.folder / "lake").rglob("*") if path.is_file()}


def commands(world: SparkWorld, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.setenv("RETABLE_SETTINGS", str(world.folder / "retable.toml"))
    return lambda *args: CliRunner().invoke(app, list(args), prog_name="retable")
