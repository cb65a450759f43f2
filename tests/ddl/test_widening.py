"""Which changes of a source type leave every stored value as it is."""

import pytest

from retable.ddl.widening import keeps_values


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
        ("bit(8)", "bit(16)"),
        ("varbinary(10)", "blob"),
        (None, "int"),
    ],
)
def test_a_change_that_keeps_every_value(old: str | None, new: str) -> None:
    assert keeps_values(old, new)


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
        ("int", "varchar(20)"),
    ],
)
def test_a_change_that_may_cut_a_value(old: str, new: str) -> None:
    assert not keeps_values(old, new)
