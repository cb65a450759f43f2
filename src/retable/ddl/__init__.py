"""Statements to schema changes: the source's DDL text is read, and never executed."""
