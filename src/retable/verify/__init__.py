"""Verify gold: against a new fold of bronze, against the ledger, and between two states of a table."""
