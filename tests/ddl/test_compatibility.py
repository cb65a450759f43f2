"""Which changes of a source type leave every stored value as it is."""

import re

import pytest

from retable.ddl.registry import keeps_values


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tinyint(1)", "INT"),
        ("int unsigned", "bigint"),
        ("varchar(20)", "VARCHAR(500)"),
        ("varchar(20)", "text"),
        ("datetime", "datetime(6)"),
        ("enum('a','b')", "enum('a','b','c')"),
        ("decimal(10,2) unsigned", "decimal(12,2)"),
        ("float", "double"),
        ("float", "FLOAT(53)"),
        ("float(24)", "float"),
        ("FLOAT(25)", "double"),
        ("double", "float(30)"),
        ("bit(8)", "bit(16)"),
        ("varbinary(10)", "blob"),
        ("int", "varchar(20)"),
        ("bigint unsigned", "decimal(22,2)"),
        ("date", "datetime(3)"),
        ("varchar(63)", "tinytext"),
        ("varchar(16383)", "text"),
        ("text(63)", "tinytext"),
        ("text(64)", "text"),
        ("varchar(200)", "text(800)"),
        ("tinyblob", "varbinary(255)"),
        ("blob(255)", "tinyblob"),
        ("enum('a','bcd')", "varchar(3)"),
        ("set('a','bcd')", "char(5)"),
        (None, "int"),
    ],
)
def test_a_change_that_keeps_every_value(old: str | None, new: str) -> None:
    assert keeps_values("mysql", old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "smallint"),
        ("int", "int unsigned"),
        ("int unsigned", "int"),
        ("varchar(20)", "varchar(10)"),
        ("varchar(20)", "char(20)"),
        ("text", "varchar(100)"),
        ("datetime(6)", "datetime"),
        ("timestamp(3)", "timestamp"),
        ("enum('a','b')", "enum('a')"),
        ("float(7,4)", "float(7,2)"),
        ("float", "double(10,2)"),
        ("binary(8)", "binary(16)"),
        ("blob", "varbinary(10)"),
        ("character varying(20)", "character varying(10)"),
        ("int", "varchar(5)"),
        ("int(5) unsigned zerofill", "varchar(20)"),
        ("int", "decimal(12,0) unsigned"),
        ("int", "decimal(12,0) zerofill"),
        ("date", "time"),
        # A text type counts bytes, of which a character has up to four.
        ("varchar(255)", "tinytext"),
        ("varchar(16384)", "text"),
        ("char(64)", "tinytext"),
        # The server makes the smallest type that holds so many characters: TINYTEXT, unless they have several bytes.
        ("varchar(100)", "text(100)"),
        ("text(100)", "tinytext"),
        ("text", "text(255)"),
        ("blob", "blob(255)"),
        ("blob(256)", "tinyblob"),
        ("enum('a','bcd')", "varchar(2)"),
        ("set('a','bcd')", "varchar(4)"),
    ],
)
def test_a_change_that_may_cut_a_value(old: str, new: str) -> None:
    assert not keeps_values("mysql", old, new)


KEPT = """
oracle     NUMBER(9)              NUMBER(12,2)
oracle     NUMBER(10,2)           NUMBER
oracle     VARCHAR2(20)           VARCHAR2(20 CHAR)
oracle     VARCHAR2(20 CHAR)      VARCHAR2(10)
oracle     CHAR(5)                VARCHAR2(5)
oracle     DATE                   TIMESTAMP(6)
oracle     TIMESTAMP(3)           TIMESTAMP(6)
oracle     LONG                   CLOB
oracle     CHAR(5)                char( 5 )
sqlserver  int                    bigint
sqlserver  varchar(20)            nvarchar(20)
sqlserver  varchar(20)            varchar(max)
sqlserver  decimal(10,2)          decimal(12,4)
sqlserver  datetime2(3)           datetime2
sqlserver  smallmoney             money
sqlserver  text                   varchar(max)
sqlserver  int                    decimal(12,2)
sqlserver  bigint                 varchar(20)
sqlserver  int                    nvarchar(max)
sqlserver  date                   datetime2
klingon    INT                    int
"""
CUT = """
oracle     CHAR(5)                CHAR(9)
oracle     VARCHAR2(5)            CHAR(5)
oracle     NUMBER                 VARCHAR2(40)
oracle     TIMESTAMP              TIMESTAMP WITH TIME ZONE
oracle     NUMBER                 FLOAT
sqlserver  decimal(12,4)          decimal(12,2)
sqlserver  datetime2              datetime2(3)
sqlserver  char(5)                char(9)
sqlserver  nvarchar(20)           varchar(20)
sqlserver  int                    varchar(9)
sqlserver  int                    char(20)
sqlserver  bigint                 float
sqlserver  float                  real
klingon    int                    bigint
"""


def told(lines: str) -> list[list[str]]:
    return [re.split(r"\s{2,}", line) for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("system", "old", "new"), told(KEPT))
def test_a_change_of_another_database_that_keeps_every_value(system: str, old: str, new: str) -> None:
    assert keeps_values(system, old, new)


@pytest.mark.parametrize(("system", "old", "new"), told(CUT))
def test_a_change_of_another_database_that_may_change_a_value(system: str, old: str, new: str) -> None:
    assert not keeps_values(system, old, new)


def test_json_is_text_in_mariadb_and_a_form_of_its_own_in_mysql() -> None:
    for old in ("text", "longtext", "varchar(20)"):
        assert keeps_values("mariadb", old, "json")
        assert not keeps_values("mysql", old, "json")
    assert keeps_values("mariadb", "json", "longtext")
    assert not keeps_values("mariadb", "json", "text")
