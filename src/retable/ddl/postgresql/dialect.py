"""The dialect of PostgreSQL. Its change log contains no statements, so the dialect has only types."""

from retable.ddl.dialect import Dialect
from retable.ddl.postgresql.types import gold_type

POSTGRESQL = Dialect(name="postgresql", gold_type=gold_type, same_text_types=frozenset({"uuid"}))
