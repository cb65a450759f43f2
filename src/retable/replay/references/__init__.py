"""Rows that a foreign key deleted or changed without a message."""
