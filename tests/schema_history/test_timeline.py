"""Statements in order to table histories."""

from dataclasses import replace
from functools import partial

from retable.ddl.registry import describe, gold_type, keeps_values, parse_statement
from retable.model.event import TableName
from retable.model.schema import GoldType
from retable.model.sequence import Sequence
from retable.schema_history.columns import SchemaRules
from retable.schema_history.history import Hold, TableHistory
from retable.schema_history.statement import Statement
from retable.schema_history.timeline import Timeline
from retable.schema_history.trace import trace
from retable.schema_history.traced import InferredColumn

MYSQL = SchemaRules(lambda _, column: gold_type("mysql", column.source_type), partial(keeps_values, "mysql"), describe)


def at(position: int) -> Sequence:
    return Sequence(0, position, 0)


def statements(*texts: str) -> list[Statement]:
    """Statements at positions 10, 20, 30 …"""
    return [
        Statement(
            position=at(10 * number),
            part="t/0",
            table=None,
            text=text,
            changes=parse_statement("mysql", text, "shop", None, None),
        )
        for number, text in enumerate(texts, start=1)
    ]


def run(*texts: str, inferred: tuple[InferredColumn, ...] = ()) -> Timeline:
    return trace(statements(*texts), MYSQL, inferred)


def only(timeline: Timeline) -> TableHistory:
    (history,) = timeline.histories()
    return history


def names(history: TableHistory) -> list[str]:
    return [column.name for column in history.final.columns]


