"""The DDL of SQL Server."""
