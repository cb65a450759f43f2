"""Types of SQL Server: their gold types, and the effect of a type change on values."""
