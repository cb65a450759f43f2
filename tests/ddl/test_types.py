"""Gold types of MySQL's and MariaDB's types, as DDL and as messages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.ddl.types import gold_type

TYPES = """
tinyint                        int
TINYINT(1)                     int
BOOL                           int
boolean                        int
TINYINT unsigned               int
smallint(6)                    int
mediumint unsigned             int
middleint                      int
INT                            int
int(11)                        int
INTEGER                        int
int4                           int
INT unsigned                   long
INT(8) unsigned zerofill       long
int zerofill                   long
INT SIGNED                     int
year                           int
YEAR(4)                        int
BIGINT                         long
bigint(20)                     long
BIGINT unsigned                decimal(20,0)
bigint(20) unsigned            decimal(20,0)
int8 UNSIGNED                  decimal(20,0)
SERIAL                         decimal(20,0)
bit                            boolean
BIT(1)                         boolean
BIT(8)                         long
bit(63)                        long
BIT(64)                        decimal(20,0)
decimal                        decimal(10,0)
DECIMAL(9,3) unsigned          decimal(9,3)
decimal( 12 , 2 )              decimal(12,2)
decimal(0)                     decimal(10,0)
DECIMAL(38,10)                 decimal(38,10)
decimal(39,0)                  string
DECIMAL(65,30)                 string
numeric(5)                     decimal(5,0)
DEC(5,2)                       decimal(5,2)
fixed                          decimal(10,0)
float                          float
FLOAT(7,4)                     float
float(24)                      float
float(25)                      double
float unsigned                 float
DOUBLE                         double
DOUBLE(10,2)                   double
DOUBLE PRECISION               double
real                           double
date                           date
datetime                       timestamp
DATETIME(3)                    timestamp
timestamp                      timestamptz
TIMESTAMP(6)                   timestamptz
time                           string
TIME(6)                        string
CHAR(10)                       string
varchar                        string
VARCHAR(255)                   string
character varying(10)          string
NATIONAL CHARACTER VARYING(3)  string
nvarchar(5)                    string
LONG VARCHAR                   string
long                           string
tinytext                       string
MEDIUMTEXT                     string
longtext                       string
json                           string
uuid                           string
INET6                          string
inet4                          string
ENUM('a','b)','unsigned')      string
SET('r','w','x y','ü')         string
enum('x(y')                    string
BINARY(16)                     binary
varbinary(255)                 binary
LONG VARBINARY                 binary
tinyblob                       binary
longblob                       binary
GEOMETRY                       binary
point                          binary
MULTIPOLYGON                   binary
geomcollection                 binary
vector(3)                      binary
"""

UNKNOWN = [
    "",
    " ",
    "frob",
    "int int",
    "bit(65)",
    "bit(0)",
    "bit(x)",
    "decimal(2,3)",
    "decimal(1,2,3)",
    "decimal(-1)",
    "(",
]


@pytest.mark.parametrize("line", TYPES.strip().splitlines(), ids=str.split)
@pytest.mark.parametrize("system", ["mysql", "mariadb", "MySQL"])
def test_a_type_of_mysql_has_its_gold_type(system: str, line: str) -> None:
    source_type, gold = line.rsplit(maxsplit=1)
    assert str(gold_type(system, source_type)) == gold


@pytest.mark.parametrize("source_type", UNKNOWN)
def test_an_unknown_type_has_none(source_type: str) -> None:
    assert gold_type("mysql", source_type) is None


def test_an_unknown_system_has_no_types() -> None:
    assert gold_type("klingon", "int") is None


def test_a_bare_type_of_a_message_without_lengths_promises_no_length() -> None:
    assert str(gold_type("mysql", "decimal", lengths_told=False)) == "string"
    assert str(gold_type("mysql", "bit", lengths_told=False)) == "long"
    assert str(gold_type("mysql", "DECIMAL(9,3)", lengths_told=False)) == "decimal(9,3)"
    assert str(gold_type("mysql", "int", lengths_told=False)) == "int"


@given(st.text())
def test_any_text_is_a_type_or_none(text: str) -> None:
    gold_type("mysql", text)
    gold_type("mysql", f"decimal({text})")
