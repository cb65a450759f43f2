"""Statements on a topic of their own, which no position orders against the rows of a table: a doubt holds it."""

import json

import pytest

from formats.debezium_messages import ORACLE, SOURCE, Row, column, message, payload, with_schema
from laws.world import Gold, World, make_settings
from retable.model.message import RawMessage

BEFORE = [column("ID", "int32"), column("NAME", "string")]
AFTER = [*BEFORE, column("QTY", "int32")]
CREATE = 'CREATE TABLE "HR"."T" (ID NUMBER(9) PRIMARY KEY, NAME VARCHAR2(20))'
GOLD = "gold_orcl__hr.t"


def source(connector: str, **more: object) -> dict[str, object]:
    told = {**ORACLE, "connector": connector, "schema": "HR", "table": "T", "db": "ORCL", **more}
    return told if connector == "oracle" else {name: value for name, value in told.items() if name != "scn"}


def statement(
    text: str | None, offset: int, kind: str = "ALTER", connector: str = "oracle", **more: object
) -> RawMessage:
    content = {
        "source": source(connector, **more),
        "ts_ms": 1_700_000_000_500,
        "databaseName": "ORCL",
        "schemaName": "HR",
        "ddl": text,
        "tableChanges": [{"type": kind, "id": '"ORCL"."HR"."T"', "table": {"columns": []}}],
    }
    return message(content, None, "erp", offset)


def row(
    number: int, offset: int, columns: list[dict[str, object]], connector: str = "oracle", **more: object
) -> RawMessage:
    after: Row = {"ID": number, "NAME": "n", "QTY": 5}
    shown = {str(each["field"]): after[str(each["field"])] for each in columns}
    content = with_schema(payload("c", None, shown, source(connector, **more)), columns)
    return message(content, {"ID": number}, "erp.HR.T", offset)


def replayed(*messages: RawMessage) -> tuple[World, Gold]:
    world = World(make_settings("debezium_json"))
    world.replay(world.deliver(list(messages)))
    return world, world.gold()[GOLD]


@pytest.mark.parametrize("snapshot", ["true", "false"])
def test_a_statement_that_makes_a_table_voids_none_of_its_rows_whatever_their_offsets(snapshot: str) -> None:
    world, gold = replayed(statement(CREATE, 50, "CREATE", snapshot=snapshot), row(1, 0, BEFORE), row(2, 99, BEFORE))
    assert (gold.columns, gold.rows) == (("id", "name"), ('{"id": "1", "name": "n"}', '{"id": "2", "name": "n"}'))
    assert gold.hold is None
    assert [counts["applied"] for counts in world.counts.values()] == [2]


def test_an_added_column_that_old_rows_show_as_null_needs_no_place_among_them() -> None:
    added = statement("ALTER TABLE hr.t ADD qty NUMBER(5)", 1)
    _, gold = replayed(statement(CREATE, 0, "CREATE"), row(1, 7, BEFORE), added, row(2, 8, AFTER))
    assert gold.rows == ('{"id": "1", "name": "n", "qty": null}', '{"id": "2", "name": "n", "qty": "5"}')
    assert gold.hold is None


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE hr.t ADD qty NUMBER(5) DEFAULT 3",
        "ALTER TABLE hr.t RENAME COLUMN name TO title",
        "ALTER TABLE hr.t DROP (name)",
        "TRUNCATE TABLE hr.t",
        "DROP TABLE hr.t PURGE",
        "ALTER TABLE hr.t FROB",
    ],
)
def test_a_statement_that_needs_a_place_among_the_rows_holds_and_no_row_is_lost(text: str) -> None:
    world, gold = replayed(statement(CREATE, 0, "CREATE"), row(1, 0, BEFORE), row(2, 9, BEFORE), statement(text, 4))
    assert gold.hold is not None
    assert gold.hold.code == "ORDER_UNDEFINED"
    (counts,) = world.counts.values()
    assert counts.get("applied", 0) + counts["held"] == counts["rows"] == 2


def test_sql_server_s_rows_bring_the_columns_that_its_statements_without_text_do_not_tell() -> None:
    def place(number: int) -> str:
        return f"00000001:0000000{number}:0001"

    def written(number: int, columns: list[dict[str, object]]) -> RawMessage:
        lsn = place(number)
        return row(number, number, columns, "sqlserver", commit_lsn=lsn, change_lsn=lsn)

    _, gold = replayed(
        statement(None, 0, "CREATE", "sqlserver", snapshot="true", commit_lsn=place(1)),
        written(2, BEFORE),
        statement("N/A", 1, "ALTER", "sqlserver", commit_lsn=place(3)),
        written(4, AFTER),
        statement(None, 2, "ALTER", "sqlserver", commit_lsn=None),
        written(5, AFTER),
    )
    assert gold.columns == ("id", "name", "qty")
    assert gold.rows == (
        '{"id": 2, "name": "n", "qty": null}',
        '{"id": 4, "name": "n", "qty": 5}',
        '{"id": 5, "name": "n", "qty": 5}',
    )
    assert gold.hold is None


def test_messages_without_a_place_in_a_log_are_ordered_by_one_topic_where_the_settings_say_so() -> None:
    nowhere = {**SOURCE, "file": "", "pos": 0}

    def said(offset: int, content: dict[str, object], key: object = None) -> RawMessage:
        return message(content, key, "erp", offset)

    def told(ddl: str) -> dict[str, object]:
        return {"source": nowhere, "databaseName": "shop", "schemaName": None, "ddl": ddl, "tableChanges": []}

    rows = [{"id": 1, "c": "x"}, {"id": 1, "c": "y", "d": 7}, {"id": 2, "c": "z", "d": 8}]
    messages = [
        said(1, told("CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(9))")),
        said(2, payload("c", None, rows[0], nowhere), {"id": 1}),
        said(3, told("ALTER TABLE t ADD d INT DEFAULT 5")),
        said(4, payload("u", {**rows[0], "d": 5}, rows[1], nowhere), {"id": 1}),
        said(5, payload("c", None, rows[2], nowhere), {"id": 2}),
    ]
    for cut in range(len(messages) + 1):
        world = World(make_settings("debezium_json", order="offset"))
        for window in (messages[:cut], messages[cut:]):
            world.replay(world.deliver(window))
        (found,) = world.gold().values()
        assert found.hold is None
        assert [json.loads(line) for line in found.rows] == rows[1:]
