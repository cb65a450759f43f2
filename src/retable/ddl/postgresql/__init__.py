"""PostgreSQL: no change log carries its DDL, so only the types of its columns are read here."""
