"""The shop's history as Debezium writes it."""
