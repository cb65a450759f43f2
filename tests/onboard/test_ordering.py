"""By what the changes of a source are ordered: as they say themselves, and before any came as their format does."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from lakes import SettingsWriter
from laws.world import NOW
from retable.decode.silver import events_to_batch
from retable.formats.registry import FORMATS
from retable.ledger.lake.catalog import Lake, open_lake
from retable.ledger.write import append_rows
from retable.model.event import Address, ChangeEvent, Scope
from retable.model.sequence import LOWEST, Sequence
from retable.onboard.ordering import scope_of
from retable.onboard.schema.dumps import read_mysql
from retable.onboard.schema.imports import plan_import

GOLDEN = Path(__file__).parents[1] / "golden"


def opened(write_settings: SettingsWriter, source_format: str, more: str = "") -> Lake:
    places = f'kind = "files"\nformat = "{source_format}"\npath = "landing"\nlayout = "kafka_dump"\n{more}'
    return open_lake(write_settings(f"[sources.shop]\n{places}"))


def scope(lake: Lake) -> Scope:
    return scope_of(lake, lake.settings.source("shop"))


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_orders_inside_partitions_where_all_of_its_genuine_changes_do(name: str) -> None:
    files = [json.loads(path.read_text(encoding="utf-8")) for path in (GOLDEN / name).glob("*.events.json")]
    scopes = {each.get("sequence_scope") for events in files for each in events if each["op"] in ("INSERT", "UPDATE")}
    assert scopes
    assert (scopes == {"partition"}) == (FORMATS[name].order_scope(None) == "partition")


@pytest.mark.parametrize(
    ("source_format", "more", "told"),
    [
        ("canal_json", "", "partition"),
        ("streamx_json", "", "stream"),
        ("debezium_json", 'source_system = "postgresql"', "stream"),
        ("debezium_json", 'source_system = "oracle"', "partition"),
    ],
)
def test_before_any_change_came_the_format_tells(
    write_settings: SettingsWriter, source_format: str, more: str, told: str
) -> None:
    assert scope(opened(write_settings, source_format, more)) == told


def test_of_debezium_the_dump_tells_the_database_where_the_settings_do_not(write_settings: SettingsWriter) -> None:
    lake = opened(write_settings, "debezium_json")
    told = read_mysql(["CREATE TABLE t (id int);\n"], "shop")
    append_rows(lake, plan_import(lake, lake.settings.source("shop"), told, LOWEST, "dump", NOW).rows)
    assert scope(lake) == "stream"


def test_the_changes_that_came_say_it_and_copies_do_not(write_settings: SettingsWriter) -> None:
    lake = opened(write_settings, "debezium_json", 'source_system = "postgresql"')
    put(lake, "10000101T0001Z", "partition")
    assert scope(lake) == "stream"
    put(lake, "20260301T0000Z", "partition")
    assert scope(lake) == "partition"


def put(lake: Lake, window: str, told: Scope) -> None:
    """One change, as of a window, in silver."""
    change = ChangeEvent(
        source_format="debezium_json",
        source_system=None,
        op="INSERT",
        op_raw="c",
        address=Address("topic", 0, 1),
        database="shop",
        table="t",
        after='{"id":1}',
        sequence=Sequence(0, 1, 0),
        sequence_scope=told,
    )
    lake.ensure("silver.shop").append(pa.Table.from_batches([events_to_batch(window, [change])]))
