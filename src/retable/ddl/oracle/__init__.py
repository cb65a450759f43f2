"""Read the DDL of Oracle."""
