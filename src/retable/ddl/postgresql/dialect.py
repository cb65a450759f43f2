"""The dialect PostgreSQL. No log has its statements, so only its types are known."""

from retable.ddl.dialect import Dialect
from retable.ddl.postgresql.types import gold_type

POSTGRESQL = Dialect(name="postgresql", gold_type=gold_type, same_text_types=frozenset({"uuid"}))
