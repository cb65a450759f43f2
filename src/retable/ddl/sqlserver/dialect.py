"""The dialect of SQL Server."""

from retable.ddl.dialect import ColumnCasts, Dialect
from retable.ddl.sqlserver.statement import GRAMMAR
from retable.ddl.sqlserver.types.assignment import storer
from retable.ddl.sqlserver.types.compatibility import keeps_values
from retable.ddl.sqlserver.types.gold_type import gold_type

_WHOLE_OR_EXACT = {"tinyint", "smallint", "int", "integer", "bigint", "decimal", "numeric", "dec", "date"}

SQLSERVER = Dialect(
    name="sqlserver",
    parse=GRAMMAR.parse,
    gold_type=gold_type,
    keeps_values=keeps_values,
    storer=storer,
    # Source: CAST and CONVERT in its manual. A DATETIME is read in the order of the session's language, and a character
    # of NVARCHAR has two bytes.
    casts=ColumnCasts(
        not_of_text=frozenset({"datetime", "smalldatetime", "binary", "varbinary", "image"}),
        plain_text_of=frozenset(_WHOLE_OR_EXACT),
        double_digits=15,
        ticks=frozenset({"datetime"}),
    ),
)
