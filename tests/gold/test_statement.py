"""A schema event of silver means what its text says, and without a text what its operation says alone."""

import pytest

from retable.gold.silver import to_statement
from retable.gold.store import Record
from retable.model.event import TableName
from retable.model.schema_change import DropTable, NoChange, SchemaChange, TruncateTable, Unsupported
from retable.model.sequence import Sequence

TABLE = TableName("shop", None, "t")


def record(**fields: object) -> Record:
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
        ("DDL", "ALTER", None, Unsupported(TABLE, "the message carries no statement")),
    ],
)
def test_a_text_decides_and_without_one_the_operation(
    op: str, op_raw: str, text: str | None, change: SchemaChange
) -> None:
    statement = to_statement(record(op=op, op_raw=op_raw, ddl_text=text), None)
    assert statement.changes == (change,)
    assert (statement.position, statement.part, statement.table) == (Sequence(0, 7, 1), None, TABLE)


@pytest.mark.parametrize(
    ("told", "setting"), [("mysql", None), ("MariaDB", "oracle"), (None, None), (None, "mysql"), ("polardb", "mysql")]
)
def test_a_statement_is_read_under_the_first_dialect_that_is_known(told: str | None, setting: str | None) -> None:
    statement = to_statement(record(source_system=told, ddl_text="drop table t"), setting)
    assert statement.changes == (DropTable(TABLE),)


@pytest.mark.parametrize(("told", "setting"), [("oracle", None), ("oracle", "db2"), (None, "oracle")])
def test_a_statement_of_an_unknown_dialect_holds_its_table_and_no_other(told: str | None, setting: str | None) -> None:
    (change,) = to_statement(record(source_system=told, ddl_text="drop table t"), setting).changes
    assert isinstance(change, Unsupported)
    assert change.table == TABLE
    assert "'oracle'" in change.reason
    assert "`source_system`" in change.reason
