"""Read the DDL of SQL Server."""
