"""Gold types of source types, as DDL and as messages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retable.ddl.registry import gold_type

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


ORACLE = """
NUMBER                           string
NUMBER(*)                        string
NUMBER(9)                        decimal(9,0)
number(10,2)                     decimal(10,2)
NUMBER( 38 , 10 )                decimal(38,10)
NUMBER(*,0)                      decimal(38,0)
NUMBER(*,2)                      decimal(38,2)
NUMBER(*,-2)                     string
NUMBER(5,-2)                     decimal(7,0)
NUMBER(38,-2)                    string
NUMBER(2,5)                      decimal(5,5)
NUMBER(2,40)                     string
NUMERIC                          decimal(38,0)
DECIMAL(10,2)                    decimal(10,2)
DEC(5)                           decimal(5,0)
INTEGER                          decimal(38,0)
INT                              decimal(38,0)
SMALLINT                         decimal(38,0)
FLOAT                            string
FLOAT(49)                        string
REAL                             string
DOUBLE PRECISION                 string
BINARY_FLOAT                     float
BINARY_DOUBLE                    double
VARCHAR2(20 CHAR)                string
VARCHAR2(20 BYTE)                string
NVARCHAR2(20)                    string
CHAR                             string
NATIONAL CHARACTER VARYING(9)    string
CLOB                             string
NCLOB                            string
LONG                             string
RAW(16)                          binary
LONG RAW                         binary
BLOB                             binary
DATE                             timestamp
TIMESTAMP                        timestamp
TIMESTAMP(9)                     timestamp
TIMESTAMP(6) WITH TIME ZONE      timestamptz
TIMESTAMP WITH LOCAL TIME ZONE   timestamptz
INTERVAL YEAR(4) TO MONTH        string
INTERVAL DAY(2) TO SECOND(6)     string
ROWID                            string
UROWID(4000)                     string
XMLTYPE                          string
SYS.XMLTYPE                      string
JSON                             string
BOOLEAN                          boolean
VECTOR(3,FLOAT32)                string
"""

SQL_SERVER = """
tinyint             int
smallint            int
int                 int
int identity        int
bigint              long
bit                 boolean
decimal             decimal(18,0)
numeric(9)          decimal(9,0)
dec(38,10)          decimal(38,10)
money               decimal(19,4)
smallmoney          decimal(10,4)
float               double
float(24)           float
float(53)           double
real                float
date                date
datetime            timestamp
datetime2(7)        timestamp
smalldatetime       timestamp
datetimeoffset(3)   timestamptz
time(7)             string
char(5)             string
nvarchar(max)       string
text                string
sysname             string
[nvarchar](50)      string
xml(CONTENT x)      string
uniqueidentifier    string
binary(8)           binary
varbinary(max)      binary
image               binary
rowversion          binary
timestamp           binary
geography           binary
"""

STRANGERS = [
    *(
        ("oracle", text)
        for text in ("", "NUMBER(39)", "NUMBER(1,2,3)", "NUMBER(x)", "MDSYS.SDO_GEOMETRY", '"T"', "TIME")
    ),
    *(("sqlserver", text) for text in ("", "decimal(39)", "decimal(2,3)", "float(1,2)", "sql_variant", "dbo.Flag")),
]


@pytest.mark.parametrize(
    ("system", "line"),
    [("oracle", line) for line in ORACLE.strip().splitlines()]
    + [("sqlserver", line) for line in SQL_SERVER.strip().splitlines()],
)
def test_a_type_of_a_database_has_its_gold_type(system: str, line: str) -> None:
    source_type, gold = line.rsplit(maxsplit=1)
    assert str(gold_type(system, source_type)) == gold


@pytest.mark.parametrize(("system", "source_type"), STRANGERS)
def test_a_type_that_is_none_of_the_databases_own_has_none(system: str, source_type: str) -> None:
    assert gold_type(system, source_type) is None


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
    assert str(gold_type("mysql", "decimal", has_lengths=False)) == "string"
    assert str(gold_type("mysql", "bit", has_lengths=False)) == "long"
    assert str(gold_type("mysql", "DECIMAL(9,3)", has_lengths=False)) == "decimal(9,3)"
    assert str(gold_type("mysql", "int", has_lengths=False)) == "int"


@given(st.text())
def test_any_text_is_a_type_or_none(text: str) -> None:
    for system in ("mysql", "oracle", "sqlserver"):
        gold_type(system, text)
        gold_type(system, f"decimal({text})")
        gold_type(system, f"NUMBER({text})")
