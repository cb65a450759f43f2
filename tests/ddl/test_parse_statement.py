"""What holds for any statement, whatever it says."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retable.ddl.registry import PARSERS, describe, parse_statement
from retable.ddl.statement import LONGEST_STATEMENT
from retable.errors import SettingsError
from retable.model.event import TableName
from retable.model.schema_change import (
    AddForeignKey,
    DropForeignKey,
    DropTable,
    NoChange,
    SchemaChange,
    Unsupported,
)

TESTS = Path(__file__).parent.parent


def golden_statements(dialect: str) -> list[str]:
    lines = (TESTS / "golden_ddl" / f"{dialect}.sql").read_text("utf-8").splitlines()
    return [line.replace("⏎", "\n") for line in lines if line and not line.startswith(("---", "-- =>"))]


GRAMMARS = ("mysql", "oracle", "sqlserver")
STATEMENTS = {dialect: golden_statements(dialect) for dialect in GRAMMARS}
PIECES = [
    *(
        "(",
        ")",
        ",",
        ";",
        "'",
        '"',
        "`",
        "\\",
        "/*",
        "*/",
        "/*!80000",
        "--",
        "#",
        "@",
        ".",
        "=",
        "\0",
        "\xa0",
        "\ud800",
    ),
    *(
        "[",
        "]",
        "]]",
        "q'[",
        "nq'!",
        "N'",
        "|",
        "/*+",
        "@",
        "BIN$",
        "CONSTRAINT",
        "USING INDEX",
        "WITH",
        "GO",
        "EXEC sp_rename",
    ),
    *("0x", "b'", "DEFAULT", "ADD", "PRIMARY KEY", "NULL", "1e5", "NEXT VALUE FOR", "AFTER", "RENAME TO", "😀", "ı"),
]


def parse(statement: str, dialect: str = "mysql") -> tuple[SchemaChange, ...]:
    return parse_statement(dialect, statement, "shop", None, "t")


@st.composite
def mutated_statements(draw: st.DrawFn) -> str:
    """A statement of any of the dialects with something cut out, doubled or put in."""
    text = draw(st.sampled_from(STATEMENTS[draw(st.sampled_from(GRAMMARS))]))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(["", text[start:end] * 2, *PIECES])) + text[end:]
    return text


any_text = st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map(" ".join), mutated_statements())
any_dialect = st.sampled_from(GRAMMARS)


@given(any_text, any_dialect, st.sampled_from([None, "dbo"]))
@settings(max_examples=600, deadline=None)
def test_any_text_has_a_meaning_and_no_statement_is_half_understood(
    text: str, dialect: str, schema: str | None
) -> None:
    changes = parse_statement(dialect, text, "shop", schema, "t")
    assert changes
    assert len({isinstance(change, Unsupported) for change in changes}) == 1
    others = [change for change in changes if not isinstance(change, AddForeignKey | DropForeignKey)]
    assert len(others) == 1 or not any(isinstance(change, NoChange) for change in others)


@given(any_text, any_dialect)
@settings(deadline=None)
def test_every_meaning_is_json_with_its_kind_first(text: str, dialect: str) -> None:
    for change in parse(text, dialect):
        facts = describe(change)
        assert next(iter(facts)) == "kind"
        assert json.loads(json.dumps(facts))["kind"] == facts["kind"]


def without_quotes(dialect: str) -> list[tuple[str, str]]:
    texts = [text for text in STATEMENTS[dialect] if not set("'\"`#;*[") & set(text) and "--" not in text]
    return [(dialect, text) for text in texts]


@given(st.sampled_from([pair for dialect in GRAMMARS for pair in without_quotes(dialect)]))
@settings(max_examples=300)
def test_comments_between_words_change_nothing(pair: tuple[str, str]) -> None:
    """Where the statement is understood; a reason shows the text as it stands."""
    dialect, statement = pair
    changes = parse(statement, dialect)
    if not isinstance(changes[0], Unsupported):
        assert parse("/* ; DROP */ " + statement.replace(" ", " /* ' */ ") + " -- `\n;", dialect) == changes


def longest(head: str, piece: str, tail: str = "") -> str:
    """As many pieces as are still read."""
    return head + piece * ((LONGEST_STATEMENT - len(head) - len(tail)) // len(piece)) + tail


def numbered(head: str, piece: str, tail: str = "") -> str:
    """The same, of pieces that differ: `{}` is a number."""
    pieces = (piece.format(number, number + 1) for number in range(LONGEST_STATEMENT // (len(piece) + 8)))
    return head + ",".join(pieces) + tail


NASTY = {
    "five million blanks": " " * 5_000_000,
    "five million parentheses": "(" * 5_000_000,
    "a hundred thousand parentheses": "(" * 100_000,
    "a default in parentheses": f"ALTER TABLE t ADD a INT DEFAULT {'(' * 99_000}1{')' * 99_000}",
    "an index in parentheses": f"ALTER TABLE t ADD INDEX {'(' * 99_000}{')' * 99_000}",
    "a wide table": numbered("CREATE TABLE t (", "c{} int", ")"),
    "many renamed tables": numbered("RENAME TABLE ", "t{} TO u{}"),
    "many moved columns": numbered("ALTER TABLE t ", "CHANGE c{} c{} int"),
    "a long order": longest("ALTER TABLE t ORDER BY ", "a,"),
    "many statements": longest("", "DROP TABLE t;"),
    "version comments": f"{'/*!80000 a*/' * 2_000}{'(' * 80_000}",
    "open version comments": longest("", "/*!99999"),
    "open comments": longest("", "/*"),
    "quotes": longest("", "'\"`"),
    "backslashes": longest("'", "\\"),
    "a long number": longest("ALTER TABLE t ADD a INT DEFAULT 0x", "f"),
    "dashes": longest("", "--"),
    "a long type": longest("ALTER TABLE t ADD a ", "CHAR "),
    "open strings of alternative quotes": longest("", "q'["),
    "open names in brackets": longest("", "[]]"),
    "comments in comments": longest("", "/*") + "*/",
    "a wide list": numbered("ALTER TABLE t ADD (", "c{} NUMBER", ")"),
    "many actions": longest("ALTER TABLE t ", "ADD a NUMBER "),
    "many statements without a semicolon": longest("", "DROP TABLE t "),
    "a long default": longest("ALTER TABLE t ADD a NUMBER DEFAULT ", "1 + "),
    "a name of many parts": longest("DROP TABLE ", "a."),
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("dialect", GRAMMARS)
def test_nasty_texts_are_answered(dialect: str, text: str) -> None:
    """A reader that looks back over all of a text for each of its pieces would not come to an end here."""
    assert parse(text, dialect)


def test_a_statement_over_the_cap_is_unsupported_and_says_its_length() -> None:
    longest = "ALTER TABLE t COMMENT 'x'".ljust(LONGEST_STATEMENT)
    assert parse(longest) == (NoChange("ALTER TABLE: comment"),)
    (change,) = parse(longest + " ")
    assert isinstance(change, Unsupported)
    assert str(LONGEST_STATEMENT + 1) in change.reason


@pytest.mark.parametrize("text", ["", "  \n", ";", " ; ; "])
def test_an_empty_text_is_unsupported_for_the_table_of_the_message(text: str) -> None:
    assert parse(text) == (Unsupported(TableName("shop", None, "t"), "the text of the statement is empty"),)


def test_the_held_table_is_the_message_s_with_its_schema() -> None:
    (change,) = parse_statement("mysql", "???", "shop", "dbo", "t")
    assert isinstance(change, Unsupported)
    assert change.table == TableName("shop", "dbo", "t")


def test_an_unknown_dialect_is_an_error_of_the_settings_that_names_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="klingon.*mariadb, mysql, oracle, sqlserver"):
        parse_statement("klingon", "ALTER TABLE t ADD a INT", None, None, None)


def test_mariadb_reads_as_mysql_and_case_is_no_matter() -> None:
    assert {"mysql", "mariadb"} <= PARSERS.keys()
    for dialect in ("mysql", "mariadb", "MySQL", "MARIADB"):
        assert parse_statement(dialect, "DROP TABLE t", "shop", None, "t") == parse("DROP TABLE t")


def test_a_described_change_names_its_kind_and_its_fields() -> None:
    (change,) = parse("ALTER TABLE t ADD a INT NOT NULL DEFAULT 7 COMMENT 'n' AFTER b")
    assert describe(change) == {
        "kind": "add_column",
        "table": {"database": "shop", "schema": None, "table": "t"},
        "column": {
            "name": "a",
            "source_type": "INT",
            "not_null": True,
            "has_default": True,
            "default": "7",
            "comment": "n",
            "computed": False,
        },
        "place": {"first": False, "after": "b"},
        "if_not_exists": False,
    }


def test_the_golden_pairs_hold_every_ddl_message_of_the_genuine_stream() -> None:
    seen = set()
    with gzip.open(TESTS / "captures" / "canal_mariadb.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            value = json.loads(line).get("value")
            message = json.loads(value) if value else {}
            if message.get("isDdl"):
                seen.add(message["sql"])
    assert len(seen) > 50
    assert seen <= set(STATEMENTS["mysql"])


def test_sql_servers_names_differ_by_more_than_case_and_oracles_do_not() -> None:
    (change,) = parse_statement("sqlserver", "DROP TABLE DBO.ORDERS", "Shop", "dbo", "Orders")
    assert change == DropTable(TableName("Shop", "dbo", "Orders"))
    (change,) = parse_statement("oracle", 'DROP TABLE hr."Orders"', "ORCL", "HR", "ORDERS")
    assert change == DropTable(TableName("ORCL", "HR", "Orders"))


def test_a_text_may_end_in_zero_bytes_as_those_of_oracles_log_do() -> None:
    (change,) = parse_statement("oracle", "DROP TABLE hr.t;\0", "ORCL", "HR", "T")
    assert change == DropTable(TableName("ORCL", "HR", "T"))
