"""PostgreSQL: no change log has its DDL, so only its column types are read here."""
