"""What databases make of values when a column takes another type, where they keep them whole."""

from decimal import Decimal

import pytest

from retable.ddl.registry import storer


@pytest.mark.parametrize(
    ("system", "source_type", "value", "stored"),
    [
        ("mysql", "TINYINT(1)", 2, 2),
        ("mysql", "smallint unsigned", 65_535, 65_535),
        ("mariadb", "VARCHAR(3)", "äöü", "äöü"),
        ("mysql", "char(3)", "ab", "ab"),
        ("mysql", "tinytext", "x" * 255, "x" * 255),
        ("mysql", "binary(2)", b"ab", b"ab"),
        ("mysql", "enum('it''s','b')", "it's", "it's"),
        ("mysql", "set('a','b')", "a,b", "a,b"),
        ("mysql", "set('a','b')", "", ""),
        ("mysql", "datetime(3)", 1_120_000, 1_120_000),
        ("mysql", "time(1)", "10:00:00.500", "10:00:00.500"),
        ("mysql", "year", 1901, 1901),
        ("mysql", "bit(3)", 7, 7),
        ("mysql", "decimal(5,2) unsigned", Decimal("1.50"), Decimal("1.50")),
        ("mysql", "integer", -1, -1),
        ("oracle", "CHAR(5 BYTE)", "new", "new  "),
        ("oracle", "NUMBER(5,2)", Decimal("1.50"), Decimal("1.50")),
        (
            "oracle",
            "VARCHAR2(2)",
            "as it is: Oracle refuses what it would cut",
            "as it is: Oracle refuses what it would cut",
        ),
        ("sqlserver", "nchar(4)", "ab", "ab  "),
        ("sqlserver", "nvarchar(max)", "ü" * 9_000, "ü" * 9_000),
        ("sqlserver", "tinyint", 255, 255),
        ("sqlserver", "datetime", 1_010_000, 1_010_000),
        ("sqlserver", "smalldatetime", 120_000_000, 120_000_000),
    ],
)
def test_a_value_that_fits_is_stored_whole(system: str, source_type: str, value: object, stored: object) -> None:
    assert storer(system, source_type)(value) == stored


@pytest.mark.parametrize(
    ("system", "source_type", "value"),
    [
        ("mysql", "tinyint", 128),
        ("mysql", "int unsigned", -1),
        ("mysql", "int zerofill", 1),
        ("mysql", "varchar(2)", "abc"),
        ("mysql", "char(3)", "a "),
        ("mysql", "tinytext", "ä" * 128),
        ("mysql", "binary(2)", b"a"),
        ("mysql", "enum('a')", "b"),
        ("mysql", "enum('a')", ""),
        ("mysql", "set('a','b')", "a,c"),
        ("mysql", "set('a','b')", "b,a"),
        ("mysql", "set('a','b')", "a,a"),
        ("mysql", "set('a','b')", "a,"),
        ("mysql", "datetime", 1),
        ("mysql", "time", "10:00:00.5"),
        ("mysql", "year", 1900),
        ("mysql", "bit(3)", 8),
        ("mysql", "double unsigned", -0.5),
        ("mysql", "float(7,4)", 1.5),
        ("mysql", "point", b"x"),
        ("mysql", "", "x"),
        ("oracle", "CHAR(2)", "abc"),
        ("oracle", "CHAR(5)", "ä"),
        ("oracle", "SDO_GEOMETRY", "x"),
        ("sqlserver", "varchar(9)", "ä"),
        ("sqlserver", "nvarchar(1)", "\U0001f600"),
        ("sqlserver", "datetime", 1_001_000),
        ("sqlserver", "sql_variant", 1),
        ("db2", "integer", 1),
    ],
)
def test_a_value_that_may_be_cut_or_changed_is_refused(system: str, source_type: str, value: object) -> None:
    with pytest.raises(ValueError, match="."):
        storer(system, source_type)(value)
