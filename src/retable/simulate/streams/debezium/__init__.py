"""Writes the history of the simulated shop as Debezium does."""
