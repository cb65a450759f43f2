"""Dumps of schemas, read without a database: every table, and by name whatever is not understood."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from onboard.schemas import genuine, genuine_dump, many, many_dump
from retable.errors import InvalidSetting
from retable.model.event import TableName
from retable.onboard.schema.dumps import read_dump, read_mysql, read_oracle
from retable.onboard.schema.script import MYSQL, PIECE, Piece, split
from retable.onboard.schema.tables import Schema

EMP = """
  CREATE TABLE "HR"."EMP"
   (\t"ID" NUMBER(10,0) NOT NULL ENABLE,
\t"NAME" VARCHAR2(50 CHAR) DEFAULT 'it''s; x',
\t"HIRED" DATE DEFAULT SYSDATE,
\t CONSTRAINT "EMP_PK" PRIMARY KEY ("ID")
  USING INDEX PCTFREE 10 INITRANS 2 MAXTRANS 255 COMPUTE STATISTICS
  STORAGE(INITIAL 65536 NEXT 1048576 MINEXTENTS 1 MAXEXTENTS 2147483645
  PCTINCREASE 0 FREELISTS 1 FREELIST GROUPS 1
  BUFFER_POOL DEFAULT FLASH_CACHE DEFAULT CELL_FLASH_CACHE DEFAULT)
  TABLESPACE "USERS"  ENABLE
   ) SEGMENT CREATION IMMEDIATE
  PCTFREE 10 PCTUSED 40 INITRANS 1 MAXTRANS 255
 NOCOMPRESS LOGGING
  STORAGE(INITIAL 65536 NEXT 1048576)
  TABLESPACE "USERS"
"""
DEPT = """
  CREATE TABLE "HR"."DEPT" ("ID" NUMBER, "T" TIMESTAMP (6) WITH TIME ZONE, "C" CLOB)
  LOB ("C") STORE AS SECUREFILE (TABLESPACE "USERS" ENABLE STORAGE IN ROW CHUNK 8192)

  ALTER TABLE "HR"."DEPT" ADD CONSTRAINT "DEPT_PK" PRIMARY KEY ("ID") USING INDEX TABLESPACE "USERS" ENABLE
  CREATE UNIQUE INDEX "HR"."DEPT_U" ON "HR"."DEPT" ("T")
  PCTFREE 10
