"""The dialects MySQL and MariaDB. They differ in which type changes keep every value."""

from dataclasses import replace

from retable.ddl.dialect import ColumnCasts, Dialect
from retable.ddl.mysql.statement import GRAMMAR
from retable.ddl.mysql.types.assignment import storer
from retable.ddl.mysql.types.compatibility import keeps_values, mariadb_keeps_values
from retable.ddl.mysql.types.gold_type import gold_type

MYSQL = Dialect(
    name="mysql",
    parse=GRAMMAR.parse,
    gold_type=gold_type,
    keeps_values=keeps_values,
    storer=storer,
    # Source: Precision Math in MySQL's manual. BIT takes the bytes of a text, and YEAR turns '0' into the year 2000.
    casts=ColumnCasts(rounds_half_away=True, not_of_text=frozenset({"bit", "year"})),
    cascades_silently=True,
)
MARIADB = replace(MYSQL, name="mariadb", keeps_values=mariadb_keeps_values)
