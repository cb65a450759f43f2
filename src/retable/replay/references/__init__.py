"""Rows that a foreign key took, without a message of them."""
