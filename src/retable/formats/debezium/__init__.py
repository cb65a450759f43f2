"""Debezium's messages, with a schema part and without."""