def test_a_renamed_column_keeps_its_identity() -> None:
    before = only(run("CREATE TABLE t (id INT PRIMARY KEY, a INT)"))
    after = only(run("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "ALTER TABLE t CHANGE a b BIGINT"))
    assert names(after) == ["id", "b"]
    assert after.final.columns[1].id == before.final.columns[1].id
    assert after.final.columns[1].type == GoldType("long")


def test_a_rename_without_a_type_keeps_the_type() -> None:
    history = only(run("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "ALTER TABLE t RENAME COLUMN a TO b"))
    assert history.hold is None
    assert [(column.name, column.source_type) for column in history.final.columns] == [("id", "INT"), ("b", "INT")]


def test_a_column_dropped_and_added_again_is_another_column() -> None:
    history = only(
        run("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "ALTER TABLE t DROP a", "ALTER TABLE t ADD a TEXT FIRST")
    )
    assert names(history) == ["a", "id"]
    assert history.final.columns[0].id not in {column.id for column in history.epochs[1].columns}


def test_columns_swap_through_a_third_name() -> None:
    history = only(
        run(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
            "ALTER TABLE t CHANGE a x INT",
            "ALTER TABLE t CHANGE b a INT",
            "ALTER TABLE t CHANGE x b INT",
        )
    )
    first = {column.name: column.id for column in history.epochs[1].columns}
    last = {column.name: column.id for column in history.final.columns}
    assert (last["a"], last["b"]) == (first["b"], first["a"])


def test_a_statement_is_replayed_wholly_or_not_at_all() -> None:
    history = only(
        run("CREATE TABLE t (id INT PRIMARY KEY, a INT)", "ALTER TABLE t ADD b INT, DROP COLUMN z", "TRUNCATE t")
    )
    assert names(history) == ["id", "a"]
    assert history.hold is not None
    assert history.hold.position == at(20)
    assert "DROP COLUMN z" in (history.hold.statement or "")
    assert history.truncated_at == at(10)


def test_a_narrowing_is_another_column_though_gold_has_one_type_for_both() -> None:
    for change in ("a SMALLINT", "a INT UNSIGNED", "b DATETIME", "c VARCHAR(5)", "d ENUM('x')"):
        history = only(
            run(
                "CREATE TABLE t (id INT PRIMARY KEY, a INT, b DATETIME(6), c VARCHAR(9), d ENUM('x','y'))",
                f"ALTER TABLE t MODIFY {change}",
            )
        )
        name = change.partition(" ")[0]
        assert history.hold is None
        assert names(history)[-1] == f"{name}__until_1"
        assert history.changes[-1].reason == f"gold keeps the former column {name}__until_1"
        assert history.final.column(name) != history.epochs[0].column(name)


def test_a_statement_says_all_columns_that_gold_keeps_after_it_and_a_later_one_only_its_own() -> None:
    history = only(
        run(
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)",
            "ALTER TABLE t MODIFY a SMALLINT, ADD c INT, MODIFY b SMALLINT",
            "ALTER TABLE t ADD d INT",
            "ALTER TABLE t MODIFY a TINYINT",
        )
    )
    assert [change.reason for change in history.changes] == [
        None,
        "gold keeps the former columns a__until_1, b__until_1",
        None,
        "gold keeps the former column a__until_2",
    ]


def test_a_renamed_table_is_the_same_table_and_its_old_name_is_free() -> None:
    timeline = run(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "RENAME TABLE a TO b",
        "CREATE TABLE a LIKE b",
        "ALTER TABLE b RENAME TO other.c",
    )
    moved, new = timeline.histories()
    assert moved.name == TableName("other", None, "c")
    assert new.name == TableName("shop", None, "a")
    assert timeline.owner(TableName("shop", None, "a"), at(15)) == moved.identity
    assert timeline.owner(TableName("shop", None, "b"), at(25)) == moved.identity
    assert timeline.owner(TableName("shop", None, "a"), at(35)) == new.identity
    assert timeline.owner(TableName("other", None, "c"), at(45)) == moved.identity


def test_two_tables_swap_names_in_one_statement() -> None:
    timeline = run(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY, x INT)",
        "RENAME TABLE a TO t, b TO a, t TO b",
    )
    by_name = {str(history.name): history for history in timeline.histories()}
    assert names(by_name["shop.b"]) == ["id"]
    assert names(by_name["shop.a"]) == ["id", "x"]


def test_a_table_dropped_and_created_again_is_emptied_and_goes_on_with_new_columns() -> None:
    history = only(run("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "DROP TABLE t", "CREATE TABLE t (id TEXT, v INT)"))
    assert history.truncated_at == at(30)
    assert not history.dropped
    assert {column.id for column in history.final.columns}.isdisjoint(column.id for column in history.epochs[1].columns)


def test_dropping_a_database_drops_its_tables_and_voids_those_that_no_statement_named() -> None:
    timeline = run("CREATE TABLE t (id INT PRIMARY KEY)", "DROP DATABASE shop")
    assert only(timeline).dropped
    identity = timeline.owner(TableName("shop", None, "untold"), at(5))
    untold = next(history for history in timeline.histories() if history.identity == identity)
    assert untold.truncated_at == at(20)


def test_a_redelivered_statement_counts_once() -> None:
    texts = ("CREATE TABLE t (id INT PRIMARY KEY)", "ALTER TABLE t ADD a INT")
    once = trace(statements(*texts), MYSQL)
    twice = trace([*statements(*texts), *statements(*texts)], MYSQL)
    assert twice.histories() == once.histories()


def test_a_statement_that_cannot_be_read_holds_its_table_and_no_other() -> None:
    timeline = run(
        "CREATE TABLE a (id INT PRIMARY KEY)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
        "ALTER TABLE a FROBNICATE THE COLUMNS",
        "ALTER TABLE b ADD x INT",
    )
    held, fine = timeline.histories()
    assert held.hold is not None
    assert held.hold.statement == "ALTER TABLE a FROBNICATE THE COLUMNS"
    assert fine.hold is None
    assert names(fine) == ["id", "x"]


def test_what_is_no_change_is_recorded_and_changes_nothing() -> None:
    timeline = run("CREATE TABLE t (id INT PRIMARY KEY)", "CREATE INDEX i ON t (id)", "CREATE DATABASE x")
    assert len(only(timeline).changes) == 1
    assert [status for _, status, _ in timeline.recorded] == ["applied", "nothing", "nothing"]


def test_old_rows_show_the_default_of_a_new_column() -> None:
    history = only(
        run(
            "CREATE TABLE t (id INT PRIMARY KEY)",
            "ALTER TABLE t ADD a INT NOT NULL DEFAULT 7, ADD b INT NOT NULL, ADD c INT, ADD d ENUM('x','y') NOT NULL",
            "ALTER TABLE t ADD e CHAR(36) NOT NULL DEFAULT (uuid())",
        )
    )
    assert [column.default for column in history.final.columns] == [None, "7", "0", None, "x", None]


def test_a_column_that_only_images_tell_keeps_its_identity_wherever_it_is_seen_first() -> None:
    texts = ("ALTER TABLE t ADD a INT", "ALTER TABLE t ADD b INT")
    name, text = TableName("shop", None, "t"), GoldType("string")
    late = InferredColumn(f"{name}@base", at(10), "seen", "text", text)
    early = InferredColumn(f"{name}@base", None, "seen", "text", text)

    def identity(*inferred: InferredColumn) -> str:
        return next(c.id for c in only(run(*texts, inferred=inferred)).final.columns if c.name == "seen")

    assert identity(late) == identity(early) == identity(early, late)


def test_a_hold_on_a_row_cuts_the_history_there() -> None:
    history = only(run("CREATE TABLE t (id INT PRIMARY KEY)", "ALTER TABLE t ADD a INT", "DROP TABLE t"))
    held = only(run("CREATE TABLE t (id INT PRIMARY KEY)", "ALTER TABLE t DROP z"))
    assert held.hold is not None
    cut = history.until(held.hold)
    assert names(cut) == ["id"]
    assert not cut.dropped


def test_create_if_not_exists_leaves_a_table_that_images_told_alone() -> None:
    name = TableName("shop", None, "t")
    seen = InferredColumn(f"{name}@base", None, "id", "int", GoldType("int"))
    history = only(run("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)", inferred=(seen,)))
    assert history.truncated_at is None
    assert names(history) == ["id"]


def test_dropping_a_database_drops_the_tables_that_are_there_though_no_statement_named_them() -> None:
    name = TableName("shop", None, "t")
    history = only(trace(statements("DROP DATABASE shop"), MYSQL, known={name: None}))
    assert history.dropped
    assert history.changes


def test_a_row_before_a_name_was_taken_by_a_rename_is_of_another_table() -> None:
    timeline = run(
        "CREATE TABLE a (id INT PRIMARY KEY)", "DROP DATABASE shop", "CREATE TABLE a (id INT)", "RENAME TABLE a TO b"
    )
    renamed = next(history for history in timeline.histories() if history.name.table == "b")
    early = timeline.owner(TableName("shop", None, "b"), at(15))
    assert early != renamed.identity
    assert timeline.owner(TableName("shop", None, "b"), at(15)) == early
    assert timeline.owner(TableName("shop", None, "b"), at(40)) == renamed.identity


def test_statements_at_one_position_apply_in_the_order_in_which_they_came_and_each_once() -> None:
    """A reader of the binlog cuts a RENAME of several tables into as many statements, and may send all again."""
    made = statements("create table a (id int)", "create table b (id int, x int)")
    texts = ("rename table a to t", "rename table b to a", "rename table t to b")
    swapped = [
        Statement(
            position=at(30),
            part=None,
            table=None,
            text=text,
            changes=parse_statement("mysql", text, "shop", None, None),
            offset=start + number,
        )
        for start in (65, 165)
        for number, text in enumerate(texts)
    ]
    timeline = trace([*made, *reversed(swapped)], MYSQL)
    assert {history.name.table: names(history) for history in timeline.histories()} == {
        "b": ["id"],
        "a": ["id", "x"],
    }


def test_a_hold_in_other_words_is_the_same_hold() -> None:
    hold = Hold("LATE_CHANGE", "it came late", at(10), "t/0", "ALTER TABLE t …", "rebuild it")
    assert hold.is_same(replace(hold, reason="it arrived late", remedy="retable rebuild TABLE"))
    assert not hold.is_same(None)
    for other in (replace(hold, code="MOVED"), replace(hold, position=at(20)), replace(hold, statement="DROP TABLE t")):
        assert not hold.is_same(other)
