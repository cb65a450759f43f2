"""Types of SQL Server: in gold, and what a change of type does to values."""
