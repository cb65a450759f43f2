"""The DDL of Oracle."""
