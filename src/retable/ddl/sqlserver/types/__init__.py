"""Column types of SQL Server: their gold types, and what a type change does to stored values."""
