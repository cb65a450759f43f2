"""The dialect of Oracle."""

from retable.ddl.dialect import Dialect
from retable.ddl.oracle.statement import GRAMMAR
from retable.ddl.oracle.types.assignment import storer
from retable.ddl.oracle.types.compatibility import keeps_values
from retable.ddl.oracle.types.gold_type import gold_type

ORACLE = Dialect(
    name="oracle",
    parse=GRAMMAR.parse,
    gold_type=gold_type,
    keeps_values=keeps_values,
    storer=storer,
)
