"""What Airflow keeps and shows after all of these runs: the lineage of the data, and no secret."""

import json
from pathlib import Path
from typing import Any

import psycopg2

from airflow_running.running import CANARY, RunningAirflow, processes_of
from airflow_running.world import World


def test_the_lineage_of_a_window_goes_from_its_folder_over_bronze_and_silver_to_gold(
    airflow: RunningAirflow, folder: Path, world: World
) -> None:
    events = [json.loads(line) for line in (folder / "lineage.jsonl").read_text("utf-8").splitlines()]
    done = [
        event
        for event in events
        if event["eventType"] == "COMPLETE" and event["job"]["name"] == "replay_changes__shop.window"
    ]
    assert done
    lake = f"file:{world.folder / 'lake'}"
    assert all(names(event["inputs"]) == {("file", str(world.folder / "shop"))} for event in done)
    written = set().union(*(names(event["outputs"]) for event in done))
    assert {(lake, "bronze.shop"), (lake, "silver.shop"), (lake, "gold_shop.orders")} <= written


def names(sets: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(each["namespace"], each["name"]) for each in sets}


def test_no_secret_is_in_a_log_the_database_the_lineage_or_a_command_line(
    airflow: RunningAirflow, folder: Path
) -> None:
    found = [str(path) for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert found == []
    assert processes_of(CANARY) == []
    assert tables_with(airflow.env["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"], CANARY) == []


def tables_with(database: str, words: str) -> list[str]:
    """The tables of Airflow's database in which some row has these words, XCom and rendered fields among them."""
    connection = psycopg2.connect(database.replace("+psycopg2", ""))
    with connection, connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
        assert {"xcom", "rendered_task_instance_fields", "log"} <= set(tables)
        found = []
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}" AS t WHERE t::text LIKE %s', (f"%{words}%",))
            if cursor.fetchone() != (0,):
                found.append(table)
    connection.close()
    return found
