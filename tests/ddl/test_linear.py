"""What reading a statement costs grows with its length, whatever is repeated in it: nobody's DDL stops a run."""

import sys
from contextlib import suppress
from types import FrameType

import pytest

from retable.ddl.registry import PARSERS, parse_statement
from retable.errors import TableError

LITTLE, MUCH = 150, 600
"""How often a part is repeated."""


def _list(part: str, count: int, by: str = ", ") -> str:
    return by.join(part.replace("#", str(number)) for number in range(count))


SHAPES = {
    "columns": lambda n: f"CREATE TABLE t ({_list('c# int', n)})",
    "columns with a key": lambda n: f"CREATE TABLE t ({_list('c# int', n)}, PRIMARY KEY (c0))",
    "a key of all columns": lambda n: f"CREATE TABLE t ({_list('c# int', n)}, PRIMARY KEY ({_list('c#', n)}))",
    "columns that are not null": lambda n: f"CREATE TABLE t ({_list('c# int NOT NULL', n)})",
    "columns with defaults": lambda n: f"CREATE TABLE t ({_list('c# int DEFAULT 1', n)})",
    "texts of a table of bytes": lambda n: f"CREATE TABLE t ({_list('c# int', n)}) {_list('CHARSET binary', n, ' ')}",
    "quoted columns": lambda n: "CREATE TABLE t (" + _list('"c#" int', n) + ")",
    "indices": lambda n: f"CREATE TABLE t (a int, {_list('KEY k# (a)', n)})",
    "uniques": lambda n: f"CREATE TABLE t (a int, {_list('CONSTRAINT k# UNIQUE (a)', n)})",
    "columns added": lambda n: f"ALTER TABLE t {_list('ADD COLUMN c# int', n)}",
    "columns added in a list": lambda n: f"ALTER TABLE t ADD ({_list('c# int', n)})",
    "columns dropped": lambda n: f"ALTER TABLE t {_list('DROP COLUMN c#', n)}",
    "columns changed": lambda n: f"ALTER TABLE t {_list('MODIFY COLUMN c# bigint', n)}",
    "columns placed": lambda n: f"ALTER TABLE t {_list('ADD COLUMN c# int FIRST', n)}",
    "columns renamed": lambda n: f"ALTER TABLE t {_list('RENAME COLUMN c# TO d#', n)}",
    "tables renamed": lambda n: f"RENAME TABLE {_list('a# TO b#', n)}",
    "tables dropped": lambda n: f"DROP TABLE {_list('a#', n)}",
    "parentheses": lambda n: f"ALTER TABLE t ADD c int DEFAULT {'(' * n}1{')' * n}",
    "comments": lambda n: f"ALTER TABLE t ADD c int {'/* x */' * n}",
    "quotes": lambda n: "ALTER TABLE t ADD c varchar(10) DEFAULT '" + "''" * n + "'",
    "members": lambda n: "ALTER TABLE t ADD c enum(" + _list("'#'", n) + ")",
    "statements": lambda n: "ALTER TABLE t ADD c int" + ";" * n,
    "words": lambda n: "ALTER TABLE t " + "x " * n,
}


def steps(dialect: str, text: str) -> int:
    """Count the calls of functions that reading a statement takes."""
    count = 0

    def called(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(called)
    try:
        with suppress(TableError):
            parse_statement(dialect, text, "shop", None, "t")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("dialect", sorted(PARSERS))
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_four_times_the_text_takes_four_times_the_steps(dialect: str, shape) -> None:
    little, much = steps(dialect, shape(LITTLE)), steps(dialect, shape(MUCH))
    assert much < 5 * little + 1000, (little, much)