"""


def mysql(text: str, database: str | None = "shop") -> Schema:
    return read_mysql(text.splitlines(keepends=True), database)


def oracle(text: str, database: str | None = None) -> Schema:
    return read_oracle(text.splitlines(keepends=True), database)


def columns(schema: Schema, *name: str) -> list[tuple[str, str]]:
    database, *rest = name
    table = TableName(database, rest[0] if len(rest) > 1 else None, rest[-1])
    return [(column.name, column.source_type) for column in schema.tables[table].table.columns]


def test_every_genuine_table_has_the_columns_and_the_key_that_its_server_tells() -> None:
    schema = read_mysql(genuine_dump(), None)
    assert not schema.unread
    assert {str(name) for name in schema.tables} == genuine().keys()
    for name, facts in genuine().items():
        told = schema.tables[TableName(*name.split(".", 1)[:1], None, name.split(".", 1)[1])].table
        assert [(c.name, c.source_type) for c in told.columns] == [
            (c["name"], c["column_type"])
            for c in facts["columns"]  # type: ignore[attr-defined]  # it is JSON
        ]
        assert list(told.keys) == facts["primary_key"]


def test_a_dump_of_many_tables_is_read_whole() -> None:
    schema = read_mysql(many_dump(40), None)
    assert {name.table for name in schema.tables} == many(40).keys()
    assert not schema.unread


def test_rows_of_data_are_stepped_over_in_bounded_memory() -> None:
    seen = 0

    def pieces() -> Iterator[str]:
        nonlocal seen
        yield "INSERT INTO `t` VALUES (1,'"
        for _ in range(8):
            seen += PIECE
            yield "it''s (x); \\' \\\\" * (PIECE // 16)
        yield "');\nCREATE TABLE `u` (`id` int);\n"

    assert [piece.text for piece in split(pieces(), MYSQL)] == ["CREATE TABLE `u` (`id` int)"]
    assert seen == 8 * PIECE


@pytest.mark.parametrize("size", [100, 1000])
def test_where_a_script_is_cut_into_pieces_does_not_matter(size: int) -> None:
    lines = genuine_dump()
    whole = list(split(lines, MYSQL))
    cut = [line[at : at + size] for line in lines for at in range(0, len(line), size)]
    assert [(p.kind, p.text, p.line) for p in _statements(split(cut, MYSQL))] == [
        (p.kind, p.text, p.line) for p in _statements(whole)
    ]


def _statements(pieces: Iterable[Piece]) -> list[Piece]:
    return [piece for piece in pieces if piece.kind == "statement" and "CREATE TABLE" in piece.text]


def test_a_statement_that_is_not_understood_is_listed_with_its_table_and_nothing_else_is_lost() -> None:
    schema = mysql("CREATE TABLE a (id int);\nCREATE TABLE b (id frob(3) ???);\nCREATE TABLE c (id int);\n")
    assert [str(name) for name in schema.tables] == ["shop.a", "shop.c"]
    assert [(str(each.table), each.line) for each in schema.unread] == [("shop.b", 2)]


def test_a_comment_at_the_end_of_a_line_ends_the_word_before_it() -> None:
    schema = mysql("CREATE TABLE a (\n`id` int# the id\nNOT NULL,\nb bigint-- the b\nDEFAULT NULL);\n")
    assert columns(schema, "shop", "a") == [("id", "int"), ("b", "bigint")]
    assert schema.tables[TableName("shop", None, "a")].table.columns[0].not_null


def test_a_byte_order_mark_hides_no_header(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    text = "\ufeff-- MySQL dump\n--\n-- Host: localhost    Database: other\n-- ---\n/*!40101 SET NAMES utf8 */;\n"
    path.write_text(f"{text}CREATE TABLE `t` (`id` int);\n", encoding="utf-8")
    schema = read_dump(path)
    assert (list(schema.tables), schema.unread) == ([TableName("other", None, "t")], [])


def test_where_a_sequence_of_numbers_stands_says_nothing_of_tables() -> None:
    schema = mysql("CREATE SEQUENCE `s` start with 1;\nDO SETVAL(`s`, 1, 0);\nSELECT SETVAL(`s`, 1, 0);\n")
    assert (schema.tables, schema.unread) == ({}, [])


def test_a_key_goes_with_the_new_name_of_its_column() -> None:
    schema = mysql("CREATE TABLE t (id int PRIMARY KEY, b int);\nALTER TABLE t CHANGE ID oid bigint NOT NULL;\n")
    assert schema.tables[TableName("shop", None, "t")].table.keys == ("oid",)


def test_a_table_without_a_database_is_listed() -> None:
    schema = mysql("CREATE TABLE a (id int);\n", None)
    assert not schema.tables
    assert "database" in schema.unread[0].reason


@pytest.mark.parametrize(
    "text",
    [
        "-- CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000003', MASTER_LOG_POS=154;\n",
        "CHANGE MASTER TO MASTER_LOG_FILE='mysql-bin.000003', MASTER_LOG_POS=154;\n",
        "CHANGE REPLICATION SOURCE TO SOURCE_LOG_FILE='mysql-bin.000003', SOURCE_LOG_POS=154;\n",
    ],
)
def test_a_dump_says_where_in_the_log_it_was_taken(text: str) -> None:
    assert mysql(text).place == ("mysql-bin.000003", 154)


def test_a_dump_names_its_gtids() -> None:
    schema = mysql("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ 'aaa:1-5,\nbbb:1';\n")
    assert schema.marks == ["GTID aaa:1-5, bbb:1"]


def test_a_view_that_stands_as_a_table_for_a_while_is_none() -> None:
    schema = mysql(
        "/*!50001 CREATE TABLE `v` (`id` tinyint NOT NULL) ENGINE=MyISAM */;\n"
        "/*!50001 DROP TABLE IF EXISTS `v`*/;\n/*!50001 CREATE VIEW `v` AS SELECT 1 */;\n"
    )
    assert not schema.tables
    assert not schema.unread


@pytest.mark.parametrize("end", ["", ";", "\n/"])
def test_oracles_statements_are_read_with_storage_and_with_or_without_their_ends(end: str) -> None:
    schema = oracle(f"{EMP.rstrip()}{end}\n{DEPT}{end}\n")
    assert not schema.unread
    assert columns(schema, "HR", "EMP") == [("ID", "NUMBER(10,0)"), ("NAME", "VARCHAR2(50 CHAR)"), ("HIRED", "DATE")]
    assert [told.table.keys for told in schema.tables.values()] == [("ID",), ("ID",)]


def test_oracles_comments_programs_and_sqlplus_commands() -> None:
    schema = oracle(
        f'SET LONG 100000\nPROMPT x;y\n{EMP};\nCOMMENT ON COLUMN "HR"."EMP"."NAME" IS \'the person\'\'s; name\';\n'
        'CREATE OR REPLACE EDITIONABLE TRIGGER "HR"."TR" BEFORE INSERT ON EMP FOR EACH ROW\nBEGIN\n  :NEW.ID := 1;\n'
        'END;\n/\nALTER TRIGGER "HR"."TR" ENABLE;\nCREATE TABLE HR.LAST (A NUMBER PRIMARY KEY);\n'
    )
    assert not schema.unread
    named = {c.name: c.comment for c in schema.tables[TableName("HR", None, "EMP")].table.columns}
    assert named["NAME"] == "the person's; name"
    assert columns(schema, "HR", "LAST") == [("A", "NUMBER")]


@pytest.mark.parametrize(
    "program",
    [
        'CREATE OR REPLACE EDITIONABLE TRIGGER "HR"."TR" BEFORE INSERT ON EMP\nBEGIN\n  :NEW.ID := 1;\nEND;\n',
        'CREATE TRIGGER "HR"."TR" BEFORE INSERT ON EMP\nBEGIN\n  f(1;\nEND;\nALTER TRIGGER "HR"."TR" ENABLE\n',
        'CREATE OR REPLACE EDITIONABLE TYPE "HR"."ADDR" AS OBJECT (street VARCHAR2(10))\n',
        "CREATE PROCEDURE P IS BEGIN\n  EXECUTE IMMEDIATE '\nCREATE TABLE X (A NUMBER)';\nEND;\n",
    ],
)
def test_a_program_of_oracle_without_its_end_takes_no_table_in(program: str) -> None:
    rest = 'ALTER TABLE "HR"."A" ADD CONSTRAINT "P" PRIMARY KEY ("ID");\n  CREATE TABLE "HR"."B" ("ID" NUMBER)\n'
    schema = oracle(f'CREATE TABLE "HR"."A" ("ID" NUMBER)\n{program}{rest}')
    assert not schema.unread
    assert {str(name): told.table.keys for name, told in schema.tables.items()} == {"HR.A": ("ID",), "HR.B": ()}


def test_a_program_whose_quotes_hide_tables_is_listed() -> None:
    schema = oracle('CREATE PROCEDURE P IS BEGIN\n  f(q\'[it\'s]\');\nEND;\n\n  CREATE TABLE "HR"."A" ("ID" NUMBER);\n')
    assert not schema.tables
    (unread,) = schema.unread
    assert "add a line with only /" in unread.reason


def test_a_program_of_oracle_may_hold_statements_as_text() -> None:
    schema = oracle("CREATE PROCEDURE P IS BEGIN\n  EXECUTE IMMEDIATE '\nCREATE TABLE X (A NUMBER)';\nEND;\n/\n")
    assert (schema.tables, schema.unread) == ({}, [])


def test_the_database_of_messages_comes_before_oracles_owner() -> None:
    assert list(oracle(EMP, "ORCL").tables) == [TableName("ORCL", "HR", "EMP")]


def test_an_oracle_table_without_an_owner_is_listed() -> None:
    schema = oracle("CREATE TABLE EMP (ID NUMBER);\n")
    assert not schema.tables
    assert "owner" in schema.unread[0].reason


def test_a_file_that_is_no_dump_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello", encoding="utf-8")
    with pytest.raises(InvalidSetting, match="is not a known dump"):
        read_dump(path)


def test_a_dump_is_recognised_by_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    path.write_text("".join(many_dump(5)), encoding="utf-8")
    assert read_dump(path).dialect == "mysql"
    path.write_text(EMP, encoding="utf-8")
    assert read_dump(path).dialect == "oracle"
