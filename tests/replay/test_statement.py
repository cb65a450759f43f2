"""A schema event of silver means what its text says, and without a text what its operation says alone."""

import pytest

from retable.gold.store import RowDict
from retable.model.event import TableName
from retable.model.schema_change import DropTable, NoChange, SchemaChange, TruncateTable, Unsupported
from retable.model.sequence import Sequence
from retable.replay.inputs.silver import system_of, to_statement

TABLE = TableName("shop", None, "t")


def record(**fields: object) -> RowDict:
    return {
        "source_format": "streamx_json",
        "source_system": "mysql",
        "op": "DDL",
        "op_raw": "ALTER",
        "database": "shop",
        "schema": None,
        "table": "t",
        "ddl_text": None,
        "sequence": {"epoch": 0, "hi": 7, "lo": 1},
        "part": None,
        "event_time_ms": 1,
        "tx_id": None,
        "offset": 7,
        **fields,
    }


@pytest.mark.parametrize(
    ("op", "op_raw", "text", "change"),
    [
        ("TRUNCATE", "TRUNCATE", None, TruncateTable(TABLE)),
        ("DDL", "ERASE", None, DropTable(TABLE)),
        ("DDL", "ERASE", "drop table shop.u", DropTable(TableName("shop", None, "u"))),
        ("DDL", "CINDEX", None, NoChange("index")),
        ("DDL", "ALTER", None, Unsupported(TABLE, "the message contains no statement")),
    ],
)
def test_a_text_decides_and_without_one_the_operation(
    op: str, op_raw: str, text: str | None, change: SchemaChange
) -> None:
    statement = to_statement(record(op=op, op_raw=op_raw, ddl_text=text), None)
    assert statement.changes == (change,)
    assert (statement.position, statement.part, statement.table) == (Sequence(0, 7, 1), None, TABLE)


@pytest.mark.parametrize(
    ("told", "setting"), [("mysql", None), ("MariaDB", "db2"), (None, None), (None, "mysql"), ("polardb", "mysql")]
)
def test_a_statement_is_read_under_the_first_dialect_that_is_known(told: str | None, setting: str | None) -> None:
    statement = to_statement(record(source_system=told, ddl_text="drop table t"), setting)
    assert statement.changes == (DropTable(TABLE),)


@pytest.mark.parametrize(
    ("told", "table"),
    [
        ("oracle", TableName("ORCL", "HR", "T")),
        ("SQLServer", TableName("ORCL", "HR", "t")),
        ("mysql", TableName("ORCL", None, "t")),
    ],
)
def test_a_message_that_tells_its_database_is_read_under_that_one(told: str, table: TableName) -> None:
    fields = {"database": "ORCL", "schema": "HR", "table": "X", "ddl_text": "drop table t"}
    assert to_statement(record(source_system=told, **fields), None).changes == (DropTable(table),)


@pytest.mark.parametrize(("told", "setting"), [("db2", None), ("db2", "informix"), (None, "db2")])
def test_a_statement_of_an_unknown_dialect_holds_its_table_and_no_other(told: str | None, setting: str | None) -> None:
    (change,) = to_statement(record(source_system=told, ddl_text="drop table t"), setting).changes
    assert isinstance(change, Unsupported)
    assert change.table == TABLE
    assert "'db2'" in change.reason
    assert "`source_system`" in change.reason


@pytest.mark.parametrize(
    ("told", "setting", "system"),
    [
        ([], None, "mysql"),
        ([], "Oracle", "oracle"),
        ([None, "Oracle"], "mysql", "oracle"),
        (["polardb"], "mysql", "mysql"),
        (["polardb", "MariaDB"], None, "mariadb"),
        ([None], "klingon", "klingon"),
    ],
)
def test_the_first_known_database_that_a_message_tells_is_the_sources(
    told: list[str | None], setting: str | None, system: str
) -> None:
    assert system_of([record(source_system=each) for each in told], setting) == system


def test_a_source_of_two_databases_holds_the_tables_of_the_second() -> None:
    (change,) = to_statement(record(source_system="oracle", ddl_text="drop table t"), None, "mysql").changes
    assert change == Unsupported(TABLE, "the source has statements of mysql and oracle; define one source for each")
    (change,) = to_statement(record(source_system="MariaDB", ddl_text="drop table t"), None, "mysql").changes
    assert change == DropTable(TABLE)
