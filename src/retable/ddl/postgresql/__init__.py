"""PostgreSQL. Its change log contains no DDL, so Retable reads only its column types."""
