"""Messages of Debezium, with and without a schema part."""
